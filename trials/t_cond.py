import numpy as np, wengert as wg
from wengert.control.branches import cond, switch
from wengert.control.loops import scan
def f(x,w): return cond(x>0.5, lambda x: np.sin(x)*w, lambda x: np.sqrt(np.abs(x)+w)*x, x)
def u(x,w): return np.sin(x)*w if x>0.5 else np.sqrt(np.abs(x)+w)*x
for x in (0.3,0.8):
    w=1.3
    g=wg.trace(f,x,w); assert abs(g.evaluate(x,w)-u(x,w))<1e-15
    for name,T in dict(grad=lambda f:wg.grad(f,(0,1)),jvp=lambda f:(lambda w,x:wg.jvp(f,(w,x),(1.0,0.5))[1]),hess=lambda f:wg.grad(wg.grad(f)),gg=lambda f:wg.grad(wg.grad(f,1),0)).items():
        ref=T(u)(x,w); g=wg.trace(T(f),x,w); print(name,np.max(np.abs(np.array(g.evaluate(x,w))-np.array(ref))), len(g.operations))
X=np.linspace(0,1,7)
g=wg.trace(wg.vmap(f,in_axes=(0,None)),X,1.3); print(np.abs(g.evaluate(X,1.3)-[u(x,1.3) for x in X]).max())
g=wg.trace(wg.vmap(wg.grad(f),in_axes=(0,None)),X,1.3); print(np.abs(g.evaluate(X,1.3)-[wg.grad(u)(x,1.3) for x in X]).max())
print(wg.vmap(f,in_axes=(0,None))(X,1.3)-[u(x,1.3) for x in X])
def h(w):
    def step(s,x): 
        s=cond(s>x, lambda s: np.sin(s)*w, lambda s: s+w*x, s); return s,s
    return scan(step,0.2,X)[1].sum()
def hu(w):
    s=0.2;t=0.
    for x in X:
        s=np.sin(s)*w if s>x else s+w*x; t=t+s
    return t
for T in (lambda f:f, wg.grad, lambda f: wg.grad(wg.grad(f)), lambda f: wg.grad(wg.grad(wg.grad(f)))): print(wg.trace(T(h),0.9).evaluate(0.9)-T(hu)(0.9))
print(wg.compile(wg.grad(h))(0.9)-wg.grad(hu)(0.9))
print("native")
for x in (0.3,0.8):
    c=wg.compile(wg.value_and_grad(f,(0,1))); print(np.array(c(x,1.3)[1])-np.array(wg.grad(u,(0,1))(x,1.3)), c(x,1.3)[0]-u(x,1.3))
print(c.report(0.3,1.3))
ch=wg.compile(wg.grad(h)); print(ch(0.9)-wg.grad(hu)(0.9)); print(ch.report(0.9))
s3=lambda i,x: switch(i,[lambda x: x, lambda x: x*x, lambda x: x**3],x)
c3=wg.compile(s3); print([float(c3(np.int64(i),2.0)) for i in (-1,0,1,2,7)])
