import numpy as np, wengert as wg
from wengert.control.loops import while_loop, scan, fori_loop
from wengert.control.branches import cond
def f(a,x0):
    def body(c): 
        x,k=c; return (x-(x*x*x-a)/(3*x*x))*1.0, k+1
    x,k=while_loop(lambda c: np.abs(c[0]**3-a)>1e-3, body, (x0,0))
    return x*x+np.sin(x0)
def u(a,x0):
    x=x0
    while abs(x**3-a)>1e-3: x=(x-(x*x*x-a)/(3*x*x))*1.0
    return x*x+np.sin(x0)
a,x0=2.0,1.7
g=wg.trace(f,a,x0); print(g); print(g.evaluate(a,x0)-u(a,x0), f(a,x0)-u(a,x0))
for name,T in dict(grad=lambda f:wg.grad(f,(0,1)),jvp=lambda f:(lambda w,x:wg.jvp(f,(w,x),(1.0,0.5))[1]),hess=lambda f:wg.grad(wg.grad(f)),gg=lambda f:wg.grad(wg.grad(f,1),0),fr=lambda f:(lambda w,x: wg.jvp(wg.grad(f),(w,x),(1.0,0.3))[1]), rf=lambda f: wg.grad(lambda w,x: wg.jvp(f,(w,x),(1.0,0.3))[1]), ggg=lambda f:wg.grad(wg.grad(wg.grad(f)))).items():
    ref=T(u)(a,x0)
    try:
        g=wg.trace(T(f),a,x0)
        print(name,np.max(np.abs(np.array(g.evaluate(a,x0))-np.array(ref))), len(g.operations))
    except Exception as e: print(name,type(e),str(e)[:300])
A=np.array([2.0,3.0,5.0,9.0])
for nm,h,r in (("vmap",wg.vmap(f,in_axes=(0,None)),lambda v:u(v,x0)),("vmapgrad",wg.vmap(wg.grad(f),in_axes=(0,None)),lambda v:wg.grad(u)(v,x0)),("gradvmap",wg.grad(lambda A,x0: wg.vmap(f,in_axes=(0,None))(A,x0).sum()),lambda v: wg.grad(u)(v,x0)),("vmaphess",wg.vmap(wg.grad(wg.grad(f)),in_axes=(0,None)),lambda v:wg.grad(wg.grad(u))(v,x0))):
    try: 
        g=wg.trace(h,A,x0); print(nm,np.abs(np.array(g.evaluate(A,x0))-[r(v) for v in A]).max())
        print("  eager",np.abs(np.array(h(A,x0))-[r(v) for v in A]).max())
    except Exception as e: print(nm,type(e),str(e)[:300])
print(fori_loop(0,4,lambda i,s: s*2.0+i,1.0), wg.trace(lambda n: fori_loop(0,n,lambda i,s: s*2.0+i,1.0),3).evaluate(4))
try: print(wg.compile(wg.grad(f))(a,x0)-wg.grad(u)(a,x0))
except Exception as e: print(type(e),str(e)[:300])
c=wg.compile(wg.value_and_grad(f,(0,1))); print("native",np.array(c(a,x0)[1])-np.array(wg.grad(u,(0,1))(a,x0))); print(c.report(a,x0))
for T in (lambda f: wg.grad(wg.grad(f)), lambda f: wg.vmap(f,in_axes=(0,None)), lambda f: wg.vmap(wg.grad(f),in_axes=(0,None))):
    try: z=wg.compile(T(f)); aa=a if T(f) and "vmap" not in repr(T) and z.__name__!="x" else a
    except Exception as e: print(e)
z=wg.compile(wg.grad(wg.grad(f))); print(z(a,x0)-wg.grad(wg.grad(u))(a,x0)); print(z.report(a,x0))
z=wg.compile(wg.vmap(wg.grad(f),in_axes=(0,None))); print(z(A,x0)-[wg.grad(u)(v,x0) for v in A]); print(z.report(A,x0))
