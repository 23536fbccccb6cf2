"""Changes in place: `add_`, `zero_`, `copy_` and their like, and assignment to `data`, which is not recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.torch import creation, drawing, elementwise, indexing, reductions, shaping
from wengert.compat.torch.sharing import Shared, detach
from wengert.compat.torch.values import adopt, plain
from wengert.core.errors import user_error
from wengert.modes import recording
from wengert.modes.tensor import Tensor as EngineTensor
from wengert.modes.tensor import as_tensor

__all__: list[str] = []  # what it has are methods


def set_data(x: Any, value: Any) -> None:
    """Replace the numbers, unrecorded; the shape and the type may change."""
    if not isinstance(x, EngineTensor):
        if value.shape != x.shape or value.dtype != x.dtype:
            raise user_error(
                RuntimeError,
                "x.data = v with another shape or type, inside of jvp, vmap or a function that is traced",
                "Make a new tensor of v.",
            )
        copy_(detach(x), detach(value))
        return
    new = as_tensor(plain(value)).detach()
    if new.shape == x.shape and new.dtype == x.dtype:
        with recording.override(enabled=False):
            x._become(adopt(new))
        return
    needs = x.requires_grad
    x.requires_grad = False
    x.value = new.value
    x.requires_grad = needs


def rebind(x: Any, new: Any) -> Any:
    """x, changed to a new value of its shape."""
    x._rebind(new)
    return x


def in_place(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The method that writes the result of a function into its first argument: `add_` for `add`."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, Shared):
            self._refresh()
        return rebind(self, function(self, *args, **kwargs))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`{name.removesuffix('_')}`, in place."
    return method


NOT_IN_PLACE = {
    "allclose", "argwhere", "complex", "diagonal_scatter", "equal", "fill", "frexp", "gather", "gradient",
    "index_select", "is_nonzero", "masked_select", "nonzero", "polar", "select_scatter", "slice_scatter", "take",
    "take_along_dim", "unravel_index", "view_as_complex", "view_as_real", "where",
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(elementwise, name) for name in elementwise.__all__ if name not in NOT_IN_PLACE},
    **{name: getattr(reductions, name) for name in ("cumsum", "cumprod")},
    **{name: getattr(shaping, name) for name in ("tril", "triu")},
    **{name: getattr(indexing, name) for name in indexing.__all__ if name not in NOT_IN_PLACE},
}


def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`self + alpha * other`, in place."""
    self += other if alpha == 1 else wg.multiply(other, alpha)
    return self


def sub_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`self - alpha * other`, in place."""
    self -= other if alpha == 1 else wg.multiply(other, alpha)
    return self


def mul_(self: Any, other: Any) -> Any:
    """`self * other`, in place."""
    self *= other
    return self


def div_(self: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """`self / other`, in place."""
    if rounding_mode is None:
        self /= other
        return self
    return divide_in_place(self, other, rounding_mode=rounding_mode)


divide_in_place = in_place(elementwise.div, "div_")


def fill_(self: Any, value: Any) -> Any:
    """One number everywhere, in place."""
    self[...] = value
    return self


def zero_(self: Any) -> Any:
    """Zeros, in place."""
    return fill_(self, 0)


def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """The numbers of another tensor, in place."""
    self[...] = src
    return self


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """One number on the diagonal, in place."""
    if wrap:
        raise user_error(NotImplementedError, "fill_diagonal_(wrap=True)", "Write into the rows that repeat it.")
    n = min(self.shape)
    self[(np.arange(n),) * self.ndim] = fill_value
    return self


def detach_(self: Any) -> Any:
    """Without history, in place."""
    self.node = None
    return self


def drawn(make: Callable[..., Any]) -> Callable[..., Any]:
    """A method that writes random numbers into a tensor, from NumPy's generator and the tensor's shape."""

    def method(self: Any, *args: Any, generator: Any = None, **kwargs: Any) -> Any:
        numbers = make(drawing.source(generator), tuple(self.shape), *args, **kwargs)
        return rebind(self, creation.make(np.asarray(numbers).astype(self.dtype)))

    method.__doc__ = "Random numbers, in place."
    return method


def random_integers(source: Any, shape: Any, start: int = 0, end: int | None = None) -> Any:
    """Integers from `start`, or below it if it is alone."""
    return source.integers(*((0, start or 2**24) if end is None else (start, end)), shape)


DRAWN: dict[str, Callable[..., Any]] = {
    "normal_": lambda source, shape, mean=0.0, std=1.0: source.normal(mean, std, shape),
    "uniform_": lambda source, shape, a=0.0, b=1.0: source.uniform(a, b, shape),
    "bernoulli_": lambda source, shape, p=0.5: source.random(shape) < drawing.numbers_of(p),
    "exponential_": lambda source, shape, lambd=1.0: source.exponential(1 / lambd, shape),
    "cauchy_": lambda source, shape, median=0.0, sigma=1.0: median + sigma * source.standard_cauchy(shape),
    "geometric_": lambda source, shape, p: source.geometric(p, shape),
    "log_normal_": lambda source, shape, mean=1.0, std=2.0: source.lognormal(mean, std, shape),
    "random_": random_integers,
}


def reshaped(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that changes the shape of a tensor in place."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, Shared):
            raise user_error(
                RuntimeError,
                f"{function.__name__}_ of a part of a tensor, of x.data or of x.detach()",
                f"Use its result: y = y.{function.__name__}(...).",
            )
        self._become(adopt(plain(function(self, *args, **kwargs))))
        return self

    method.__doc__ = f"`{function.__name__}`, in place."
    return method


RESHAPED = ("squeeze", "t", "transpose", "unsqueeze")

METHODS: dict[str, Callable[..., Any]] = {
    **{f"{name}_": in_place(function, f"{name}_") for name, function in FUNCTIONS.items()},
    **{name: drawn(make) for name, make in DRAWN.items()},
    **{f"{name}_": reshaped(getattr(shaping, name)) for name in RESHAPED},
    "add_": add_, "sub_": sub_, "subtract_": sub_, "mul_": mul_, "multiply_": mul_, "div_": div_, "divide_": div_,
    "true_divide_": div_, "fill_": fill_, "zero_": zero_, "copy_": copy_, "fill_diagonal_": fill_diagonal_,
    "detach_": detach_,
}  # fmt: skip
