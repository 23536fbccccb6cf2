"""The vector functions beside mpmath, in units in the last place, and beside NumPy, in time per element."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import mpmath
import numpy as np

from benchmarks.machine import machine
from benchmarks.tables import BEGIN, END, Table, markdown
from benchmarks.timing import best_of_rounds
from wengert.compiler.functions.vector_functions import FUNCTIONS, call, definitions
from wengert.compiler.machine.target import Loaded, vector_bytes
from wengert.compiler.machine.translation import object_code
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR, Type

DTYPES: dict[str, np.dtype] = {"f64": np.dtype(np.float64), "f32": np.dtype(np.float32)}
NATIVE = {kind: vector_bytes() // dtype.itemsize for kind, dtype in DTYPES.items()}
POINTS = 20_000
"""Arguments for each function and precision, about."""
ELEMENTS = 100_000
INFINITY = float("inf")
LN2 = float(np.log(2.0))


class Kernel:
    """A loop that applies one vector function to arrays."""

    def __init__(self, name: str, kind: str, lanes: int):
        self.dtype, self.lanes = DTYPES[kind], lanes
        arity = FUNCTIONS[name].__code__.co_argcount
        type, code = Type(kind, lanes), Code()
        count = code.variable(I64, 0)
        loop, end = code.label("loop"), code.label("end")
        code.jump(loop)
        code.begin(loop)
        i = code.load(count, I64)
        xs = [
            code.load(code.offset(Lanes(code, f"%x{j}", PTR), i, type), type, self.dtype.itemsize) for j in range(arity)
        ]
        code.store(call(name, *xs), code.offset(Lanes(code, "%out", PTR), i, type), self.dtype.itemsize)
        code.store(i + lanes, count)
        code.branch(i + lanes < Lanes(code, "%n", I64), loop, end)
        code.begin(end)
        texts, declarations = definitions(code.calls)
        parameters = ", ".join([*(f"ptr noalias %x{j}" for j in range(arity)), "ptr noalias %out", "i64 %n"])
        body = [f"define void @apply({parameters}) {{", *code.hoisted, *code.lines, "  ret void", "}"]
        self.loaded = Loaded(object_code("\n".join([*declarations.values(), *texts, *body])), {})
        self.native = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (arity + 1), ctypes.c_int64)(
            self.loaded.address("apply")
        )

    def __call__(self, *xs: np.ndarray) -> np.ndarray:
        size = xs[0].size
        padded = size + -size % self.lanes
        full = [np.concatenate([x.astype(self.dtype), np.ones(padded - size, self.dtype)]) for x in xs]
        out = np.empty(padded, self.dtype)
        self.native(*[x.ctypes.data for x in full], out.ctypes.data, padded)
        return out[:size]

    def on(self, out: np.ndarray, *xs: np.ndarray) -> Callable[[], None]:
        """A call with nothing around it, on arrays of a multiple of the lanes."""
        addresses = [*(x.ctypes.data for x in xs), out.ctypes.data]
        return lambda: self.native(*addresses, out.size)


kernel = cache(Kernel)


class Function(NamedTuple):
    """A function by mpmath and, where it has it, by NumPy.

    Where it bends, is defined, and has boundaries to look at closely.
    """

    exact: Callable
    numpy: Callable | None = None
    bend: tuple[float, float] = (-5.0, 5.0)
    near: tuple[float, ...] = ()
    domain: tuple[float, float] = (-INFINITY, INFINITY)
    bits: int = 220
    """Precision of the exact value.

    Large where the argument is reduced by multiples of pi, or 1 is added to what is tiny.
    """


def _erfc(x: mpmath.mpf) -> mpmath.mpf:
    if abs(x) > 1000:
        return mpmath.mpf(2) if x < 0 else mpmath.ldexp(1, -5000)
    return mpmath.erfc(x)


def _lgamma(x: mpmath.mpf) -> mpmath.mpf:
    if x > 0:
        return mpmath.re(mpmath.loggamma(x))
    return mpmath.log(mpmath.pi / abs(x * mpmath.sin(mpmath.pi * x))) - mpmath.re(mpmath.loggamma(-x))


def _cbrt(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


HALVES = tuple(0.5 * LN2 * k for k in (-3, -1, 1, 3))
OVERFLOWS = (709.782712893384, 88.72283905206835)
UNDERFLOWS = (-708.3964185322641, -745.1332191019412, -87.33654475055310, -103.9720770839918)
ROOTS_OF_TWO = (0.5**0.5, 2.0**0.5, 1.0)
TURNS = tuple(float(mpmath.pi * k / 4) for k in (*range(1, 9), 33, 1000, 30001, 2**18 + 1, 2**28 + 1, 2**38 + 1))
LIMITS = (2.0**15, 2.0**40)
SURVEYED = {
    "exp": Function(mpmath.exp, np.exp, near=(*HALVES, *OVERFLOWS, *UNDERFLOWS)),
    "exp2": Function(
        lambda x: mpmath.mpf(2) ** x, np.exp2, near=(0.5, -0.5, 1.5, 1024.0, 128.0, -1022.0, -1074.9, -126.0, -149.9)
    ),
    "expm1": Function(mpmath.expm1, np.expm1, near=(*HALVES, *OVERFLOWS, 0.0, 37.4, -37.4, 16.6, -17.3)),
    "log": Function(mpmath.log, np.log, (0.0, 4.0), ROOTS_OF_TWO, (0.0, INFINITY)),
    "log2": Function(
        lambda x: mpmath.log(x) / mpmath.ln2, np.log2, (0.0, 4.0), (*ROOTS_OF_TWO, 2.0, 8.0), (0.0, INFINITY)
    ),
    "log10": Function(mpmath.log10, np.log10, (0.0, 4.0), (*ROOTS_OF_TWO, 10.0, 1000.0), (0.0, INFINITY)),
    "log1p": Function(
        mpmath.log1p, np.log1p, (-1.0, 4.0), (-0.2928932, 0.4142136, 0.0, -1.0, 2.0**62, 2.0**33), (-1.0, INFINITY)
    ),
    "sin": Function(mpmath.sin, np.sin, (-20.0, 20.0), (*TURNS, *LIMITS), bits=1300),
    "cos": Function(mpmath.cos, np.cos, (-20.0, 20.0), (*TURNS, *LIMITS), bits=1300),
    "tan": Function(mpmath.tan, np.tan, (-20.0, 20.0), (*TURNS, *LIMITS), bits=1300),
    "arcsin": Function(mpmath.asin, np.arcsin, (-1.0, 1.0), (0.5, -0.5, 1.0, -1.0), (-1.0, 1.0)),
    "arccos": Function(mpmath.acos, np.arccos, (-1.0, 1.0), (0.5, -0.5, 0.0, 1.0, -1.0), (-1.0, 1.0)),
    "arctan": Function(mpmath.atan, np.arctan, near=(2.0**0.5 - 1.0, 1.0, 2.0**0.5 + 1.0, 2.0**80)),
    "arctan2": Function(mpmath.atan2, np.arctan2),
    "sinh": Function(mpmath.sinh, np.sinh, near=(*HALVES, 0.0, 710.4758600739439, 89.41598629223294)),
    "cosh": Function(mpmath.cosh, np.cosh, near=(*HALVES, 710.4758600739439, 89.41598629223294)),
    "tanh": Function(mpmath.tanh, np.tanh, near=(LN2 / 4, -LN2 / 4, 0.0, 18.7, 19.06, 8.66, 9.01)),
    "arcsinh": Function(mpmath.asinh, np.arcsinh, near=(0.0, 0.3535534, 1.0606601, 2.0**62, 2.0**33)),
    "arccosh": Function(mpmath.acosh, np.arccosh, (1.0, 5.0), (1.0, 1.06066, 1.25, 2.0**62, 2.0**33), (1.0, INFINITY)),
    "arctanh": Function(mpmath.atanh, np.arctanh, (-1.0, 1.0), (0.0, 0.1715729, -1.0 / 3.0, 1.0, -1.0), (-1.0, 1.0)),
    "power": Function(mpmath.power, np.power),
    "cbrt": Function(_cbrt, np.cbrt, near=(1.0, 2.0, 4.0, 8.0, *ROOTS_OF_TWO, -(8.0**0.5))),
    "hypot": Function(mpmath.hypot, np.hypot),
    "erf": Function(mpmath.erf, None, (-6.5, 6.5), (0.5, 0.8, 3.0, 6.0, -0.5)),
    "erfc": Function(_erfc, None, (-6.5, 28.0), (0.5, -0.5, 3.0, 9.19, 10.054, 26.543, 27.226, 28.0)),
    "ndtr": Function(
        lambda x: _erfc(-x / mpmath.sqrt(2)) / 2, None, (-39.0, 9.0), (0.0, 0.7, -0.7, -12.99, -14.2, -37.5, -38.4)
    ),
    "lgamma": Function(
        _lgamma, None, (-8.0, 8.0), (1.0, 2.0, 2.5, 3.0, 0.5, -0.25, -1.5, -2.45702473822, -2.74768264673, 2.56e305)
    ),
    "digamma": Function(
        lambda x: mpmath.psi(0, x), None, (-8.0, 8.0), (1.0, 1.4616321449683623, 2.0, 0.5, -0.5040830082644554)
    ),
    "sigmoid": Function(lambda x: 1 / (1 + mpmath.exp(-x)), None, near=(*HALVES, *UNDERFLOWS, 36.7, 16.6)),
    "softplus": Function(
        lambda x: mpmath.log1p(mpmath.exp(x)), None, near=(*HALVES, *UNDERFLOWS, -0.8813736, 0.8813736), bits=1400
    ),
    "logaddexp": Function(lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)), np.logaddexp, bits=1400),
}
PAIRS = ("arctan2", "power", "hypot", "logaddexp")


def spread(rng: np.random.Generator, dtype: np.dtype, size: int) -> np.ndarray:
    """Of either sign, over all exponents, subnormal ones too."""
    info = np.finfo(dtype)
    return np.exp2(rng.uniform(info.minexp - info.nmant, info.maxexp, size)) * rng.choice([-1.0, 1.0], size)


@np.errstate(all="ignore")
def arguments(name: str, dtype: np.dtype, count: int = POINTS) -> tuple[np.ndarray, ...]:
    """A quarter over all exponents, half where the function bends or comes to its ends, a quarter close to boundaries
    or next to them.
    """
    rng, f = np.random.default_rng(len(name)), SURVEYED[name]
    if name in PAIRS:
        return pairs(name, dtype, count, rng)
    low, high = f.domain
    quarter = count // 4
    parts = [spread(rng, dtype, quarter), rng.uniform(*f.bend, quarter), rng.uniform(-110.0, 95.0, quarter // 2)]
    parts.append(rng.uniform(-750.0, 715.0, quarter // 2))
    each = max(quarter // max(len(f.near), 1), 10)
    parts += [p + max(abs(p), 0.1) * rng.normal(size=each) * 10.0 ** rng.uniform(-11.0, -1.0, each) for p in f.near]
    beside = [dtype.type(p) * (1 + dtype.type(np.finfo(dtype).eps) * np.arange(-8, 9, dtype=dtype)) for p in f.near]
    x = np.concatenate([np.concatenate(parts).astype(dtype), *beside])
    x = np.where((x >= low) & (x <= high), x, np.abs(x))
    x = np.where(x > high, 1 / x, x)
    keep = np.isfinite(x) & (x >= low) & (x <= high) & (x != 0)
    if name in ("lgamma", "digamma"):
        keep &= (x > 0) | (x != np.floor(x))
    return (x[keep],)


@np.errstate(all="ignore")
def pairs(name: str, dtype: np.dtype, count: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Of arguments that give results over the whole range.

    Those of logaddexp have one sign, or one is zero: elsewhere the sum cancels.
    """
    n = count // 3
    if name == "logaddexp":
        x = np.concatenate([rng.uniform(0.0, 50.0, n), rng.uniform(0.0, 2.0, n), np.zeros(n)])
        y = np.concatenate([rng.uniform(-50.0, 50.0, n), rng.uniform(-2.0, 2.0, n), rng.uniform(-750.0, 0.0, n)])
    elif name == "power":
        near_one = 1.0 + rng.uniform(-0.3, 0.42, 2 * n) * 10.0 ** rng.uniform(-5.0, 0.0, 2 * n)
        x = np.concatenate([np.abs(spread(rng, dtype, n)), near_one]).astype(dtype).astype(np.float64)
        y = np.log(2.0) * rng.uniform(np.finfo(dtype).minexp - 40, np.finfo(dtype).maxexp, x.size) / np.log(x)
    else:
        x = np.concatenate([spread(rng, dtype, 2 * n), rng.normal(size=n)])
        y = np.concatenate([x[:n] * np.exp(rng.uniform(-4.0, 4.0, n)), spread(rng, dtype, n), rng.normal(size=n)])
    x, y = x.astype(dtype), y.astype(dtype)
    keep = np.isfinite(x) & np.isfinite(y) & ((x != 0) & (y != 0) | (name == "logaddexp"))
    return x[keep], y[keep]


