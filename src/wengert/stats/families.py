"""Distributions from a few formulas in standard form: `logpdf(x, *shapes)`, and others where they are known.

From these come `loc` and `scale`, the support, densities and their logarithms, both tails, quantiles and draws, all in
differentiable operations. Outside the support a density is zero and so is every derivative; invalid parameters give
NaN, as in SciPy.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.primitive import SHAPED, as_operand
from wengert.ops.elementwise.arithmetic import sqrt
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.exponential import exp, log, log1p
from wengert.ops.elementwise.predicates import floor, logical_and, logical_or
from wengert.ops.samples.draws import counts
from wengert.random.draw import Draw, Size
from wengert.random.generator import default_rng
from wengert.stats.frozen import Distribution

Formula = Callable[..., Any]


def without_warnings(function: Callable) -> Callable:
    """A function without warnings about elements that are replaced afterwards."""
    signature = inspect.signature(function)

    def run(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    run.__signature__ = signature  # type: ignore[attr-defined]  # what help() shows
    run.__doc__, run.__name__ = function.__doc__, function.__name__
    return run


class Family(Distribution):
    """A distribution by name: what continuous and discrete ones share.

    `shapes` are its parameters; `valid` says which of them are allowed; `support` are its ends, two numbers or
    functions of the shapes, which belong to it if it is `closed`; `inside` is a point between them, at which formulas
    are computed for elements outside.
    """

    def __init__(
        self,
        name: str,
        shapes: str,
        logp: Formula,
        *,
        support: tuple[Any, Any] = (-math.inf, math.inf),
        inside: Any = 1.0,
        closed: bool = True,
        valid: Formula | None = None,
        cdf: Formula | None = None,
        sf: Formula | None = None,
        logcdf: Formula | None = None,
        logsf: Formula | None = None,
        ppf: Formula | None = None,
        isf: Formula | None = None,
        mean: Formula | None = None,
        var: Formula | None = None,
        entropy: Formula | None = None,
        rvs: Formula | None = None,
    ):
        self.name, self.shapes, self.valid = name, tuple(shapes.split()), valid
        self.support, self.inside, self.closed = support, inside, closed
        self.known: dict[str, Formula | None] = {
            "logp": logp, "cdf": cdf, "sf": sf, "logcdf": logcdf, "logsf": logsf, "ppf": ppf, "isf": isf,
            "mean": mean, "var": var, "entropy": entropy, "rvs": rvs,
        }  # fmt: skip

    def formula(self, what: str) -> Formula:
        """A formula of the distribution; an error where it has none."""
        found = self.known[what]
        if found is None:
            raise user_error(NotImplementedError, f"{self.name}.{what} is not known to Wengert")
        return found

    def split_parameters(self, args: tuple, keywords: dict[str, Any], after: tuple[str, ...]) -> tuple[list, list]:
        """The shapes and the parameters that follow them, given by position or by name."""
        names = (*self.shapes, *after)
        if len(args) > len(names) or not set(keywords) <= set(names[len(args) :]):
            raise user_error(TypeError, f"{self.name} has the parameters {', '.join(names)}")
        given = dict(zip(names, args, strict=False)) | keywords
        missing = [n for n in self.shapes if n not in given]
        if missing:
            raise user_error(TypeError, f"{self.name} needs {', '.join(missing)}")
        found = [as_value(given[n]) for n in self.shapes]
        return found, [as_value(given.get(n, 0.0 if n == "loc" else 1.0)) for n in after]

    def ends(self, shapes: list) -> tuple[Any, Any]:
        """The ends of the support."""
        low, high = [end(*shapes) if callable(end) else end for end in self.support]
        return low, high

    def point(self, shapes: list) -> Any:
        """A point inside the support."""
        return self.inside(*shapes) if callable(self.inside) else self.inside

    def mark_invalid(self, out: Any, shapes: list, *positive: Any) -> Any:
        """The result, and NaN where the parameters are invalid."""
        good = [p > 0 for p in positive if not (isinstance(p, float) and p > 0)]
        if self.valid is not None:
            good.append(self.valid(*shapes))
        return where(all_of(good), out, math.nan) if good else out

    def draw(self, shapes: list, scaling: list, size: Size, random_state: Any) -> Any:
        """A draw in standard form."""
        draw = Draw(default_rng(random_state).numpy, (*shapes, *scaling), size)
        return self.formula("rvs")(draw, *shapes)

    def __repr__(self) -> str:
        return f"<distribution {self.name}({', '.join(self.shapes)})>"


def as_value(x: Any) -> Any:
    """Lists as arrays; Python's numbers stay, and take the precision of what they meet."""
    return float(x) if isinstance(x, bool | int | float) else as_operand(x)


def common_precision(*args: Any) -> np.dtype:
    """The precision of the floating-point arrays among the arguments."""
    floats = [a.dtype for a in args if isinstance(a, SHAPED) and a.dtype.kind == "f"]
    return np.result_type(*floats) if floats else np.dtype(float)


