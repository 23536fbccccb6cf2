"""Random tensors. The numbers are NumPy's, from a generator of this layer; they are not those of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.torch.creation import make
from wengert.compat.torch.devices import CPU, check_device
from wengert.compat.torch.dtypes import get_default_dtype, int64
from wengert.compat.torch.shaping import as_size
from wengert.compat.torch.values import layered, plain
from wengert.core.errors import user_error

__all__ = [
    "Generator", "bernoulli", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "multinomial",
    "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "seed",
    "set_rng_state",
]  # fmt: skip


class Generator:
    """A source of random numbers with a state of its own.

    >>> import wengert.compat.torch as torch
    >>> g = Generator().manual_seed(0)
    >>> torch.rand(2, generator=g).shape
    torch.Size([2])
    """

    device = CPU

    def __init__(self, device: Any = "cpu"):
        check_device(device)
        self.manual_seed(0)

    def manual_seed(self, seed: int) -> Generator:
        """Start again from a seed."""
        self._seed = int(seed)
        self.numpy = np.random.default_rng(self._seed % 2**64)
        return self

    def seed(self) -> int:
        """Start again from a seed that differs each time, and return it."""
        return self.manual_seed(int(np.random.SeedSequence().entropy) % 2**63)._seed  # type: ignore[arg-type]  # an integer

    def initial_seed(self) -> int:
        """The seed it was started from."""
        return self._seed

    def get_state(self) -> Any:
        """The state, for `set_state`."""
        return self.numpy.bit_generator.state

    def set_state(self, new_state: Any) -> None:
        """Return to a state."""
        self.numpy.bit_generator.state = new_state


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Start the default generator from a seed."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the default generator from a seed that differs each time."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The state of the default generator."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Return the default generator to a state."""
    default_generator.set_state(new_state)


def source(generator: Generator | None) -> np.random.Generator:
    """NumPy's generator behind one of this layer."""
    return (generator or default_generator).numpy


def rand(*size: Any, generator: Generator | None = None, dtype: Any = None, **options: Any) -> Any:
    """Numbers that are uniform between 0 and 1."""
    drawn = source(generator).random(as_size(options.pop("size", size)))
    return make(np.asarray(drawn, dtype or get_default_dtype()), **options)


def randn(*size: Any, generator: Generator | None = None, dtype: Any = None, **options: Any) -> Any:
    """Numbers with a standard normal distribution."""
    drawn = source(generator).standard_normal(as_size(options.pop("size", size)))
    return make(np.asarray(drawn, dtype or get_default_dtype()), **options)


def randint(*bounds: Any, generator: Generator | None = None, dtype: Any = None, **options: Any) -> Any:
    """Integers from `low` (0 if not given) to `high`, without it: `randint(high, size)`, `randint(low, high, size)`."""
    given = [*bounds, *[options.pop(name) for name in ("low", "high", "size") if name in options]]
    low, high, size = given if len(given) == 3 else (0, *given)
    return make(np.asarray(source(generator).integers(low, high, as_size((size,))), dtype or int64), **options)


def randperm(n: int, *, generator: Generator | None = None, dtype: Any = None, **options: Any) -> Any:
    """The integers below n in random order."""
    return make(source(generator).permutation(n).astype(dtype or int64), **options)


def rand_like(input: Any, *, dtype: Any = None, **options: Any) -> Any:
    """`rand` of the size and type of a tensor."""
    return rand(tuple(input.shape), dtype=dtype or input.dtype, **options)


def randn_like(input: Any, *, dtype: Any = None, **options: Any) -> Any:
    """`randn` of the size and type of a tensor."""
    return randn(tuple(input.shape), dtype=dtype or input.dtype, **options)


def randint_like(input: Any, *bounds: Any, dtype: Any = None, **options: Any) -> Any:
    """`randint` of the size and type of a tensor."""
    return randint(*bounds, tuple(input.shape), dtype=dtype or input.dtype, **options)


def numbers_of(x: Any) -> np.ndarray:
    """The numbers of parameters, through which no derivative flows."""
    return np.asarray(wg.stop_gradient(plain(x)))


def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, **options: Any
) -> Any:
    """Numbers with normal distributions of these means and standard deviations."""
    mean, std = numbers_of(mean), numbers_of(std)
    shape = np.broadcast_shapes(mean.shape, std.shape) if size is None else as_size((size,))
    dtype = options.pop("dtype", None) or next((p.dtype for p in (mean, std) if p.ndim), get_default_dtype())
    return make(np.asarray(source(generator).normal(mean, std, shape), dtype), **options)


def bernoulli(input: Any, p: Any = None, *, generator: Generator | None = None) -> Any:
    """1 with the probabilities of `input`, and 0 otherwise."""
    share = numbers_of(input if p is None else p)
    return make((source(generator).random(tuple(input.shape)) < share).astype(input.dtype))


def poisson(input: Any, generator: Generator | None = None) -> Any:
    """Numbers with Poisson distributions of these rates."""
    return make(source(generator).poisson(numbers_of(input)).astype(input.dtype))


def multinomial(input: Any, num_samples: int, replacement: bool = False, *, generator: Generator | None = None) -> Any:
    """Indices with probabilities proportional to the weights of each row."""
    weights = numbers_of(input).astype(np.float64)
    rows = np.atleast_2d(weights)
    if not replacement and np.any(np.count_nonzero(rows, -1) < num_samples):
        raise user_error(
            RuntimeError, f"multinomial of {num_samples} samples from fewer positive weights", "Pass replacement=True."
        )
    draw = source(generator).choice
    drawn = np.stack([draw(row.size, num_samples, replacement, row / row.sum()) for row in rows])
    return make(drawn if weights.ndim > 1 else drawn[0])


@layered
def dropout(input: Any, p: float = 0.5, train: bool = True) -> Any:
    """The tensor with elements set to zero with probability p, and the others scaled."""
    if not train or not p:
        return input
    kept = default_generator.numpy.random(input.shape) >= p
    return input * (kept / (1 - p) if p < 1 else kept).astype(input.dtype)


__all__ += ["dropout"]
