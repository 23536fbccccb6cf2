import numpy as np, wengert as wg, time, sys
from wengert.control.loops import scan
n=int(sys.argv[1]); rng=np.random.default_rng(0)
X=rng.normal(size=(n,16,64)).astype(np.float32); W=(rng.normal(size=(64,64))*.1).astype(np.float32); U=(rng.normal(size=(64,64))*.1).astype(np.float32); b=np.zeros(64,np.float32)
def loss(W,U,b):
    def step(h,x):
        h=np.tanh(h@W+x@U+b); return h,None
    h,_=scan(step,np.zeros((16,64),np.float32),X)
    return (h*h).mean()
g=wg.compile(wg.value_and_grad(loss,argnums=(0,1,2)))
t=time.time(); v=g(W,U,b); print("wg compile",time.time()-t)
def best(f,k=7):
    r=[]
    for _ in range(k):
        t=time.perf_counter(); f(); r.append(time.perf_counter()-t)
    return min(r)
print("wg run ms",best(lambda:g(W,U,b))*1e3); print(g.report(W,U,b))
import jax, jax.numpy as jnp
def jl(W,U,b):
    def step(h,x): return jnp.tanh(h@W+x@U+b),None
    h,_=jax.lax.scan(step,jnp.zeros((16,64),jnp.float32),X); return (h*h).mean()
jg=jax.jit(jax.value_and_grad(jl,argnums=(0,1,2)))
t=time.time(); jv=jax.block_until_ready(jg(W,U,b)); print("jax compile",time.time()-t); print("jax ms",best(lambda:jax.block_until_ready(jg(W,U,b)))*1e3)
print([float(np.abs(np.asarray(a)-np.asarray(c)).max()) for a,c in zip(v[1],jv[1])])
