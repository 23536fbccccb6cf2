"""Functions with rules of their own: a stable logsumexp, a clipped gradient, a function of SciPy."""

import autograd.numpy as np
import scipy.special
from autograd import elementwise_grad, grad, hessian, jacobian, make_jvp
from autograd.extend import defjvp, defvjp, defvjp_argnum, primitive
from autograd.numpy.numpy_vjps import unbroadcast_f
from autograd.test_util import check_grads


@primitive
def logsumexp(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


defvjp(logsumexp, lambda ans, x: lambda g: np.full(x.shape, g) * np.exp(x - np.full(x.shape, ans)))


@primitive
def clipped(x):
    return x * 1.0


defvjp(clipped, lambda ans, x: lambda g: np.clip(g, -0.5, 0.5))

loggamma = primitive(scipy.special.gammaln)
digamma = primitive(scipy.special.digamma)
defvjp(loggamma, lambda ans, x: lambda g: g * digamma(x))
defjvp(loggamma, lambda g, ans, x: g * digamma(x))


@primitive
def power_of(x, n, shift=0.0):
    return (x + shift) ** n


defvjp(
    power_of,
    lambda ans, x, n, shift=0.0: unbroadcast_f(x, lambda g: g * n * power_of(x, n - 1, shift=shift)),
    lambda ans, x, n, shift=0.0: unbroadcast_f(n, lambda g: g * ans * np.log(x + shift)),
)


@primitive
def dot3(a, b, c):
    return np.sum(a * b * c)


defvjp_argnum(dot3, lambda argnum, ans, args, kwargs: lambda g: g * args[(argnum + 1) % 3] * args[(argnum + 2) % 3])

x = np.array([-1.0, 0.5, 1000.0, 999.0])
y = np.array([0.3, 1.2, 2.5])
check_grads(lambda x: logsumexp(x) ** 2, modes=["rev"])(np.array([0.1, 0.2, -0.3]))
results = {
    "logsumexp": grad(lambda x: logsumexp(x) ** 2)(x),
    "its hessian": hessian(lambda x: logsumexp(x))(np.array([0.1, 0.2, -0.3])),
    "clipped": grad(lambda x: np.sum(clipped(x) ** 3))(y),
    "loggamma": elementwise_grad(loggamma)(y),
    "pushed": make_jvp(lambda x: np.sin(loggamma(x)))(y)(np.ones(3))[1],
    "power": [np.array(part) for part in grad(lambda x, n: np.sum(power_of(x, n, shift=0.5)), (0, 1))(y, 2.5)],
    "its second": jacobian(grad(lambda x: np.sum(power_of(x, 3.0))))(y),
    "dot3": list(grad(lambda a, b, c: dot3(a, b, c) ** 2, (0, 1, 2))(y, 2.0 * y, y + 1.0)),
}
