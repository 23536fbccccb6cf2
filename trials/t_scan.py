import numpy as np, wengert as wg
from wengert.control.loops import scan
xs=np.linspace(0.1,1,5)
def f(w,x0):
    def step(s,x):
        a,b=s
        a2=np.sin(a*w)+x*b; b2=b*np.cos(a)+w
        return (a2,b2), a2*b2
    (a,b),ys=scan(step,(x0,x0*2.0),xs)
    return a*b+ (ys**2).sum()
def unrolled(w,x0):
    a,b=x0,x0*2.0; tot=0.
    for x in xs:
        a2=np.sin(a*w)+x*b; b2=b*np.cos(a)+w; a,b=a2,b2; tot=tot+(a2*b2)**2
    return a*b+tot
w,x0=0.7,0.3
print(f(w,x0)-unrolled(w,x0))
g=wg.trace(f,w,x0); print(g); print(g.evaluate(w,x0)-unrolled(w,x0))
for name,T in dict(grad=lambda f:wg.grad(f,(0,1)),jvp=lambda f:(lambda w,x:wg.jvp(f,(w,x),(1.0,0.5))[1]),hess=lambda f:wg.grad(wg.grad(f)),gg=lambda f:wg.grad(wg.grad(f,1),0),fr=lambda f:(lambda w,x: wg.jvp(wg.grad(f),(w,x),(1.0,0.3))[1])).items():
    ref=T(unrolled)(w,x0)
    g=wg.trace(T(f),w,x0)
    print(name,np.max(np.abs(np.array(g.evaluate(w,x0))-np.array(ref))), len(g.operations))
W=np.linspace(0.5,0.9,4)
g=wg.trace(wg.vmap(f,in_axes=(0,None)),W,x0); print("vmap",np.abs(g.evaluate(W,x0)-np.array([unrolled(v,x0) for v in W])).max())
g=wg.trace(wg.vmap(wg.grad(f),in_axes=(0,None)),W,x0); print("vmapgrad",np.abs(g.evaluate(W,x0)-np.array([wg.grad(unrolled)(v,x0) for v in W])).max())