def match_precision(numbers: list, *args: Any) -> list:
    """Python's numbers in the precision of the arrays among the arguments, for functions of these numbers alone."""
    dtype = common_precision(*args)
    return [dtype.type(n) if n.__class__ is float else n for n in numbers]


def all_of(conditions: list) -> Any:
    """Whether all conditions hold, element by element."""
    total = conditions[0]
    for condition in conditions[1:]:
        total = logical_and(total, condition)
    return total


class ContinuousFamily(Family):
    """A distribution with a density, of which loc and scale make others.

    >>> from wengert.stats import norm
    >>> norm.cdf([0.0, 1.0], loc=1.0)
    array([0.15865525, 0.5       ])
    """

    def _standard(self, x: Any, args: tuple, keywords: dict[str, Any]) -> tuple:
        """x in standard form and moved inside the support, which x were below it and above it, shapes and scale."""
        shapes, (loc, scale) = self.split_parameters(args, keywords, ("loc", "scale"))
        plain = loc.__class__ is float and loc == 0.0 and scale.__class__ is float and scale == 1.0
        x = as_value(x)
        x, *shapes = match_precision([x, *shapes], x, *shapes, loc, scale)
        z = x if plain else (x - loc) / scale
        low, high = self.ends(shapes)
        bounded = [not (isinstance(end, float) and math.isinf(end)) for end in (low, high)]
        below = (z < low if self.closed else z <= low) if bounded[0] else None
        above = (z > high if self.closed else z >= high) if bounded[1] else None
        outside = [side for side in (below, above) if side is not None]
        if outside:
            z = where(logical_or(*outside) if len(outside) == 2 else outside[0], self.point(shapes), z)
        return z, below, above, shapes, scale

    @without_warnings
    def logpdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """The logarithm of the density; minus infinity, with derivatives of zero, where the density is zero."""
        z, below, above, shapes, scale = self._standard(x, args, kwds)
        out = self.formula("logp")(z, *shapes)
        if scale.__class__ is not float or scale != 1.0:
            out = out - (math.log(scale) if scale.__class__ is float and scale > 0 else log(scale))
        empty = out == -math.inf
        for side in (below, above):
            empty = empty if side is None else logical_or(empty, side)
        return self.mark_invalid(where(empty, -math.inf, out), shapes, scale)

    def pdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """The density."""
        return exp(self.logpdf(x, *args, **kwds))

    @without_warnings
    def _tail(self, ends: tuple[float, float], formula: Formula, x: Any, args: tuple, keywords: dict[str, Any]) -> Any:
        z, below, above, shapes, scale = self._standard(x, args, keywords)
        out = formula(z, *shapes)
        out = out if below is None else where(below, ends[0], out)
        return self.mark_invalid(out if above is None else where(above, ends[1], out), shapes, scale)

    def cdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """The probability of at most x."""
        return self._tail((0.0, 1.0), self.formula("cdf"), x, args, kwds)

    def sf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """The probability of more than x, accurate where it is small."""
        return self._tail((1.0, 0.0), self.formula("sf"), x, args, kwds)

    def logcdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """The logarithm of cdf."""
        return self._tail((-math.inf, 0.0), self.known["logcdf"] or self._logarithm("cdf", "sf"), x, args, kwds)

    def logsf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """The logarithm of sf."""
        return self._tail((0.0, -math.inf), self.known["logsf"] or self._logarithm("sf", "cdf"), x, args, kwds)

    def _logarithm(self, of: str, other: str) -> Formula:
        """The logarithm of one tail, by the other one where that is small, so that it is accurate everywhere."""
        one, rest = self.formula(of), self.formula(other)

        def formula(z: Any, *shapes: Any) -> Any:
            small, large = rest(z, *shapes), one(z, *shapes)
            near = small < 0.5
            return where(near, log1p(-where(near, small, 0.0)), safe_log(where(near, 1.0, large)))

        return formula

    @without_warnings
    def _quantile(self, what: str, q: Any, args: tuple, keywords: dict[str, Any]) -> Any:
        shapes, (loc, scale) = self.split_parameters(args, keywords, ("loc", "scale"))
        q = as_value(q)
        shapes = match_precision(shapes, q, *shapes, loc, scale)
        formula = self.known[what]
        if formula is None:
            other = self.formula("isf" if what == "ppf" else "ppf")
            formula = lambda q, *shapes: other(1.0 - q, *shapes)
        good = logical_and(q >= 0.0, q <= 1.0)
        out = loc + scale * formula(where(good, q, 0.5), *shapes)
        return self.mark_invalid(where(good, out, math.nan), shapes, scale)

    def ppf(self, q: Any, *args: Any, **kwds: Any) -> Any:
        """The quantile: where cdf is q."""
        return self._quantile("ppf", q, args, kwds)

    def isf(self, q: Any, *args: Any, **kwds: Any) -> Any:
        """Where sf is q."""
        return self._quantile("isf", q, args, kwds)

    @without_warnings
    def mean(self, *args: Any, **kwds: Any) -> Any:
        """The mean."""
        shapes, (loc, scale) = self.split_parameters(args, kwds, ("loc", "scale"))
        return self.mark_invalid(loc + scale * self.formula("mean")(*shapes), shapes, scale)

    @without_warnings
    def var(self, *args: Any, **kwds: Any) -> Any:
        """The variance."""
        shapes, (_, scale) = self.split_parameters(args, kwds, ("loc", "scale"))
        return self.mark_invalid(scale * scale * self.formula("var")(*shapes), shapes, scale)

    def std(self, *args: Any, **kwds: Any) -> Any:
        """The standard deviation."""
        return sqrt(self.var(*args, **kwds))

    @without_warnings
    def entropy(self, *args: Any, **kwds: Any) -> Any:
        """The differential entropy."""
        shapes, (_, scale) = self.split_parameters(args, kwds, ("loc", "scale"))
        return self.mark_invalid(self.formula("entropy")(*shapes) + log(scale), shapes, scale)

    def rvs(self, *args: Any, size: Size = None, random_state: Any = None, **kwds: Any) -> Any:
        """Draws, differentiable: `random_state` is a generator (`wg.random.default_rng`) or a seed.

        With no `size`, one for each element of the parameters.
        """
        shapes, (loc, scale) = self.split_parameters(args, kwds, ("loc", "scale"))
        return loc + scale * self.draw(shapes, [loc, scale], size, random_state)


