"""The statements of random programs, by family.

A maker chooses among the values in scope and returns the lines that define its target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from tools.fuzz.forms import (
    ARITHMETIC,
    AUXILIARIES,
    BUFFERS,
    CASTS,
    CHOICES,
    CONDITIONS,
    CONTRACTIONS,
    INDEXED,
    MATRICES,
    METHODS,
    REDUCTIONS,
    SEQUENCES,
    SHAPES,
    SPECTRA,
    TRANSFORMS,
)
from tools.fuzz.keys import advanced_key, any_key, basic_key
from tools.fuzz.scope import Scope
from wengert.core.primitive import TABLE, Primitive
from wengert.ops.samples import counter_words, draws  # noqa: F401  # add their operations to the table

UNKNOWN_SHAPE = ("argwhere", "unique_indices", "unique_inverse", "unique_counts")
"""Operations whose results have a shape that depends on numbers."""
ELEMENTWISE = [
    p
    for p in TABLE.values()
    if p.trial.domain and not p.trial.cases and p.name not in (*UNKNOWN_SHAPE, "stop_gradient")
]
CASES = [p for p in TABLE.values() if p.trial.cases and p.kind != "nondifferentiable"]
CONSTANT = [
    p
    for p in TABLE.values()
    if p.trial.cases and p.kind == "nondifferentiable" and p.name not in (*UNKNOWN_SHAPE, "complement")
]
"""Without bases of complements, which are free to turn where columns are dependent."""
ORDERED = ("maximum", "minimum", "fmax", "fmin", "relu", "max", "min", "divide_live")
"""Operations that have no derivative to speak of at complex numbers."""

Maker = Callable[[Scope], str]


def spelled(scope: Scope, primitive: Primitive) -> str:
    """One of the names under which users call an operation."""
    name = primitive.name
    names = [
        f"{module}.{name}"
        for module, owner in (("np", np), ("wg", wg), ("wg.special", wg.special))
        if callable(getattr(owner, name, None))
    ]
    return scope.one_of(names) if names and not primitive.definition.takes_params else f"op({name!r})"


def elementwise(scope: Scope) -> str:
    """Any elementwise operation of the table, its arguments brought into its domain where they are not."""
    primitive = scope.one_of(ELEMENTWISE)
    arguments: list[str] = []
    for i, name in enumerate(primitive.inputs):
        if name == "condition":
            arguments.append(f"({scope.pick()} > {scope.number(-1, 1)}.0)")
            continue
        low, high = (
            primitive.trial.domain[i] if isinstance(primitive.trial.domain[0], tuple) else primitive.trial.domain
        )
        v = scope.pick("f" if primitive.name in ORDERED else "fc")
        values = [point[v] for point in scope.points]
        is_inside = (
            all(np.all((low < np.real(a)) & (np.real(a) < high)) for a in values) and values[0].dtype.kind == "f"
        )
        arguments.append(v if is_inside else f"within({v}, {low}, {high})")
    return f"{scope.target} = {spelled(scope, primitive)}({', '.join(arguments)})"


def by_case(scope: Scope) -> str:
    """Any other operation of the table, on the arguments of its tests moved by what the program has."""
    primitive = scope.one_of(CASES)
    index = scope.number(0, len(primitive.trial.cases) - 1)
    kinds = "f" if primitive.name in ORDERED else "fc"
    operands = []
    for i, a in enumerate(primitive.trial.cases[index].args):
        takes = (
            primitive.definition.vjp
            or primitive.inputs[0].startswith("*")
            or primitive.definition.rules[i : i + 1] not in ((), (None,))
        )
        operands.append(scope.pick(kinds) if takes and (isinstance(a, tuple) or a.dtype.kind == "f") else "None")
    output = 0 if primitive.outputs == 1 else scope.number(0, 1)
    return f"{scope.target} = case({primitive.name!r}, {index}, {', '.join(operands)})[{output}]"


def constant_by_case(scope: Scope) -> str:
    """An operation of the table through which no derivative flows, though its result may change with its arguments."""
    primitive = scope.one_of(CONSTANT)
    index = scope.number(0, len(primitive.trial.cases) - 1)
    operands = [
        scope.pick("f") if isinstance(a, tuple) or a.dtype.kind == "f" else "None"
        for a in primitive.trial.cases[index].args
    ]
    return f"{scope.target} = case({primitive.name!r}, {index}, {', '.join(operands)})[0] * np.cos({scope.pick('f')})"


def operand(scope: Scope) -> str:
    """A value, a captured constant or a number."""
    choice = scope.number(0, 9)
    if choice < 6:
        return scope.pick()
    if choice < 7:
        return scope.one_of(["2", "0.5", "-1.5", "3.0", "np.float64(0.7)", "np.float32(0.7)", "True"])
    shape = scope[scope.pick()].shape
    some = shape[scope.number(0, len(shape)) :] if scope.chance(0.5) else shape
    dtype = scope.one_of([np.float64, np.float64, np.float32, np.int64, np.int32, np.bool_])
    a = scope.rng.integers(1, 4, some) if np.dtype(dtype).kind in "iub" else scope.rng.uniform(-1.5, 1.5, some)
    return scope.constant(a.astype(dtype))


def arithmetic(scope: Scope) -> str:
    x, y = scope.pick(), operand(scope)
    if scope.chance(0.3):
        x, y = y, x
    form = scope.one_of(ARITHMETIC)
    return f"{scope.target} = {form.format(x=x, y=y)}"


def powers(scope: Scope) -> str:
    v = scope.pick("f")
    k = scope.one_of(["2", "3", "-1", "0", "1", "0.5", "2.0", "-1.5", "within({v}, -1.0, 2.0)", "np.array(3)"]).format(
        v=scope.pick("f")
    )
    base = v if k in ("2", "3", "0", "1", "2.0", "np.array(3)") else f"within({v}, 0.3, 2.0)"
    return f"{scope.target} = {base} ** {k}"


def chosen(scope: Scope) -> str:
    x, y, z = scope.pick("f"), scope.pick("f"), scope.pick()
    condition = scope.one_of(CONDITIONS).format(x=x, y=y)
    form = scope.one_of(CHOICES)
    return f"{scope.target} = {form.format(c=condition, x=x, y=y, z=z)}"


def reduced(scope: Scope) -> str:
    v = scope.pick("f")
    rank = scope[v].ndim
    axes: list[Any] = [None, *range(-rank, rank), *([tuple(range(rank))[:2]] if rank > 1 else [])]
    name = scope.one_of(REDUCTIONS)
    keepdims = ", keepdims=True" if scope.chance(0.3) else ""
    axis = scope.one_of(axes)
    if name == "np.std":  # not smooth where all numbers are the same
        v = f"{v} + np.arange({scope[v].size}.0).reshape({scope[v].shape})"
    return f"{scope.target} = {name}({v}, axis={axis}{keepdims})"


def by_method(scope: Scope) -> str:
    v = scope.pick()
    form = scope.one_of(METHODS)
    return f"{scope.target} = {form.format(v=v)}"


def shaped(scope: Scope) -> str:
    v, w = scope.pick(), scope.pick()
    a = scope[v]
    k, axis = scope.number(-2, 2), scope.number(-a.ndim, max(a.ndim - 1, 0))
    form = scope.one_of(SHAPES)
    return f"{scope.target} = {form.format(v=v, w=w, k=k, axis=axis, shape=a.shape)}"


def indexed(scope: Scope) -> str:
    v = scope.pick()
    key = scope.one_of([basic_key, advanced_key])(scope, scope[v].shape)
    return f"{scope.target} = {v}[{key}]"


def indexed_by_values(scope: Scope) -> str:
    """Places that depend on numbers, used on values: a gather in every mode."""
    v = scope.pick("f", lambda a: a.ndim > 0 and a.size > 0)
    n = scope[v].shape[-1]
    form = scope.one_of(INDEXED)
    return f"{scope.target} = {form.format(v=v, n=n, k=scope.number(0, n - 1))}"


def assigned(scope: Scope) -> str:
    """A copy or a buffer, filled in and changed in place."""
    v, w = scope.pick(), scope.pick()
    y, shape = scope.target, scope[v].shape
    start = scope.one_of(BUFFERS)
    # A value without derivative may be a plain array, which takes no assignment of values: let it depend on all of
    # them.
    sources = ["x0", *(c.name for c in scope.program.captured)]
    start = start.format(u=f"({v} * (1.0 + {' + '.join(f'0.0 * total({name})' for name in sources)}))", shape=shape)
    lines = [f"{y} = {start}"]
    if "empty" in start:
        lines.append(f"{y}[...] = {v}")
    for _ in range(scope.number(1, 3)):
        key = any_key(scope, shape)
        slot = (
            np.zeros(shape)[eval(key if "," not in key else f"({key})", {"np": np})]
            if ":" not in key and "..." not in key
            else None
        )
        lines.append(assignment(scope, y, key, w, None if slot is None else slot.shape))
        if scope.chance(0.2):
            lines.append(
                scope.one_of([f"{y} += {w}", f"{y} *= 0.5", f"{y} -= np.sum({w})", f"{y} /= 1.5", f"{y} **= 2"])
            )
        if scope.chance(0.2):
            lines.append(f"{y} = {y} * np.sum(np.abs({y}))")
    return "\n".join(lines)


def assignment(scope: Scope, y: str, key: str, w: str, slot: tuple[int, ...] | None) -> str:
    value = scope.one_of(["0.25", f"np.sum({w})", f"fit({w}, np.shape({y}[{key}]))", f"np.sum({w}) * {y}[{key}]"])
    if slot and scope.chance(0.3):
        value = f"fit({w}, {slot[-1:]})"
    return f"{y}[{key}] {scope.one_of(['=', '=', '+=', '-=', '*='])} {value}"


def loops(scope: Scope) -> str:
    """Control by integers: counted loops, elements, static branches, shapes."""
    v = scope.pick("f", lambda a: a.size > 0)
    y, a, n = scope.target, scope[v], scope.number(2, 4)
    flat = f"np.ravel({v})"
    return scope.one_of(
        [
            f"{y} = {v}\nfor k in range({n}):\n    {y} = np.sin({y}) + 0.3 * k * {v}",
            f"{y} = {v}\nfor k in range({n}):\n    if k % 2:\n        {y} = {y} * 0.5\n    else:\n        {y} = "
            f"np.tanh({y} + k)",
            f"{y} = 0.0 * np.sum({v})\nfor k in range({a.size}):\n    {y} = {y} + {flat}[k] * {flat}[-k] * (k + 1)",
            f"{y} = wg.zeros({a.size})\nfor k in range({a.size}):\n    {y}[k] = {flat}[k] ** 2 + ({y}[k - 1] if k else "
            f"0.0)",
            f"{y} = 0.0 * np.sum({v})\nfor row in np.reshape({v}, ({a.size}, 1)):\n    {y} = {y} * 0.5 + row[0] * "
            f"np.cos(row[0])",
            f"{y} = np.stack([{flat}[k] * k for k in range({flat}.shape[0])])",
            f"{y} = np.stack([np.sum({v} * k) for k in range(1, {n})])",
            f"k = {v}.ndim\n{y} = {v}\nwhile k < {n + 1}:\n    {y} = {y} * np.cos({v} * k)\n    k += 1",
            f"{y} = wg.stack([{flat}[k] if k % 2 else np.exp(-{flat}[k] ** 2) for k in range({a.size})])",
            f"{y} = sum({flat}[k] * w for k, w in enumerate(np.linspace(0.5, 1.5, {a.size})))",
        ]
    )


def contracted(scope: Scope) -> str:
    v, w = scope.pick(), scope.pick()
    form = scope.one_of(CONTRACTIONS)
    return f"{scope.target} = {form.format(v=v, w=w)}"


def matrices(scope: Scope) -> str:
    """Linear algebra on matrices that are well conditioned, whatever the numbers."""
    v, w, n = scope.pick(), scope.pick(), scope.number(1, 3)
    y = scope.target
    square = f"np.diag(np.arange(2.0, {2.0 + n})) + 0.2 * np.tanh(np.real(fit({v}, ({n}, {n}))))"
    symmetric = f"{y} = {square}\n{y} = {y} + {y}.T"
    form = scope.one_of(MATRICES)
    return form.format(y=y, a=square, s=symmetric, w=w, n=n, k=scope.number(-2, 3))


def spectra(scope: Scope) -> str:
    v = scope.pick("fc", lambda a: a.size > 0)
    form = scope.one_of(SPECTRA)
    a = scope[v]
    return f"{scope.target} = {form.format(v=v if a.ndim else f'np.ravel({v})', n=a.shape[-1] if a.ndim else 1)}"


def sequences(scope: Scope) -> str:
    v = scope.pick("f", lambda a: a.ndim > 0 and a.size > 0)
    axis = scope.number(-scope[v].ndim, scope[v].ndim - 1)
    form = scope.one_of(SEQUENCES)
    return f"{scope.target} = {form.format(v=v, axis=axis)}"


def cast(scope: Scope) -> str:
    v = scope.pick("fcbi")
    form = scope.one_of(CASTS)
    return f"{scope.target} = {form.format(v=v)}"


def auxiliary(scope: Scope) -> str:
    """Integers and booleans that stay values, and come back into the computation."""
    v = scope.pick("f", lambda a: a.size > 0)
    form = scope.one_of(AUXILIARIES)
    return f"{scope.target} = {form.format(v=v)}"


def transformed(scope: Scope) -> str:
    """A transform inside of the program."""
    v = scope.pick("f", lambda a: a.ndim > 0 and a.size > 0)
    w = scope.pick("f", lambda a: a.ndim == 0 or a.size > 0)
    form = scope.one_of(TRANSFORMS)
    return f"{scope.target} = {form.format(v=v, w=w)}"


def stopped(scope: Scope) -> str:
    v = scope.pick()
    return f"{scope.target} = wg.stop_gradient({v}) * np.sin({v})"


def integers(scope: Scope) -> str:
    """Integers and booleans that Python reads."""
    v = scope.pick("f", lambda a: a.ndim > 0 and a.size > 0)
    y = scope.target
    table = scope.constant(scope.rng.uniform(-1.0, 1.0, 16))
    return scope.one_of(
        [
            f"j = int(np.argmax({v}))\n{y} = np.ravel({v})[j] * (j + 1)",
            f"{y} = {v} * {table}[np.floor(np.abs({v})).astype(int)]",
            f"{y} = {v} * {table}[np.argsort({v}, axis=-1)]",
            f"{y} = np.sum({v}[{v} > 0.3])",
            f"{y} = {v}\nfor k in range(int(np.floor(np.abs(np.sum({v})))) % 4):\n    {y} = {y} * np.cos({v}) + k",
            f"{y} = {v} * 2 if np.sum({v}) > 0.2 else np.sin({v})",
            f"{y} = {v} * float(np.round(np.ravel({v})[0]))",
            f"{y} = {v} * ['one', 'three'][np.argmax(np.ravel({v})) % 2].__len__()",
            f"{y} = {v}[np.nonzero({v} > -0.2)]",
            f"{y} = np.trim_zeros(np.ravel({v}) * np.ravel({v} > 0))\n{y} = np.sum({y})",
            f"{y} = np.sum(np.unique(np.round({v}, 1))) * {v}",
            f"{y} = np.sum(np.argwhere({v} > 0)) * {v}",
            f"{y} = np.take({table}, np.argsort({v}, axis=-1)) * {v}",
            f"{y} = np.ravel({v})[: int(np.count_nonzero({v} > 0)) + 1] ** 2\n{y} = np.sum({y})",
        ]
    )


FAMILIES: dict[str, tuple] = {
    "table": (6, elementwise, by_case),
    "arithmetic": (3, arithmetic, powers, chosen),
    "reduction": (3, reduced, by_method),
    "shape": (4, shaped),
    "index": (3, indexed, indexed_by_values),
    "assignment": (5, assigned),
    "loop": (3, loops),
    "contraction": (3, contracted),
    "matrix": (2, matrices),
    "fft": (1, spectra),
    "sequence": (3, sequences),
    "dtype": (1, cast),
    "auxiliary": (3, auxiliary),
    "transform": (2, transformed),
    "stop": (1, stopped, constant_by_case),
    "integers": (1, integers),
}
"""Family: how often, and its makers."""
