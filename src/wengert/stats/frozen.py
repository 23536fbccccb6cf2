"""A distribution with its parameters: `norm(loc, scale).logpdf(x)` is `norm.logpdf(x, loc, scale)`, as in SciPy."""

from __future__ import annotations

from typing import Any

from wengert.core.errors import user_error
from wengert.random.draw import Size

AT_A_POINT = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
OF_ITSELF = ("mean", "var", "std", "entropy")


class Frozen:
    """The methods of a distribution, for parameters given once.

    >>> from wengert.stats import norm
    >>> bool(norm(1.0, scale=2.0).cdf(1.5) == norm.cdf(1.5, 1.0, 2.0))
    True
    """

    def __init__(self, distribution: Any, args: tuple, keywords: dict[str, Any]):
        self.dist, self.args, self.kwds = distribution, args, keywords

    def __getattr__(self, name: str) -> Any:
        if name not in AT_A_POINT + OF_ITSELF or not hasattr(self.dist, name):
            raise user_error(AttributeError, f"A distribution with its parameters has no attribute {name!r}")
        method = getattr(self.dist, name)
        if name in AT_A_POINT:
            return lambda x: method(x, *self.args, **self.kwds)
        return lambda: method(*self.args, **self.kwds)

    def rvs(self, size: Size = None, random_state: Any = None) -> Any:
        """Draws with these parameters."""
        return self.dist.rvs(*self.args, **self.kwds, size=size, random_state=random_state)

    def __repr__(self) -> str:
        given = [*map(repr, self.args), *[f"{name}={value!r}" for name, value in self.kwds.items()]]
        return f"<{self.dist!r} with {', '.join(given) or 'no parameters'}>"


class Distribution:
    """A distribution that takes parameters and becomes `Frozen`."""

    def __call__(self, *args: Any, **kwds: Any) -> Frozen:
        return Frozen(self, args, kwds)