def exact_values(name: str, xs: Sequence[np.ndarray]) -> list[mpmath.mpf]:
    with mpmath.workprec(SURVEYED[name].bits):
        return [
            SURVEYED[name].exact(*map(mpmath.mpf, values)) for values in zip(*[x.tolist() for x in xs], strict=True)
        ]


def errors(got: np.ndarray, exact: Sequence[mpmath.mpf]) -> np.ndarray:
    """In ulp of the exact values.

    An infinite result counts as the first power of two that is too large, and so does what exceeds it.
    """
    info = np.finfo(got.dtype)
    bound = mpmath.ldexp(1, info.maxexp)
    found = np.empty(got.size)
    with mpmath.workprec(200):
        for i, (value, true) in enumerate(zip(got.tolist(), exact, strict=True)):
            if np.isinf(value):
                value, true = mpmath.sign(value) * bound, mpmath.sign(true) * min(abs(true), bound)
            exponent = max(int(mpmath.frexp(true)[1]) - 1, info.minexp) if true else info.minexp
            found[i] = INFINITY if value != value else float(abs(value - true) / mpmath.ldexp(1, exponent - info.nmant))
    return found


def survey(name: str, kind: str, count: int = POINTS) -> list[str]:
    """One row: the function, its worst error, where it is, the points, and the time of an element by itself and by
    NumPy.
    """
    xs = arguments(name, DTYPES[kind], count)
    found = errors(kernel(name, kind, NATIVE[kind])(*xs), exact_values(name, xs))
    worst = int(np.argmax(found))
    argument = ", ".join(f"{x[worst]!s}" for x in xs)
    mine, numpys = times(name, kind)
    return [name, str(DTYPES[kind]), f"{found[worst]:.3f}", argument, str(found.size), mine, numpys]


