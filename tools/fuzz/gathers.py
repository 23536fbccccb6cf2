"""Statements that read and write at computed indices: the forms that threads share in the most different ways.

Every form takes values from one array at two or more sets of indices, or writes to one array at several. Threads that
are each right alone race where two of these meet in one loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tools.fuzz.scope import NoStatement, Scope

GATHERS = [
    "{v}[{s}] - {v}[{t}]",
    "{v}[{s}] * {v}[{t}] + {v}[{s}]",
    "({v}[{s}] ** 3).mean() + ({v}[{t}] ** 2).mean()",
    "np.take({v}, {s}, axis=0) * np.take({v}, {t}, axis=0)",
    "wg.nn.functional.embedding({s}, {v}) + 0.5 * wg.nn.functional.embedding({t}, {v})",
    "np.where(({s} > {t}).reshape((-1,) + (1,) * ({v}.ndim - 1)), {v}[{s}], {v}[{t}])",
    "{v}[{s}][{u}] * 0.5",
    "np.tanh({v}[{s}])[{u}] - {v}[{u}]",
    "{v}[{mask}] ** 2",
    "np.sum({v}[{mask}]) * {v}[{s}]",
    "{v}[{part}][{few}] + {v}[{few}]",
    "{v}[::-1][{s}] * {v}[{t}]",
    "np.concatenate([{v}[{s}], {v}[{t}]]) * 1.5",
    "np.stack([{v}[{s}], {v}[{t}]]).sum(axis=0)",
    "{v}[np.stack([{s}, {t}])].prod(axis=0)",
    "np.add.reduce(np.sin({v}[{s}]) * {v}[{t}], axis=0)",
    "np.real(({v} + 0.5j * np.sin({v}))[{s}] * np.conj(({v} - 1j)[{t}]))",
    "np.cumsum({v}[{s}], axis=0) * np.cumprod(1.0 + 0.1 * np.sin({v}[{t}]), axis=0)",
    "np.stack([np.sin({v}[i]) * {v}[-i] for i in range({n})])",
    "np.concatenate([{v}[i : i + 1] * (i + 0.5) for i in range({n})])[::-1]",
    "np.stack([{v}[i] - {v}[0] for i in range({n})], axis=-1)",
]
"""Of an array, along its first axis."""

GATHERS_OF_MATRICES = [
    "{v}[:, {j}] - {v}[:, {l}]",
    "{v}[..., {j}] * {v}[..., {l}]",
    "{v}[{s}][:, {j}]",
    "{v}[{s}, 1:] + {v}[{t}, :-1]",
    "{v}[{s}, ::2]",
    "{v}[{part}, {j}] ** 2",
    "{v}[{s}, {k}] * {v}[{t}, {k}]",
    "{v}[{s}, {s} % {m}] - {v}[{t}, {t} % {m}]",
    "{v}[{s}[:, None], {j}] + {v}[{t}[:, None], {l}]",
    "np.take({v}, {j}, axis=1) - 0.5 * np.take({v}, {l}, axis=1)",
    "np.take_along_axis({v}, np.argsort({v}, axis=1), axis=1)",
    "{v}[:, {k}] * {v}[:, 0] + {v}[:, -1]",
    "({v} @ {v}.T)[{s}, {t}]",
    "np.einsum('ij,ij->i', {v}[{s}], {v}[{t}])",
    "{v}.T[{j}] + {v}.T[{l}]",
]
"""Of a matrix: rows, columns, single elements, slices with arrays."""

SCATTERS = [
    "at(at({v} * 1.0)[{s}].add({rows}))[{t}].add({others})",
    "at({v} * 1.0)[{s}].add(np.sin({v}[{t}]))",
    "at(at({v})[{s}].add({v}[{t}]))[{t}].add({v}[{s}])",
    "at(wg.zeros({v}.shape, {v}.dtype))[{s}].add({v}[{t}] * {v}[{s}])",
    "at({v})[{s}].set({rows})",
    "at(at({v})[{s}].set({rows}))[{t}].add({v}[{s}])",
    "at(np.tanh(at({v})[{s}].add({rows})))[{t}].add({others})",
    "at({v} * 0.5)[{mask}].add(0.25)",
    "at({v} * 2.0)[{part}].add({v}[{part}])",
    "at({v})[{s}].multiply(0.9)",
    "at(at({v} * 1.0)[{s}].add({v}[{s}] - {v}[{t}]))[{t}].add({v}[{t}] - {v}[{s}])",
    "np.sqrt(1.0 + at({v} * {v})[{s}].add({v}[{t}] ** 2))",
    "at({v})[{s}].max({rows})",
    "at(at({v} * 1.0)[{s}].min({v}[{t}]))[{t}].add({others})",
    "at({v} * 1.0)[{s}].multiply(1.0 + 0.1 * np.sin({v}[{t}]))",
    "at(np.tanh({v}))[{s}].divide(2.0 + np.sin({v}[{t}]))",
    "np.exp(np.tanh({v}[{s}])) / at(wg.full({v}.shape, 0.5))[{t}].add(np.exp(np.tanh({v}[{s}])))[{t}]",
    "{v}[{s}] - at({v} * 1.0)[{t}].max({v}[{s}])[{t}]",
    "np.abs(at(wg.zeros({v}.shape, complex))[{s}].add({v}[{t}] * (1 + 2j)) + 3.0)",
]
"""Into an array, along its first axis; `rows` and `others` have the shape of the elements written."""

SCATTERS_INTO_MATRICES = [
    "at({v} * 1.0)[:, {k}].add({v}[:, 0])",
    "at(at({v} * 1.0)[:, 0].add({v}[:, {k}]))[:, -1].add({v}[:, 0])",
    "at({v} * 1.0)[:, {j}].add({v}[:, {l}])",
    "at(at({v} * 1.0)[:, {j}].add({v}[:, {l}]))[:, {l}].add({v}[:, {j}])",
    "at({v} * 1.0)[{s}, {k}].add({v}[{t}, 0])",
    "at({v} * 1.0)[{s}, {s} % {m}].add({v}[{t}, {k}])",
    "at({v} * 1.0)[{s}, 1:].add({v}[{t}, 1:])",
    "at(at({v} * 1.0)[{s}, ::2].add({v}[{t}, ::2]))[{t}].add({v}[{s}])",
    "at({v} * 1.0)[{part}, {j}].add({v}[{part}, {l}])",
    "at({v} * 1.0)[{s}[:, None], {j}].add({v}[{t}[:, None], {l}])",
    "at({v})[:, {j}].set({v}[:, {l}] * 2.0)",
    "at(at({v} * 1.0)[{k} % {n}].add({v}[0]))[:, {k}].add({v}[:, 0])",
]
"""Into a matrix: rows, columns, single elements, slices with arrays."""

LOOPS = [
    "wg.scan(lambda c, r: (at(c)[{s}].add(0.1 * np.sin(c[{t}])), np.sum(c)), {v}, np.arange(3.0))[0]",
    "wg.scan(lambda c, r: (at(np.tanh(c))[r].add(0.2 * c[r[::-1]]), c[r] * c[r[::-1]]), {v}, {table})[1]",
    "wg.scan(lambda c, r: (0.9 * c + 0.1 * np.roll(c, 1, 0), {v}[r] * c[r]), {v}, {table})[1]",
    "wg.fori_loop(0, 3, lambda k, c: 0.5 * at(c)[{s}].add(0.1 * c[{t}]), {v})",
    "wg.fori_loop(0, 2, lambda k, c: at(np.sin(c))[wg.take({table}, k, axis=0)]"
    ".add({v}[wg.take({table}, k, axis=0)]), {v})",
    "wg.fori_loop(0, 3, lambda k, c: c + 0.1 * np.sum({v}[{s}] * {v}[{t}]) * np.cos(c), {v})",
]
"""In loops; `table` holds rows of indices."""

MAPPED = [
    "wg.vmap(lambda r: r[{j}] - r[{l}])({v})",
    "wg.vmap(lambda r: at(at(r)[{j}].add(np.sin(r[{l}])))[{l}].add(r[{j}]))({v})",
    "wg.vmap(lambda k: {v}[k] * {v}[(k + 1) % {n}])({s})",
    "wg.vmap(lambda k, q: np.sum({v}[k] * {v}[q]))({s}, {t})",
    "wg.vmap(lambda c: c[{s}] * c[{t}], in_axes=1)({v})",
    "wg.vmap(wg.grad(lambda r: np.sum(r[{j}] ** 3 * r[{l}])))({v})",
]
"""Under `vmap`, of a matrix."""

DERIVATIVES = [
    "wg.grad(lambda u: np.sum(u[{s}] ** 3 * np.sin(u[{t}])))({v})",
    "wg.hvp(lambda u: np.sum(np.sin(u[{s}]) * u[{t}] ** 2), {v}, {v} * 0.3)",
    "wg.grad(lambda u: np.sum(at(u)[{s}].add(u[{t}] ** 2) ** 2))({v})",
    "wg.jvp(lambda u: u[{s}] * np.cos(u[{t}]), ({v},), ({v} * 0.5,))[1]",
    "wg.vjp(lambda u: u[{s}] * u[{t}], {v})[1]({v}[{s}])[0]",
    "wg.checkpoint(lambda u: np.tanh(u[{s}]) * u[{t}])({v})",
]
"""Derivatives inside of the program: the result has one order more."""

SIZED = [
    "fit({v}, ({a}, {b})) @ fit({w}, ({b}, {c}))",
    "fit({v}, ({a}, {b})).T @ fit({w}, ({a}, {c}))",
    "fit({v}, (2, {a}, {b})) @ fit({w}, (2, {b}, {c}))",
    "fit({v}, ({a}, {b})) @ fit({w}, ({b},))",
    "wg.special.softmax(fit({v}, ({a}, {b})) @ fit({w}, ({c}, {b})).T, axis=-1) @ fit({v}, ({c}, {b}))",
    "np.linalg.solve({a} * np.eye({a}) + np.tanh(fit({v}, ({a}, {a}))), fit({w}, ({a}, {b})))",
    "np.linalg.cholesky({a} * np.eye({a}) + np.tanh(fit({v}, ({a}, {a})) + fit({v}, ({a}, {a})).T))",
    "np.linalg.inv({a} * np.eye({a}) + np.tanh(fit({v}, ({a}, {a}))))",
    "np.linalg.slogdet({a} * np.eye({a}) + np.tanh(fit({v}, ({a}, {a}))))[1]",
    "wg.linalg.solve_triangular({a} * np.eye({a}) + np.tanh(fit({v}, ({a}, {a}))), fit({w}, ({a},)), lower=True)",
    "np.abs(np.fft.fft(fit({v}, ({a}, {b})))) + 1.0",
    "np.convolve(fit({v}, ({d},)), fit({w}, ({a},)), 'same')",
    "np.cumsum(fit({v}, ({a}, {b})), axis=0) * 0.1",
    "np.cumsum(fit({v}, ({a}, {b})), axis=1) * 0.1",
    "np.sort(fit({v}, ({d},)))",
    "np.sum(fit({v}, ({d},)) * fit({w}, ({d},)))",
    "np.mean(fit({v}, ({a}, {b})) ** 2, axis=0)",
    "np.max(fit({v}, ({a}, {b})), axis=1) + np.var(fit({v}, ({a}, {b})), axis=1)",
    "np.einsum('ij,kj,k->ik', fit({v}, ({a}, {b})), fit({w}, ({c}, {b})), fit({v}, ({c},)))",
    "np.diff(fit({v}, ({a}, {b})), axis=1).T @ fit({w}, ({a},))",
    "np.pad(fit({v}, ({a}, {b})), 1)[1:, :-1] * 0.5 - np.pad(fit({v}, ({a}, {b})), 1)[:-1, 1:]",
    "np.roll(fit({v}, ({a}, {b})), 1, 0) - 2.0 * fit({v}, ({a}, {b})) + np.roll(fit({v}, ({a}, {b})), -1, 0)",
    "wg.special.log_softmax(fit({v}, ({a}, {b})), axis=-1)",
    "np.linalg.solve(4.0 * np.eye(3) + np.tanh(fit({v}, ({d}, 3, 3))), fit({w}, ({d}, 3, 1)))",
    "np.linalg.det(3.0 * np.eye(4) + np.tanh(fit({v}, ({d}, 4, 4)))) * 0.01",
    "np.linalg.cholesky(np.eye(2) + fit({v}, ({d}, 2, 1)) * fit({v}, ({d}, 1, 2)))",
    "np.einsum('aij,aj->ai', np.sin(fit({v}, ({d}, 3, 3))), fit({w}, ({d}, 3)))",
    "np.cross(fit({v}, ({d}, 3)), np.cos(fit({w}, ({d}, 3))))",
    "np.abs(np.fft.ifft(fit({v}, ({a}, {b})) * np.exp(0.5j * fit({w}, ({a}, 1))), axis=0)) + 1.0",
    "np.interp(within(fit({v}, ({d},)), 0.1, 1.9), [0.0, 1.0, 2.0], [1.0, -1.0, 0.5])",
]
"""Other operations, at sizes drawn at random."""


def first_axis(scope: Scope, n: int, count: int) -> str:
    """Indices along an axis of n elements: a known array, or an argument."""
    if scope.chance(0.4):
        return f"({scope.one_of(['i0', 'i1'])}[:{count}] % {n})"
    indices = scope.rng.integers(-n if scope.chance(0.2) else 0, n, count)
    if scope.chance(0.15):
        indices = np.sort(indices)
    return scope.constant(indices)


def parts(scope: Scope, v: str) -> dict[str, Any]:
    """What forms are filled with."""
    shape: Sequence[int] = scope[v].shape
    n, m = shape[0], shape[-1]
    most = max(scope.sizes.elements // max(math.prod(shape[1:]), 1), 2)  # as many rows as fit into a value
    count = scope.number(2, min(scope.one_of(scope.sizes.indices), most))
    rows = f"fit({scope.pick('f')}, ({count}, *{tuple(shape[1:])}))"
    size = lambda: scope.number(1, scope.one_of(scope.sizes.extents))
    low = scope.number(0, max(n - 2, 0))
    middle = scope.number(1, n)
    return {
        "v": v,
        "w": scope.pick("f"),
        "n": n,
        "m": m,
        "k": scope.number(0, m - 1),
        "s": first_axis(scope, n, count),
        "t": first_axis(scope, n, count),
        "u": scope.constant(scope.rng.integers(0, min(n, count), scope.number(1, 30))),
        "j": scope.constant(scope.rng.integers(0, m, (some := scope.number(1, 12)))),
        "l": scope.constant(scope.rng.integers(0, m, some)),
        "mask": scope.constant(scope.rng.random(n) < 0.5),
        "part": scope.one_of([f"{low}:", f":{n - low}", "::2", "::-1", "1:-1"]),
        "few": scope.constant(scope.rng.integers(0, max((n - low - 1) // 2, 1), middle)),
        "table": scope.constant(scope.rng.integers(0, n, (3, scope.number(1, 9)))),
        "rows": scope.one_of([rows, "0.5", f"{v}[{scope.constant(scope.rng.integers(0, n, count))}] ** 2"]),
        "others": scope.one_of([rows, "np.cos(" + rows + ")"]),
        "a": size(),
        "b": size(),
        "c": size(),
        "d": scope.number(1, scope.sizes.signal),
    }


def fill(scope: Scope, forms: Sequence[str], rank: int) -> str:
    """One of some forms, filled in for a value of at least this rank."""
    v = scope.pick("f", lambda a: a.ndim >= rank and (rank != 2 or a.ndim == 2) and a.shape[0] > 1 and a.size > 1)
    if scope[v].shape[-1] == 0:
        raise NoStatement("no columns")
    form = scope.one_of(forms)
    if "@ {v}.T" in form and scope[v].shape[0] ** 2 > scope.sizes.elements:
        raise NoStatement("too large a product")
    if "r[" in form:  # rows of matrices are vectors of m elements
        v = scope.pick("f", lambda a: a.ndim == 2 and a.shape[0] > 1 and a.shape[1] > 0)
    return f"{scope.target} = {form.format(**parts(scope, v))}"


def make_gather(scope: Scope) -> str:
    return fill(scope, GATHERS, 1)


def make_gather_of_matrix(scope: Scope) -> str:
    return fill(scope, GATHERS_OF_MATRICES, 2)


def make_scatter(scope: Scope) -> str:
    return fill(scope, SCATTERS, 1)


def make_scatter_into_matrix(scope: Scope) -> str:
    return fill(scope, SCATTERS_INTO_MATRICES, 2)


def make_loop(scope: Scope) -> str:
    return fill(scope, LOOPS, 1)


def make_mapped(scope: Scope) -> str:
    return fill(scope, MAPPED, 2)


def make_derivative(scope: Scope) -> str:
    return fill(scope, DERIVATIVES, 1)


def make_sized(scope: Scope) -> str:
    return fill(scope, SIZED, 1)


def make_product(scope: Scope) -> str:
    """A matrix times known weights: the usual way to a value that is then read at two sets of indices."""
    v = scope.pick("f", lambda a: a.ndim == 2 and a.size > 0)
    shape = scope[v].shape[1], scope.number(1, 20)
    weights = scope.constant(scope.rng.normal(size=shape) / 3)
    return f"{scope.target} = {scope.one_of(['{v} @ {w}', 'np.tanh({v} @ {w})']).format(v=v, w=weights)}"


GATHER_FAMILIES: dict[str, tuple] = {
    "gather": (6, make_gather),
    "gather of a matrix": (5, make_gather_of_matrix),
    "scatter": (6, make_scatter),
    "scatter into a matrix": (5, make_scatter_into_matrix),
    "gathers in loops": (3, make_loop),
    "gathers in vmap": (3, make_mapped),
    "derivative": (4, make_derivative),
    "product": (4, make_product),
    "size": (8, make_sized),
}
"""Family: how often, and its makers."""
