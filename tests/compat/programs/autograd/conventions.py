"""What autograd's users rely on: arguments, containers, complex numbers, ties, zeros, boxes."""

import warnings

import autograd
import autograd.numpy as np
from autograd import (
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    tensor_jacobian_product,
    value_and_grad,
)
from autograd.differential_operators import make_jvp_reversemode
from autograd.extend import Box, vspace
from autograd.misc import const_graph, flatten
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.tracer import getval, isbox

x, y = np.array([0.5, -1.2, 2.0]), np.array([1.0, 0.3, -0.7])
matrix = np.array([[2.0, 0.3, -0.5], [0.1, 1.5, 0.4], [-0.2, 0.6, 1.1]])
z = np.array([1.0 + 2.0j, -0.5 + 0.3j, 2.0 - 1.0j])
results = {}


def f(a, b, scale=1.0):
    return scale * np.sum(np.sin(a) * b**2)


# Which argument, and keywords.
results["argnum 0"] = grad(f)(x, y)
results["argnum 1"] = grad(f, 1)(x, y, scale=2.0)
results["argnum (0, 1)"] = list(grad(f, (0, 1))(x, y))
results["argnum [1, 0]"] = list(grad(f, argnum=[1, 0])(x, y))
results["by name"] = grad_named(f, "b")(x, y)
results["value"] = list(value_and_grad(f)(x, y))
results["name"] = grad(f, 1).__name__


# Containers.
def loss(params):
    w, rest = params["w"], params["rest"]
    return np.sum(w * rest[0]) + rest[1] ** 2 + sum(np.sum(v) ** 2 for v in params.values() if isinstance(v, ArrayBox))


gradient = grad(loss)({"w": x, "rest": (y, 3.0)})
results["dict"] = [type(gradient) is dict, gradient["w"], type(gradient["rest"]) is tuple, *gradient["rest"]]
results["list"] = grad(lambda p: np.sum(p[0] * p[1]) + len(p))([x, y])
results["unpacked"] = list(grad(lambda p: (lambda a, b: np.sum(a**b))(*p))((np.abs(x), y)))
results["tuple made"] = grad(lambda a: autograd.builtins.tuple((np.sum(a), a[0]))[0])(x)
vector, unflatten = flatten({"b": 1.0, "a": [x, (y,)]})
results["flatten"] = vector
results["unflatten"] = unflatten(2.0 * vector)
results["through flatten"] = grad(lambda v: np.sum(unflatten(v)["a"][0] ** 2))(vector)

# No dependence: zeros, with a warning.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    results["constant"] = grad(lambda a: 3.0)(x)
    results["constant of a tree"] = list(grad(lambda p: 1.0)((x, 2.0)))
    results["partly"] = list(grad(lambda p: np.sum(p[0]))((x, y)))
    results["warnings"] = len(caught)

# Products and matrices of derivatives.
g = lambda a: np.dot(matrix, np.tanh(a)) * a[0]
results["jacobian"] = jacobian(g)(x)
results["jacobian of a matrix"] = jacobian(lambda m: np.dot(m, x))(matrix)
results["jacobian of a number"] = jacobian(lambda t: np.array([t, t**2]))(2.0)
results["hessian"] = hessian(lambda a: np.sum(np.exp(a) * a[::-1]))(x)
results["hessian of a matrix"] = hessian(lambda m: np.sum(np.dot(m, m)))(matrix[:2, :2])
results["hessian of several"] = hessian(lambda a: a**3)(x)
results["vjp"] = make_vjp(g)(x)[0](y)
results["vjp value"] = make_vjp(g)(x)[1]
results["vjp of two"] = list(make_vjp(f, argnum=(0, 1))(x, y)[0](2.0))
results["jvp"] = list(make_jvp(g)(x)(y))
results["jvp of two"] = make_jvp(f, argnum=(0, 1))(x, y)((y, x))[1]
results["jvp by reverse"] = make_jvp_reversemode(g)(x)(y)
results["hvp"] = make_hvp(lambda a: np.sum(g(a)))(x)[0](y)
results["hessian product"] = hessian_tensor_product(lambda a: np.sum(g(a)))(x, y)
results["jacobian product"] = tensor_jacobian_product(g)(x, y)
results["gauss newton"] = make_ggnvp(g)(x)(y)
results["deriv"] = deriv(lambda t: np.sin(t) * t)(0.7)
results["elementwise"] = elementwise_grad(lambda a: a**3 + np.sin(a))(x)
results["elementwise twice"] = elementwise_grad(elementwise_grad(lambda a: a**4))(x)
results["aux"] = [np.array(part) for part in grad_and_aux(lambda a: (np.sum(a**2), a * 2.0))(x)]
results["perturbations"] = grad(lambda a: a * grad(lambda b: a + b)(1.0))(1.0)

