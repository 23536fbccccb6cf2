import numpy as np, wengert as wg

def newton(a):
    x = a
    k = 0
    while abs(x * x - a) > 1e-10:
        x = 0.5 * (x + a / x)
        k += 1
        if k > 50:
            break
    return x
def piecewise(x):
    if x > 1.0:
        y = np.sin(x)
        return y * 2.0
    elif x > 0.0:
        y = x * x
    else:
        return -x
    return y + 1.0
def lorenz(p):
    x = y = z = 1.0
    for i in range(1000):
        dx = p[0] * (y - x)
        dy = x * (p[1] - z) - y
        dz = x * y - p[2] * z
        x, y, z = x + 0.01 * dx, y + 0.01 * dy, z + 0.01 * dz
    return x * x + y + z
def recur(x):
    h = np.zeros(50)
    for k in range(1, 50):
        h[k] = np.sin(h[k - 1] + x)
    return h.sum()
def poly(c, x):
    total = 0.0
    for a in c:
        total = total * x + a
    return total if total > 0 else -total
def first_big(xs, t):
    for i, v in enumerate(xs):
        if v > t:
            return i * 1.0 + v
    return -1.0
if __name__=="__main__":
    print(wg.source(piecewise))
    for f,args in ((newton,(2.0,)),(piecewise,(1.5,)),(piecewise,(0.5,)),(piecewise,(-0.5,)),(lorenz,(np.array([10.,28.,8/3]),)),(recur,(0.3,)),(poly,(np.linspace(-1,1,40),0.9)),(first_big,(np.linspace(0,1,30),0.5)),(first_big,(np.linspace(0,1,30),5.0))):
        try:
            g=wg.trace(f,*args); v=g.evaluate(*args); print(f.__name__, np.asarray(v)-f(*args), len(g.operations), [n.primitive.name for n in g.operations if n.primitive.name in ("loop","switch")])
            if f is not first_big:
                gr=wg.trace(wg.grad(f),*args).evaluate(*args); print("   grad", np.max(np.abs(np.asarray(gr)-wg.grad(f)(*args))))
        except Exception as e:
            import traceback; print(f.__name__,type(e).__name__,str(e)[:200]); traceback.print_exc(limit=-3)
