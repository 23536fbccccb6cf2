"""Transforms of random numbers: functions with an inverse and the logarithm of their slope."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from wengert.compat.torch.elementwise import logit
from wengert.compat.torch.nn.functional import softplus

__all__ = [
    "AffineTransform", "ComposeTransform", "ExpTransform", "PowerTransform", "SigmoidTransform", "SoftplusTransform",
    "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip


class Transform:
    """The base of transforms; subclasses define `_call`, `_inverse` and `log_abs_det_jacobian`.

    >>> import wengert.compat.torch as torch
    >>> ExpTransform().inv(torch.tensor(1.0)).item()
    0.0
    """

    bijective = True
    event_dim: ClassVar[int] = 0

    def __init__(self, cache_size: int = 0):
        self.cache_size = cache_size

    def __call__(self, x: Any) -> Any:
        return self._call(x)

    @property
    def inv(self) -> Transform:
        """The inverse."""
        return Inverse(self)

    def _call(self, x: Any) -> Any:
        raise NotImplementedError  # each class defines it

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError  # each class defines it

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the absolute value of the slope at x, where the value is y."""
        raise NotImplementedError  # each class defines it


class Inverse(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform):
        super().__init__()
        self.transform = transform

    @property
    def inv(self) -> Transform:
        """The transform itself."""
        return self.transform

    def _call(self, x: Any) -> Any:
        return self.transform._inverse(x)

    def _inverse(self, y: Any) -> Any:
        return self.transform(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Of the inverse."""
        return -self.transform.log_abs_det_jacobian(y, x)


class ComposeTransform(Transform):
    """Transforms one after the other."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0):
        super().__init__(cache_size)
        self.parts = list(parts)

    def _call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._inverse(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum of those of the parts."""
        total: Any = 0.0 * x
        for part in self.parts:
            after = part(x)
            total = total + part.log_abs_det_jacobian(x, after)
            x = after
        return total


identity_transform = ComposeTransform([])


class AffineTransform(Transform):
    """loc + scale x."""

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        self.event_dim = event_dim  # type: ignore[misc]  # of this one

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |scale|, summed over the axes of an event."""
        slope = math.log(abs(self.scale)) if isinstance(self.scale, int | float) else self.scale.abs().log()
        total = slope + 0.0 * x
        for _ in range(self.event_dim):
            total = total.sum(-1)
        return total


class ExpTransform(Transform):
    """exp(x)."""

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """x."""
        return x


class PowerTransform(Transform):
    """x ** exponent, for positive numbers."""

    def __init__(self, exponent: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.exponent = exponent

    def _call(self, x: Any) -> Any:
        return x**self.exponent

    def _inverse(self, y: Any) -> Any:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |exponent y / x|."""
        return (self.exponent * y / x).abs().log()


class SigmoidTransform(Transform):
    """The logistic function."""

    def _call(self, x: Any) -> Any:
        return x.sigmoid()

    def _inverse(self, y: Any) -> Any:
        return logit(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log(y (1 - y))."""
        return -softplus(-x) - softplus(x)


class TanhTransform(Transform):
    """tanh(x)."""

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log(1 - y^2), in a form that does not cancel."""
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class SoftplusTransform(Transform):
    """log(1 + exp(x))."""

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the logistic function."""
        return -softplus(-x)