# Complex numbers: cotangents are not conjugated.
results["of a real function"] = grad(lambda w: np.real(np.sum(w**2 * np.conj(w))))(z)
results["of abs"] = grad(lambda w: np.sum(np.abs(w)))(z)
results["abs at zero"] = grad(lambda w: np.sum(np.abs(w)))(np.zeros(2) + 0j)
results["angle"] = grad(lambda w: np.sum(np.angle(w)))(z)
results["imag"] = grad(lambda w: np.sum(np.imag(w * w)))(z)
results["holomorphic"] = holomorphic_grad(lambda w: w**3 + np.exp(w))(z[0])
results["complex vjp"] = make_vjp(lambda w: w**2)(z)[0](np.array([1.0 + 1.0j, 2.0j, 0.5]))
results["complex jvp"] = make_jvp(lambda w: np.sin(w) * w)(z)(z[::-1])[1]
results["real to complex"] = grad(lambda a: np.real(np.sum(np.exp(1j * a) * z)))(x)
results["fft"] = grad(lambda a: np.sum(np.abs(np.fft.fft(a)) ** 2 * np.arange(4.0)))(np.array([1.0, 2.0, -1.0, 0.5]))
results["rfft"] = grad(lambda a: np.sum(np.real(np.fft.rfft(a) * (1 + 2j))))(np.array([1.0, 2.0, -1.0, 0.5]))
results["irfft"] = grad(lambda w: np.sum(np.fft.irfft(w) ** 2 * np.arange(4.0)))(z)

# Ties and other points without a derivative.
tied = np.array([2.0, 1.0, 2.0, 2.0])
results["max"] = grad(np.max)(tied)
results["min"] = grad(lambda a: np.min(a))(-tied)
results["max of rows"] = grad(lambda m: np.sum(np.max(m, axis=1)))(np.ones((2, 2)))
results["maximum"] = list(grad(lambda a, b: np.sum(np.maximum(a, b)), (0, 1))(tied, np.array([2.0, 2.0, 0.0, 2.0])))
results["minimum"] = grad(lambda a: np.sum(np.minimum(a, 2.0)))(tied)
results["clip"] = grad(lambda a: np.sum(np.clip(a, -1.0, 2.0) * a))(np.array([-1.0, 0.5, 2.0, 3.0]))
results["abs"] = grad(lambda a: np.sum(np.abs(a)))(np.array([-1.0, 0.0, 2.0]))
results["sort"] = grad(lambda a: np.sum(np.sort(a) * np.arange(4.0)))(np.array([3.0, 1.0, 4.0, 2.0]))
results["power at zero"] = grad(lambda a: np.sum(a**2 + a**1))(np.zeros(2))
results["sign"] = grad(lambda a: np.sum(a * np.sign(a)))(x)

# Boxes.
seen = []


def look(a):
    seen.append([isbox(a), isinstance(a, ArrayBox), isinstance(a, Box), autograd.isinstance(a, np.ndarray)])
    seen.append([a.shape == (3,), a.ndim, a.size, str(a.dtype), len(a), bool(a[0] > 0), float(getval(a)[1])])
    seen.append([isbox(a > 0), float(a._value[2]), autograd.type(a) is np.ndarray])
    return np.sum(np.array([a[0], 2.0 * a[1], [1.0, 2.0][0]]) ** 2) + np.sum(
        np.array([[a[0], a[1]], [a[2], 0.0]]) @ y[:2]
    )


results["look"] = grad(look)(x)
results["seen"] = seen
results["methods"] = grad(lambda a: a.reshape((3, 1)).T.sum() + a.max() + a.mean() * a.std() + a.flatten()[0])(x)
results["r_ and c_"] = grad(lambda a: np.sum(np.r_[a, 1.0] * np.arange(4.0)) + np.sum(np.c_[a, a] ** 2))(x)
results["of lists"] = grad(lambda a: np.sum([a[0], a[1] ** 2]) + np.mean([a[1], a[2]]) + np.max([a[0], a[2]]))(x)
results["generators"] = grad(lambda a: np.sum(np.stack(v**2 for v in a)) + np.sum(np.vstack(map(np.sin, [a, a]))))(x)
results["loop"] = grad(lambda a: sum(v**2 for v in a))(x)
results["full"] = grad(lambda t: np.sum(np.full((2, 3), t) * np.arange(3.0)))(2.0)
results["where"] = grad(lambda a: np.sum(np.where(a > 0, a**2, 3.0 * a)))(x)
results["space"] = [vspace(x).size, vspace(z).size, vspace({"a": x, "b": 1.0}).size]
replayed = const_graph(lambda a: np.sum(np.sin(a) * a))
results["const graph"] = [replayed(x), replayed(y), *[np.sum(part) for part in [grad(replayed)(x), grad(replayed)(y)]]]
