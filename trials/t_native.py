import numpy as np, wengert as wg, time
from wengert.control.loops import scan
xs=np.linspace(0.1,1,1000)
def lorenz(p):
    s,r,b=p[0],p[1],p[2]
    def step(c,_):
        x,y,z=c; dt=0.01
        return (x+dt*s*(y-x), y+dt*(x*(r-z)-y), z+dt*(x*y-b*z)), None
    (x,y,z),_=scan(step,(1.0,1.0,1.0),length=1000)
    return x*x+y+z
p=np.array([10.,28.,8/3])
c=wg.compile(lorenz); t=time.time(); v=c(p); print("first",time.time()-t, v-lorenz(p)); print(c.report(p))
g=wg.compile(wg.value_and_grad(lorenz)); t=time.time(); v=g(p); print("first",time.time()-t)
e=wg.value_and_grad(lorenz)(p); print(v, e)
print(g.report(p))
for f in (c,g):
    t=time.perf_counter()
    for _ in range(50): f(p)
    print((time.perf_counter()-t)/50*1e6,"us")
