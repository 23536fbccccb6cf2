"""`Distribution`: shapes, parameters that are checked, and draws; the base of all distributions."""

from __future__ import annotations

from typing import Any, ClassVar

from wengert.compat.torch.creation import as_tensor
from wengert.compat.torch.distributions.constraints import Constraint
from wengert.compat.torch.drawing import default_generator
from wengert.compat.torch.dtypes import get_default_dtype
from wengert.compat.torch.shaping import Size, broadcast_tensors
from wengert.compat.torch.values import TorchValue
from wengert.core.errors import user_error
from wengert.modes import recording
from wengert.modes.in_place import is_traced
from wengert.modes.tensor import Tensor as EngineTensor
from wengert.random.generator import Generator, default_rng


class Distribution:
    """The base of distributions: `batch_shape` of independent ones, each of tensors of `event_shape`.

    A subclass defines `log_prob`, and `rsample` if its draws have derivatives, otherwise `sample`.
    """

    has_rsample: ClassVar[bool] = False
    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    support: Constraint | None = None
    is_validating: ClassVar[bool] = True

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        self.validates = Distribution.is_validating if validate_args is None else validate_args
        if self.validates:
            for name, constraint in self.arg_constraints.items():
                if name in self.__dict__:
                    self.check(self.__dict__[name], constraint, f"parameter {name}")

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and values are checked unless `validate_args` says otherwise."""
        Distribution.is_validating = value

    def check(self, x: Any, constraint: Constraint, what: str) -> None:
        """Raise if numbers are not what they may be; inside transforms nothing is known of them."""
        if not isinstance(x, EngineTensor) or x.level or is_traced(x):
            return
        with recording.override(enabled=False):
            is_good = bool(constraint.check(x).all())
        if not is_good:
            raise user_error(ValueError, f"{type(self).__name__}: {what} is not {constraint}", "Check its numbers.")

    def as_value(self, value: Any) -> Any:
        """A value whose density is asked for, as a tensor inside the support."""
        value = value if isinstance(value, TorchValue) else as_tensor(value)
        if self.validates and self.support is not None:
            self.check(value, self.support, "the value")
        return value

    @property
    def batch_shape(self) -> Any:
        """The shape of independent distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one draw."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Any:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws without derivatives, of `sample_shape` and the shape of the distribution."""
        with recording.override(enabled=False):
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Any:
        """n draws."""
        return self.sample((n,))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws with derivatives with respect to the parameters."""
        raise user_error(
            NotImplementedError,
            f"Draws from {type(self).__name__} have no derivatives",
            "Use sample(), and log_prob for the gradient of an expectation.",
        )

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability."""
        raise NotImplementedError(f"{type(self).__name__}.log_prob")

    def entropy(self) -> Any:
        """The expectation of the negative `log_prob`."""
        raise NotImplementedError(f"{type(self).__name__}.entropy")

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return self.entropy().exp()

    @property
    def mean(self) -> Any:
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__}.mean")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__}.variance")

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.variance.sqrt()

    def expand(self, batch_shape: Any) -> Any:
        """The same distribution for another batch shape."""
        given = {name: getattr(self, name) for name in self.arg_constraints if name in self.__dict__}
        grown = {name: p.expand(*batch_shape, *p.shape[len(self._batch_shape) :]) for name, p in given.items()}
        return type(self)(**grown, validate_args=False)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {self.__dict__[name]}" for name in self.arg_constraints if name in self.__dict__)
        return f"{type(self).__name__}({shown})"


def as_parameters(*given: Any) -> tuple[Any, ...]:
    """Parameters as tensors of one shape; numbers have the type of the tensors, or the default type."""
    dtype = next((p.dtype for p in given if isinstance(p, TorchValue)), get_default_dtype())  # type: ignore[attr-defined]  # a value
    return tuple(broadcast_tensors(*[p if isinstance(p, TorchValue) else as_tensor(p, dtype) for p in given]))


def generator() -> Generator:
    """The source of draws: the generator that `torch.manual_seed` sets."""
    return default_rng(default_generator.numpy)
