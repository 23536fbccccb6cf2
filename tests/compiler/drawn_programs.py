"""Random programs as Python source: each line computes one value from earlier ones, and a failure prints the program.

The shapes of all values are known while a program is drawn, because it runs at the same time. Values are kept small
(`tanh`), and are compared with numbers that are never results, so that rounding decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.ops.indexing.updates import At

Pick = Callable[[int], int]
"""A number below the given one."""

LARGEST = 6000
"""The most elements of a value."""

EXTENTS = {
    "tiny": (1, 2, 3, 4),
    "medium": (1, 2, 3, 5, 7, 8, 9, 16, 17, 33),
    "batch": (64, 65, 100, 1, 2, 3, 4),
    "long": (1000, 1, 5, 300),
    "empty": (0, 1, 2, 3),
}

UNARY = (
    "np.sin({x})", "np.cos({x})", "np.tanh({x})", "np.exp(-{x} * {x})", "np.arctan({x})", "-{x}",
    "np.abs({x} + 0.3713)", "{x} * 0.5", "1.5 - {x}", "np.sqrt({x} * {x} + 1)", "np.log1p({x} ** 2)",
    "{x} / (1.0 + np.square({x}))", "wg.relu({x} + 0.1371)", "wg.sigmoid({x})", "wg.softplus({x})",
    "{x}.astype(np.float32)", "{x}.astype(np.float64)", "wg.stop_gradient({x})", "np.copysign(1.0, {x} - 0.7173)",
    "np.sign({x} - 0.2929) * {x}", "np.floor({x} * 3.17)", "np.where(np.isfinite({x}), {x}, 0.0)",
    "np.ones_like({x})", "np.full_like({x}, 2)", "({x} > 0.1717) * {x}", "{x} * 2", "np.clip({x}, -1.0713, 0.9313)",
    "np.reciprocal(2.0 + np.cos({x}))", "np.cbrt({x} * {x} + 1)", "np.hypot({x}, 1.0)", "np.sinc({x})",
    "np.power({x}, 3)", "np.remainder({x}, 0.7313)", "({x} * 7.313).astype(np.int64) * 0.25",
)  # fmt: skip
BINARY = (
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / ({y} * {y} + 1.0)", "np.where({x} > 0.3317, {x}, {y})",
    "np.arctan2({x}, {y} * {y} + 1)", "np.maximum({x}, {y} + 0.6111)", "np.minimum({x} - 0.5177, {y})",
    "np.where({y} < -0.1517, {x}, 0.0)", "np.logaddexp({x}, {y})",
    "{x} * np.logical_and({x} > 0.0571, {y} > 0.1571)", "np.hypot({x}, {y} + 7.0)", "(np.abs({x}) + 1.0) ** {y}",
)  # fmt: skip
KINDS = (
    *("unary", "unary", "binary", "binary", "binary", "view", "view", "view"),
    *("join", "index", "index", "reduce", "reduce", "contract", "matrix"),
)
MATRIX = (
    "np.linalg.inv({a})", "np.linalg.det({a})", "np.linalg.slogdet({a}).logabsdet", "np.linalg.cholesky({p})",
    "np.linalg.solve({a}, np.swapaxes({x}, -1, -2))", "np.linalg.solve({p}, np.swapaxes({x}, -1, -2)[..., :1])",
    "wg.linalg.solve_triangular(np.linalg.cholesky({p}), np.swapaxes({x}, -1, -2), lower=True)",
    "wg.linalg.solve_triangular({p}, np.swapaxes({x}, -1, -2), trans=1)",
)  # fmt: skip
"""Of a matrix {a} without symmetry and of a positive definite one {p}, both from a value {x}."""
REDUCTIONS = ("np.sum", "np.mean", "np.max", "np.min", "wg.logsumexp", "np.var", "np.prod")


COMPLEX_UNARY = (
    "np.conj({x})", "-{x}", "{x} * 1j", "np.exp(1j * np.real({x}))", "np.sin({x} * 0.1)", "np.cos({x} * 0.1)",
    "np.exp({x} * 0.1)", "np.sqrt({x} + 30.0)", "np.log({x} + 30.0)", "{x} ** 2", "np.square({x})", "{x} ** 3 * 0.1",
    "{x} / (1.0 + np.abs({x}) ** 2)", "np.real({x}) + 0j", "np.imag({x}) - 1j", "{x} * (0.5 - 0.25j)", "2.0 - {x}",
    "np.angle({x} + 30.0) * 1j", "np.reciprocal({x} + 30.0)", "np.tanh({x} * 0.1)", "np.sinh({x} * 0.1)", "{x} * 2",
    "{x}.astype(np.complex64)", "{x}.astype(np.complex128)", "np.where(np.isfinite({x}), {x}, 0.0)",
    "np.ones_like({x})", "wg.stop_gradient({x})", "(np.real({x}) > 0.1717) * {x}", "({x} + 30.0) ** (0.5 + 0.25j)",
)  # fmt: skip
"""`1j * y` would be no number of NumPy's where y is a NumPy float: Python multiplies it."""
COMPLEX_BINARY = (
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "np.conj({x}) * {y}", "{x} / (np.abs({y}) + 1.0)", "{x} / ({y} + 30.0)",
    "np.where(np.real({x}) > 0.3317, {x}, {y})", "np.where(np.imag({y}) < -0.1517, {x}, 0.0)", "np.real({x}) * {y}",
    "np.abs({x} + 3.0) + 1j * np.real({y})",
)  # fmt: skip