def times(name: str, kind: str) -> tuple[str, str]:
    """Nanoseconds for an element, of arguments where the function bends, on one core."""
    dtype, f, rng = DTYPES[kind], SURVEYED[name], np.random.default_rng(0)
    positive = name in ("power", "lgamma", "digamma")
    xs = [
        np.abs(x) if positive else x
        for x in (rng.uniform(*f.bend, ELEMENTS).astype(dtype) for _ in range(1 + (name in PAIRS)))
    ]
    out = np.empty(ELEMENTS, dtype)
    runs: dict[str, Callable] = {"wengert": kernel(name, kind, NATIVE[kind]).on(out, *xs)}
    if f.numpy is not None:
        runs["numpy"] = lambda: f.numpy(*xs, out=out)  # type: ignore[misc]  # None where NumPy has none, seen above
    seconds = best_of_rounds(runs, 3, block=0.02, rest=0.0)
    return tuple(f"{seconds[s] / ELEMENTS * 1e9:.2f}" if s in seconds else "" for s in ("wengert", "numpy"))  # type: ignore[return-value]  # two of them


def accuracy_table(count: int = POINTS) -> Table:
    columns = ["function", "precision", "worst ulp", "at", "points", "ns", "NumPy ns"]
    return Table(
        "Accuracy and time of the vector functions",
        columns,
        [survey(name, kind, count) for name in SURVEYED for kind in DTYPES],
    )


def write_page(path: Path, table: Table) -> None:
    """Write the table between the two marks of a page; what stands around them stays."""
    before, rest = path.read_text().split(BEGIN)
    _, after = rest.split(END)
    on = machine()
    conditions = (
        f"Measured on {on['processor']}, {on['system']} {on['architecture']}, one core, with NumPy {np.__version__}; "
        f"times are of {ELEMENTS // 1000} 000 elements in cache, where the function bends."
    )
    path.write_text(f"{before}{BEGIN}\n\n{conditions}\n\n{markdown(table)}\n{END}{after}")
