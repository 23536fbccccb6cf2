"""NumPy goes in and NumPy comes out, whatever constants a function makes on the way.

What has a history stays a tensor.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import wengert as wg
from wengert.core import tree
from wengert.transforms.boundary import flatten_arrays, unflatten_arrays

X = np.array([0.5, 1.5, 2.5])


def loss(x):
    return ((x - wg.arange(3.0)) ** 3).sum()


def vector(x):
    return (x - wg.arange(3.0)) ** 3


def constant(x):
    return wg.arange(3.0)


def with_rule(f):
    """f with a rule that makes a constant too."""
    ruled = wg.custom_jvp(f)
    ruled.defjvp(lambda primals, tangents: (f(*primals), 3.0 * wg.tensor(1.0) * f(*primals) * tangents[0].sum()))
    return ruled


SCALAR = {
    "grad": lambda f: wg.grad(f)(X),
    "value_and_grad": lambda f: wg.value_and_grad(f)(X),
    "grad of grad": lambda f: wg.grad(lambda x: wg.grad(f)(x).sum())(X),
    "has_aux": lambda f: wg.grad(lambda x: (f(x), {"x": x * wg.tensor(2.0)}), has_aux=True)(X),
    "hvp": lambda f: wg.hvp(f, X, X),
    "vhp": lambda f: wg.vhp(f, X, X),
    "hessian": lambda f: wg.hessian(f)(X),
    "hessian_diag": lambda f: wg.hessian_diag(f)(X),
    "laplacian": lambda f: wg.laplacian(f)(X),
    "argmin": lambda f: wg.implicit.argmin(lambda x: ((x - wg.arange(3.0)) ** 2).sum() + 0.0 * f(x), X),
    "minimize": lambda f: wg.optimize.minimize(lambda x: f(x) ** 2, X).x,
    "compiled value_and_grad": lambda f: wg.compile(wg.value_and_grad(f))(X),
    "vmap of value_and_grad": lambda f: wg.vmap(wg.value_and_grad(f))(X[None]),
}
ANY = {
    "jvp": lambda f: wg.jvp(f, (X,), (X,)),
    "directional": lambda f: wg.directional(f, X, X),
    "vjp": lambda f: (wg.vjp(f, X)[0], wg.vjp(f, X)[1](np.ones(np.shape(f(X))))),
    "linearize": lambda f: (wg.linearize(f, X)[0], wg.linearize(f, X)[1](X)),
    "jacfwd": lambda f: wg.jacfwd(f)(X),
    "jacrev": lambda f: wg.jacrev(f)(X),
    "jacobian": lambda f: wg.jacobian(f)(X),
    "jet": lambda f: wg.jet(f, [X], [[X, X]]),
    "taylor": lambda f: wg.taylor(f, X, 2),
    "vmap": lambda f: wg.vmap(f)(X[None]),
    "vmap in chunks": lambda f: wg.vmap(f, chunk_size=1)(np.stack([X, X])),
    "compile": lambda f: wg.compile(f)(X),
    "compiled jacobian": lambda f: wg.compile(wg.jacfwd(f))(X),
    "checkpoint": lambda f: wg.checkpoint(f)(X),
    "custom_jvp": lambda f: with_rule(f)(X),
    "gradient by a custom rule": lambda f: wg.grad(lambda x: with_rule(f)(x).sum())(X),
}
ELEMENTWISE = {
    "derivative": lambda f: wg.derivative(f, 2)(X),
    "linear_transpose": lambda f: wg.linear_transpose(lambda x: x * wg.arange(3.0), X)(X),
    "linear_solve": lambda f: wg.implicit.linear_solve(lambda y: y * wg.tensor(2.0), X),
    "root": lambda f: wg.implicit.root(lambda x: x - wg.arange(3.0), X),
    "fixed_point": lambda f: wg.implicit.fixed_point(lambda x: 0.5 * (x + wg.arange(3.0)), X),
    "sparse_jacobian": lambda f: wg.sparse_jacobian(f)(X).toarray(),
    "least_squares": lambda f: wg.optimize.least_squares(f, X).x,
    "solve_ivp": lambda f: wg.integrate.solve_ivp(lambda t, y: -f(y), (0.0, 0.1), X).y,
}
CASES = [
    *[pytest.param(call, loss, id=f"{name} of a number") for name, call in (SCALAR | ANY).items()],
    *[pytest.param(call, vector, id=f"{name} of a vector") for name, call in (ANY | ELEMENTWISE).items()],
    *[pytest.param(call, constant, id=f"{name} of a constant") for name, call in ANY.items()],
]


@pytest.mark.parametrize(("call", "f"), CASES)
def test_arrays_and_numbers_of_numpy(call, f):
    for leaf in tree.flatten(call(f))[0]:
        assert isinstance(leaf, np.ndarray | np.generic), type(leaf)
        assert not isinstance(leaf, np.ndarray) or leaf.flags.writeable


def test_minimisers_of_scipy():
    found = scipy.optimize.minimize(wg.value_and_grad(lambda x: ((x - wg.arange(3.0)) ** 2).sum()), X, jac=True)
    np.testing.assert_allclose(found.x, np.arange(3.0), atol=1e-6)


CAPTURING = {
    "value_and_grad": lambda f, *args: wg.value_and_grad(f)(*args),
    "jvp": lambda f, *args: wg.jvp(f, args, tuple(map(wg.ones_like, args))),
    "vjp": lambda f, *args: (wg.vjp(f, *args)[0], wg.vjp(f, *args)[1](1.0)),
    "linearize": lambda f, *args: wg.linearize(f, *args)[1](*args),
    "jacfwd": lambda f, *args: wg.jacfwd(f)(*args),
    "jacrev": lambda f, *args: wg.jacrev(f)(*args),
    "jet": lambda f, *args: wg.jet(f, args, [[a] for a in args]),
    "vmap": lambda f, *args: wg.vmap(f)(*[a[None] for a in args]),
    "compile": lambda f, *args: wg.compile(f)(*args),
}


@pytest.mark.parametrize("call", CAPTURING.values(), ids=CAPTURING)
def test_what_has_a_history_stays_a_tensor(call):
    w = wg.tensor(np.ones(3), requires_grad=True)
    leaves = tree.flatten(call(lambda x: ((x - w) ** 3).sum(), X))[0]
    assert all(isinstance(leaf, wg.Tensor) and leaf.requires_grad for leaf in leaves)


@pytest.mark.parametrize("call", CAPTURING.values(), ids=CAPTURING)
def test_who_gives_a_tensor_gets_tensors(call):
    leaves = tree.flatten(call(lambda x, y: ((x - y) ** 3).sum(), X, wg.tensor(np.ones(3))))[0]
    assert all(isinstance(leaf, wg.Tensor) for leaf in leaves)


def test_compiled_functions_of_parameters_give_tensors_under_no_grad_too():
    w = wg.tensor(np.ones(3), requires_grad=True)
    with wg.no_grad():
        assert isinstance(wg.compile(lambda x: (x * w).sum())(X), wg.Tensor)


def test_what_is_returned_beside_the_result_stays_as_it_is():
    state = wg.arange(3.0)
    _, aux = wg.grad(lambda x: (x.sum(), state), has_aux=True)(X)
    assert aux is state


@pytest.mark.parametrize("kind", [tuple, list])
def test_rows_of_arrays_have_the_structure_of_trees(kind):
    row = kind([X, X + 1.0])
    leaves, structure = flatten_arrays(row)
    assert structure == tree.flatten(row)[1]
    assert flatten_arrays(row)[1] is structure
    back = unflatten_arrays(structure, leaves)
    assert back.__class__ is kind
    assert all(x is y for x, y in zip(back, row, strict=True))
    assert wg.grad(lambda row: (row[0] * row[1]).sum())(row).__class__ is kind