class Draft:
    """A program while it is drawn: its lines, and its values for the inputs that were drawn with it."""

    kind = "f"
    unary_forms: tuple[str, ...] = UNARY
    binary_forms: tuple[str, ...] = BINARY
    reductions: tuple[str, ...] = REDUCTIONS
    orders: tuple[str, ...] = (
        "np.cumsum({x}, {axis})",
        "np.sort({x}, {axis})",
        "np.take_along_axis({x}, {best}, {axis})",
    )
    shrunk = "np.tanh({text} * 0.01)"

    def __init__(self, pick: Pick, count: int):
        self.pick = pick
        self.lines: list[str] = []
        self.size_class = ("tiny", "medium", "medium", "batch", "batch", "long", "empty")[pick(7)]
        rng = np.random.default_rng(pick(1 << 16))
        shapes = [self.shape(1 + pick(3)) for _ in range(2)] + [self.shape(pick(2))]
        self.inputs = [self.numbers(rng, s) for s in shapes] + [rng.integers(-3, 3, size=1 + pick(6)) for _ in range(1)]
        self.names = ["x", "y", "z", "i"]
        self.values: dict[str, Any] = dict(zip(self.names, self.inputs, strict=True))
        self.context = dict(self.values) | {"np": np, "wg": wg, "at": At}
        for _ in range(count):
            self.extend()
        floats = [n for n in self.values if n.startswith("v")] or ["x"]
        outs = {floats[-1]} | {floats[pick(len(floats))] for _ in range(pick(3))}
        self.outputs = sorted(outs)
        self.source = "\n".join(
            [
                f"def f({', '.join(self.names)}):",
                *[f"    {line}" for line in self.lines],
                f"    return ({', '.join(self.outputs)},)",
            ]
        )

    def numbers(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """An input."""
        return rng.normal(size=shape)

    def shape(self, rank: int) -> tuple[int, ...]:
        extents = EXTENTS[self.size_class]
        shape = [extents[self.pick(len(extents))] for _ in range(rank)]
        if self.size_class == "batch" and rank:
            shape = [extents[self.pick(3)], *[extents[3 + self.pick(4)] for _ in range(rank - 1)]]
        while np.prod(shape) > LARGEST // 4:
            shape[int(np.argmax(shape))] //= 2
        return tuple(shape)

    def choose(self, options: Sequence[Any]) -> Any:
        return options[self.pick(len(options))]

    def name(self) -> str:
        """The name of a value, preferably a late one."""
        floats = [n for n in self.values if n != "i"]
        back = min(self.pick(len(floats)), self.pick(len(floats)))
        return floats[-1 - back]

    def extend(self) -> None:
        """Add a line, or none if the drawn operation does not fit."""
        kind = self.choose(KINDS)
        text = getattr(self, kind)()
        if text is None:
            return
        with np.errstate(all="ignore"):
            value = np.asarray(eval(text, dict(self.context)))
            if value.size > LARGEST or value.ndim > 5 or value.dtype.kind != self.kind:
                return
            if value.size and not np.all(np.abs(value) <= 20):
                text = self.shrunk.format(text=text)
                value = np.asarray(eval(text, dict(self.context)))
        if not np.all(np.isfinite(value)):
            return
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values[name] = self.context[name] = value

    def unary(self) -> str:
        return self.choose(self.unary_forms).format(x=self.name())

    def fitting(self, shape: tuple[int, ...]) -> str:
        """A value that broadcasts against a shape, as it is or cut to size."""
        name = self.name()
        other = self.values[name].shape
        try:
            np.broadcast_shapes(shape, other)
        except ValueError:
            if not self.values[name].size:
                return "0.25"
            cut = [
                f":{min(n, m)}" if min(n, m) == m else "0:1" for n, m in zip(other[::-1], shape[::-1], strict=False)
            ][::-1]
            extra = len(other) - len(cut)
            name = f"{name}[{', '.join([*['0'] * extra, *cut])}]"
        return name

    def binary(self) -> str:
        x = self.name()
        y = self.fitting(self.values[x].shape)
        if self.pick(8) == 0:
            y = self.choose(
                (
                    "0.75",
                    "2",
                    "np.float64(0.3)",
                    "np.float32(1.5)",
                    f"np.linspace(-1, 1, {self.values[x].shape[-1]})" if self.values[x].ndim else "1",
                )
            )
        return (
            self.choose(self.binary_forms).format(x=x, y=y)
            if self.pick(2)
            else self.choose(self.binary_forms).format(x=x if y[0] in "0123456789n" else y, y=x)
        )

    def slice_of(self, n: int) -> str:
        step = self.choose((1, 1, 1, 2, 3, -1, -1, -2))
        start, stop = self.pick(n + 1), self.pick(n + 1)
        if (start > stop) == (step > 0):
            start, stop = stop, start
        given = lambda v: "" if self.pick(3) == 0 else str(v)
        return f"{given(start)}:{given(stop)}:{step}"

    def key(self, shape: tuple[int, ...], arrays: bool) -> str:
        """A key of numbers, slices, new axes, an ellipsis, and of index arrays or a mask if allowed."""
        parts = []
        for n in shape:
            which = self.pick(8)
            if which < 2 and n:
                parts.append(str(self.pick(2 * n) - n))
            elif which == 2:
                parts.append(":")
            elif arrays and which in (3, 4) and n >= 3:
                parts.append(
                    self.choose(("i", "i", "i[0]", f"np.array({[self.pick(n) for _ in range(1 + self.pick(4))]})"))
                )
            else:
                parts.append(self.slice_of(n))
        if "i" in parts:
            parts = ["i" if p.startswith("np.array") else p for p in parts]
        if sum(p.startswith("np.array") for p in parts) > 1:
            parts = [":" if p.startswith("np.array") else p for p in parts]
        if parts and self.pick(4) == 0:
            parts[-1] = "..."
        if not any(p[0] in "in" for p in parts) and self.pick(3) == 0:
            parts.insert(self.pick(len(parts) + 1), "None")
        return ", ".join(parts) if parts else "..."

    def view(self) -> str | None:
        x = self.name()
        which = self.pick(13)
        text = self.whole_view(x, which)
        if text is None and self.values[x].ndim:
            text = self.axis_view(x, which, self.pick(self.values[x].ndim))
        return text or f"{x}[{self.key(self.values[x].shape, arrays=False)}]"

    def whole_view(self, x: str, which: int) -> str | None:
        """A view that needs no axis."""
        shape, rank = self.values[x].shape, self.values[x].ndim
        if which == 0:
            axes = list(range(rank))
            order = [axes.pop(self.pick(len(axes))) for _ in range(rank)]
            return f"np.transpose({x}, {tuple(order)})"
        if which == 1:
            return f"np.reshape({x}, {self.factors(self.values[x].size)})"
        if which == 2:
            lead = [1 + self.pick(4) for _ in range(self.pick(3))]
            return f"np.broadcast_to({x}, {(*lead, *[n if n != 1 else 1 + self.pick(5) for n in shape])})"
        if which == 3:
            return f"np.expand_dims({x}, {self.pick(rank + 1)})"
        return None

    def axis_view(self, x: str, which: int, axis: int) -> str | None:
        """A view along an axis."""
        shape, rank = self.values[x].shape, self.values[x].ndim
        if which == 4:
            return f"np.flip({x}, {axis})"
        if which == 5:
            return f"np.roll({self.choose(('', '-', '0.25 * '))}{x}, {self.pick(9) - 4}, axis={axis})"
        if which == 6 and rank >= 2:
            return f"np.diagonal({x}, {self.pick(5) - 2}, {axis}, {(axis + 1) % rank})"
        if which == 7:
            return f"np.pad({x}, {[(self.pick(3), self.pick(3)) for _ in range(rank)]})"
        if which == 8 and rank >= 2:
            return f"np.{self.choose(('tril', 'triu'))}({x}, {self.pick(5) - 2})"
        if which == 9:
            return f"np.split({x}, [{self.pick(shape[axis] + 1)}], axis={axis})[{self.pick(2)}]"
        return f"np.repeat({x}, {self.pick(3)}, axis={axis})" if which == 10 else None

    def factors(self, size: int) -> tuple[int, ...]:
        """A shape for so many elements."""
        if not size:
            return self.choose(((0,), (0, 3), (2, 0, 1)))
        shape = []
        for _ in range(self.pick(4)):
            divisors = [d for d in (1, 2, 3, 4, 5, 7, 8, 10, 13, 16) if size % d == 0]
            shape.append(self.choose(divisors))
            size //= shape[-1]
        shape.insert(self.pick(len(shape) + 1), size)
        return tuple(shape)

    def join(self) -> str | None:
        x = self.name()
        shape = self.values[x].shape
        same = [n for n, v in self.values.items() if v.shape == shape and n != "i"]
        others = [self.choose(same) for _ in range(self.pick(3))]
        pieces = ", ".join([x, *others] if self.pick(2) else [*others, x])
        if self.pick(2) or not shape:
            return f"np.stack([{pieces}], axis={self.pick(len(shape) + 1)})"
        axis = self.pick(len(shape))
        if self.pick(2):
            cut = f"{x}[{', '.join([*[':'] * axis, self.slice_of(shape[axis])])}]"
            pieces = f"{cut}, {pieces}"
        return f"np.concatenate([{pieces}], axis={axis})"

    def index(self) -> str | None:
        x = self.name()
        shape = self.values[x].shape
        which = self.pick(10)
        if which == 9:
            n = 1 + self.pick(4)
            return f"wg.take(np.arange({n}) * 0.25 - 0.3, i % {n}) * np.sum({x}, keepdims=True).reshape(-1)[:1]"
        key = self.key(shape, arrays=True)
        if which < 2:
            return f"{x}[{key}]"
        if which == 2 and shape and 0 not in shape and self.kind == "f":
            axis = self.pick(len(shape))
            return f"np.take_along_axis({x}, np.argsort({x}, axis={axis}), {axis})"
        if which == 3 and shape and 0 not in shape:
            axis = self.pick(len(shape))
            return f"np.take({x}, {[self.pick(shape[axis]) for _ in range(3)]}, axis={axis})"
        if which >= 6 and shape and 0 not in shape:
            axis = self.pick(len(shape))
            best = f"np.expand_dims(np.argmax({x}, axis={axis}), {axis})"
            return self.choose(self.orders).format(x=x, axis=axis, best=best)
        there = np.asarray(eval(f"{x}[{key}]", dict(self.context)))
        v = self.fitting(there.shape)
        made = np.asarray(eval(v, dict(self.context)))
        v = v if made.ndim <= there.ndim and np.broadcast_shapes(made.shape, there.shape) == there.shape else "1.25"
        return f"at({x})[{key}].{'add' if which == 4 else 'set'}({v})"

    def reduce(self) -> str | None:
        x = self.name()
        shape = self.values[x].shape
        name = self.choose(self.reductions)
        axes = tuple([k for k in range(len(shape)) if self.pick(2)])
        axis = None if self.pick(4) == 0 else axes
        if 0 in shape and name != "np.sum":
            return None
        return f"{name}({x}, axis={axis}, keepdims={bool(self.pick(2))})"

    def contract(self) -> str | None:
        x, y = self.name(), self.name()
        a, b = self.values[x].shape, self.values[y].shape
        if len(a) == 2 and len(b) == 2:
            for ta, tb in ((0, 0), (0, 1), (1, 0), (1, 1)):
                if a[1 - ta] == b[tb]:
                    return f"{x}{'.T' * ta} @ {y}{'.T' * tb}"
        if a and b and a[-1] == b[0]:
            return f"np.tensordot({x}, {y}, 1)"
        if len(a) >= 2 and a == b:
            return self.choose(
                (
                    f"{x} @ np.swapaxes({y}, -1, -2)",
                    f"np.einsum('...i,...i->...', {x}, {y})",
                    f"np.swapaxes({x}, -1, -2) @ {y}",
                )
            )
        if len(a) == 3 and 0 not in a:
            return self.choose(
                (
                    f"np.einsum('abc,abd->acd', {x}, {x})",
                    f"np.einsum('abc,c->ba', {x}, {x}[0, 0])",
                    f"np.einsum('abc->ca', {x})",
                )
            )
        return f"np.outer({x}, {y})" if np.prod(a) * np.prod(b) <= LARGEST else None

    def matrix(self) -> str | None:
        x = self.name()
        shape = self.values[x].shape
        if len(shape) < 2 or 0 in shape or shape[-1] > 12:
            return None
        y = f"np.tanh(0.1 * {x})"
        p = f"(np.swapaxes({y}, -1, -2) @ {y} / {shape[-2]} + 1.5 * np.eye({shape[-1]}, dtype={x}.dtype))"
        a = f"({p} + 0.3 * np.roll(np.eye({shape[-1]}, dtype={x}.dtype), 1, 0))"
        return self.choose(MATRIX).format(x=x, a=a, p=p)

    def function(self) -> Callable[..., tuple]:
        space: dict[str, Any] = {"np": np, "wg": wg, "at": At}
        exec(self.source, space)
        return space["f"]


class ComplexDraft(Draft):
    """A program of complex numbers."""

    kind = "c"
    unary_forms, binary_forms, reductions = COMPLEX_UNARY, COMPLEX_BINARY, ("np.sum", "np.mean", "np.prod")
    orders = ("np.cumsum({x}, {axis})",)
    shrunk = "({text}) / (100.0 + np.abs({text}))"

    def numbers(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """An input."""
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def loss(f: Callable) -> Callable:
    """A number that depends on all elements of all results, on each one differently."""

    def total(*args: Any) -> Any:
        terms = [(y * np.linspace(0.5, 1.5, y.size, dtype=y.dtype).reshape(y.shape)).sum() for y in f(*args)]
        return np.real(sum(terms[1:], terms[0]))

    return total


def assert_near(found: Any, expected: Any, tolerance: float, what: str) -> None:
    """Equal in shape and dtype, and in numbers up to a part of the largest."""
    assert len(found) == len(expected)
    for y, z in zip(found, expected, strict=True):
        assert (np.shape(y), y.dtype) == (np.shape(z), z.dtype), what
        size = max(np.max(np.abs(z), initial=0.0), 1.0)
        np.testing.assert_allclose(y, z, rtol=tolerance, atol=tolerance * size, err_msg=what)