def safe_log(p: Any) -> Any:
    """log(p), with a derivative of zero where p is zero."""
    nothing = p == 0.0
    return where(nothing, -math.inf, log(where(nothing, 1.0, p)))


def as_counts(k: Any, *others: Any) -> Any:
    """Integers in the precision of the other arguments."""
    k = as_operand(k)
    return counts(k, np.zeros((), common_precision(k, *others)))


class DiscreteFamily(Family):
    """A distribution on integers, which `loc` moves.

    >>> from wengert.stats import poisson
    >>> poisson.pmf([0, 1], 1.0)
    array([0.36787944, 0.36787944])
    """

    def _standard(self, k: Any, args: tuple, keywords: dict[str, Any]) -> tuple[Any, list]:
        shapes, (loc,) = self.split_parameters(args, keywords, ("loc",))
        k = as_counts(k, *shapes)
        return k - loc, match_precision(shapes, k)

    def _inside(self, k: Any, shapes: list) -> tuple[Any, Any]:
        low, high = self.ends(shapes)
        return k < low, (k > high if high is not math.inf else None)

    @without_warnings
    def logpmf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """The logarithm of the probability of k; minus infinity, with derivatives of zero, where it is zero."""
        k, shapes = self._standard(k, args, kwds)
        below, above = self._inside(k, shapes)
        empty = logical_or(below, floor(k) != k)
        empty = empty if above is None else logical_or(empty, above)
        out = self.formula("logp")(where(empty, self.point(shapes), k), *shapes)
        return self.mark_invalid(where(logical_or(empty, out == -math.inf), -math.inf, out), shapes)

    def pmf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """The probability of k."""
        return exp(self.logpmf(k, *args, **kwds))

    @without_warnings
    def _tail(self, what: str, ends: tuple[float, float], k: Any, args: tuple, keywords: dict[str, Any]) -> Any:
        k, shapes = self._standard(k, args, keywords)
        k = floor(k)
        below, _ = self._inside(k, shapes)
        _, high = self.ends(shapes)
        above = k >= high if high is not math.inf else None
        outside = below if above is None else logical_or(below, above)
        out = where(below, ends[0], self.formula(what)(where(outside, self.point(shapes), k), *shapes))
        return self.mark_invalid(out if above is None else where(above, ends[1], out), shapes)

    def cdf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """The probability of at most k."""
        return self._tail("cdf", (0.0, 1.0), k, args, kwds)

    def sf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """The probability of more than k, accurate where it is small."""
        return self._tail("sf", (1.0, 0.0), k, args, kwds)

    def logcdf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """The logarithm of cdf."""
        return safe_log(self.cdf(k, *args, **kwds))

    def logsf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """The logarithm of sf."""
        return safe_log(self.sf(k, *args, **kwds))

    @without_warnings
    def _moment(self, what: str, args: tuple, keywords: dict[str, Any]) -> Any:
        shapes, (loc,) = self.split_parameters(args, keywords, ("loc",))
        out = self.formula(what)(*shapes)
        return self.mark_invalid(out + loc if what == "mean" else out, shapes)

    def mean(self, *args: Any, **kwds: Any) -> Any:
        """The mean."""
        return self._moment("mean", args, kwds)

    def var(self, *args: Any, **kwds: Any) -> Any:
        """The variance."""
        return self._moment("var", args, kwds)

    def std(self, *args: Any, **kwds: Any) -> Any:
        """The standard deviation."""
        return sqrt(self.var(*args, **kwds))

    def rvs(self, *args: Any, size: Size = None, random_state: Any = None, **kwds: Any) -> Any:
        """Draws: integers, so that parameters whose derivative is wanted are an error."""
        shapes, (loc,) = self.split_parameters(args, kwds, ("loc",))
        return self.formula("rvs")(default_rng(random_state), *shapes, size) + as_operand(loc).astype(int)
