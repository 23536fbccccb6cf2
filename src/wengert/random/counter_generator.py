"""The counter-based generator: its numbers are hashes of a counter, which is a tensor, so compiled functions draw, too.

`ops/samples/counter_words.py` has the hash. A draw reads the state and advances it by assignment, like any other tensor
that a function captures: eager code and compiled programs continue the same sequence.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.levels import iterate_payloads
from wengert.core.primitive import as_operand, stack_lists
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.in_place import snapshot
from wengert.modes.tensor import Tensor, adopt_array
from wengert.ops.elementwise.choices import clip, minimum, where
from wengert.ops.elementwise.exponential import log
from wengert.ops.indexing.subscripts import getitem
from wengert.ops.indexing.taking import take
from wengert.ops.reductions.cumulative import cumsum
from wengert.ops.samples.counter_words import multiply_high, random_normal, random_uniform, random_words
from wengert.ops.samples.sorting import argsort, searchsorted
from wengert.ops.shape.joining import stack
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.special.error import ndtr, ndtri
from wengert.random.draw import Size, drawn_dtype, drawn_size, refuse_lost_derivative, refuse_trace, size_tuple
from wengert.random.generator import Generator
from wengert.transforms.products import stop_gradient

ADVANCING = threading.Lock()
"""Held while a draw outside of traces takes its counters: threads may share a generator."""

PAIRS = np.array([1, 1, 2])
"""Makes of an integer the counter of the first of two words."""


class CounterGenerator:
    """A generator whose draws are operations on a state, also in compiled functions; `counter_rng` makes one.

    `state` is a tensor of three integers: the key, of two words, and the number of the next word.

    >>> import wengert as wg
    >>> rng = counter_rng(7)
    >>> noisy = wg.compile(lambda x: x + rng.standard_normal(x.shape))
    >>> first, second = noisy(np.zeros(2)), noisy(np.zeros(2))
    >>> bool(np.allclose([first, second], [counter_rng(7).standard_normal(2), second])), bool((first != second).all())
    (True, True)
    """

    __slots__ = ("__weakref__", "_state")

    def __init__(self, state: Any):
        self._state: Any = state if isinstance(state, Array) else adopt_array(np.array(state, np.int64))

    @property
    def state(self) -> Any:
        """The key and the counter, a tensor that draws change. Assign to it to continue from a state that was saved."""
        return self._state

    @state.setter
    def state(self, state: Any) -> None:
        state = as_operand(state)
        if state.shape != (3,) or state.dtype != np.int64:
            raise user_error(
                ValueError,
                f"The state of a generator has three integers, not {state.dtype} of shape {state.shape}",
                "Assign what rng.state.numpy() gave earlier.",
            )
        self._state[...] = state

    # Generators from this one

    def spawn(self, n_children: int) -> list[CounterGenerator]:
        """Generators that are independent of this one and of each other. Their keys are the next words of this one."""
        words = self._draw(random_words, (n_children, 2))
        return [CounterGenerator(concatenate([words[i], np.zeros(1, np.int64)])) for i in range(n_children)]

    def fold_in(self, data: Any) -> CounterGenerator:
        """A generator for an integer, such as the number of a step or an index in a batch.

        It depends on the key of this one and on the integer, not on what was drawn, and this one does not change. The
        integer may be a traced or batched value.

        >>> rng = counter_rng(7)
        >>> bool(rng.fold_in(3).random() == rng.fold_in(3).random()), bool(rng.fold_in(4).random() == rng.random())
        (True, False)
        """
        data = as_operand(data)
        if data.dtype.kind not in "iu" or data.shape:
            raise user_error(TypeError, f"fold_in takes an integer, not {data.dtype} of shape {data.shape}")
        return CounterGenerator(folded_state(self._current(), data))

    # Words

    def _current(self) -> Any:
        """The state as it is now, a plain array outside of traces."""
        state = self._state
        if state.__class__ is Tensor and not state.level and recording.current_trace() is None:
            return state.value
        return snapshot(state)

    def _take(self, n: int) -> Any:
        """The state from which n words are drawn; the counter advances by n."""
        with ADVANCING:
            before = self._current()
            after = before + np.array([0, 0, n])
            self._state._rebind(after if isinstance(after, Array) else Tensor(after))
        return before

    def _draw(
        self, operation: Callable, size: tuple[int, ...], words: int = 1, parameters: Sequence[Any] = (), **params: Any
    ) -> Any:
        """An operation on as many words as there are numbers, times `words`; other ones for each element of a batch."""
        state = self._take(words * math.prod(size))
        batches = {
            layer.level: layer for p in parameters for layer in iterate_payloads(p) if isinstance(layer, Batched)
        }
        for _, batch in sorted(batches.items()):
            state = batch_state(state, batch)
        return operation(state, size=size, **params)

    def _uniform(self, size: tuple[int, ...], dtype: Any, parameters: Sequence[Any] = ()) -> Any:
        dtype = checked_dtype(dtype)
        return self._draw(random_uniform, size, 1, parameters, dtype=dtype, low=False)

    def _normal(self, size: tuple[int, ...], dtype: Any, parameters: Sequence[Any] = ()) -> Any:
        dtype = checked_dtype(dtype)
        return self._draw(random_normal, size, 1 if dtype == np.float32 else 2, parameters, dtype=dtype)

    # Numbers

    def random(self, size: Size = None, dtype: Any = np.float64) -> Any:
        """Uniform on the open interval (0, 1)."""
        return self._uniform(size_tuple(size), dtype)

    def standard_normal(self, size: Size = None, dtype: Any = np.float64) -> Any:
        """Normal with mean 0 and standard deviation 1."""
        return self._normal(size_tuple(size), dtype)

    def standard_exponential(self, size: Size = None, dtype: Any = np.float64) -> Any:
        """Exponential with mean 1."""
        return -log(self.random(size, dtype))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Size = None, dtype: Any = None) -> Any:
        """low + (high - low) u, u uniform on (0, 1)."""
        low, high = stack_lists(low), stack_lists(high)
        return low + (high - low) * self._uniform(*request((low, high), size, dtype))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, dtype: Any = None) -> Any:
        """loc + scale z, z standard normal."""
        loc, scale = stack_lists(loc), stack_lists(scale)
        return loc + scale * self._normal(*request((loc, scale), size, dtype))

    def exponential(self, scale: Any = 1.0, size: Size = None, dtype: Any = None) -> Any:
        """scale z, z standard exponential."""
        scale = stack_lists(scale)
        return scale * -log(self._uniform(*request((scale,), size, dtype)))

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, dtype: Any = None) -> Any:
        """loc - scale log z, z standard exponential."""
        loc, scale = stack_lists(loc), stack_lists(scale)
        return loc - scale * log(-log(self._uniform(*request((loc, scale), size, dtype))))

    def truncated_normal(
        self, loc: Any = 0.0, scale: Any = 1.0, low: Any = -2.0, high: Any = 2.0, size: Size = None, dtype: Any = None
    ) -> Any:
        """Normal numbers between low and high: the quantile of a uniform number between the probabilities of both.

        The probabilities are taken in the lower tail, where they are accurate.
        """
        loc, scale, low, high = map(stack_lists, (loc, scale, low, high))
        numbers = self._uniform(*request((loc, scale, low, high), size, dtype))
        below, above = (low - loc) / scale, (high - loc) / scale
        sign = where(stop_gradient(below + above) > 0.0, -1.0, 1.0)
        first, last = ndtr(where(sign > 0.0, below, -above)), ndtr(where(sign > 0.0, above, -below))
        z = sign * ndtri(first + (last - first) * numbers)
        return clip(loc + scale * z, low, high).astype(numbers.dtype)

    # Integers, booleans, permutations

    def bernoulli(self, p: Any, size: Size = None) -> Any:
        """True with probability p."""
        p = stack_lists(p)
        refuse_lost_derivative("bernoulli", p=p)
        if isinstance(p, float | int) and not 0.0 <= p <= 1.0:
            raise user_error(ValueError, f"A probability is between 0 and 1, not {p}")
        return self._uniform(*request((p,), size, None)) < p

    def integers(
        self, low: Any, high: Any = None, size: Size = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        """Integers from low, or 0, up to high, which is included if it is the `endpoint`.

        A 64-bit word, as a fraction of 1, is multiplied by the number of integers and rounded down.
        """
        low, high = (0, stack_lists(low)) if high is None else (stack_lists(low), stack_lists(high))
        for bound in (low, high):
            if as_operand(bound).dtype.kind not in "iu":
                raise user_error(TypeError, f"integers takes integers as bounds, not {as_operand(bound).dtype}")
        count = high - low + int(endpoint)
        if not isinstance(count, Array) and np.any(np.asarray(count) <= 0):
            raise user_error(ValueError, f"There are no integers from {low} up to {high}")
        words = self._draw(random_words, request((low, high), size, None)[0], 1, (low, high))
        numbers = low + multiply_high(words, count)
        return numbers if np.dtype(dtype) == np.int64 else numbers.astype(dtype)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """x in random order along an axis, or the integers up to x: sorted by random words."""
        x = stack_lists(x)
        if isinstance(x, int | np.integer):
            return argsort(self._draw(random_words, (int(x),)))
        x = as_operand(x)
        return take(x, argsort(self._draw(random_words, (x.shape[axis],), 1, (x,))), axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Change the order of x along an axis, in place."""
        x[...] = self.permutation(x, axis)

    def choice(self, a: Any, size: Size = None, replace: bool = True, p: Any = None, axis: int = 0) -> Any:
        """Elements of `a`, or integers up to `a`, with probabilities p.

        Without replacement, those that come first in a race are chosen: each arrives after an exponential time, whose
        rate is its probability. It is sorted by the negative inverse of that time.
        """
        a = stack_lists(a)
        n = int(a) if isinstance(a, int | np.integer) else as_operand(a).shape[axis]
        size, p = size_tuple(size), None if p is None else as_operand(stack_lists(p))
        refuse_lost_derivative("choice", p=p)
        if p is not None and p.shape != (n,):
            raise user_error(ValueError, f"There are {n} elements to choose from, and probabilities of shape {p.shape}")
        if replace:
            chosen = self.integers(0, n, size) if p is None else self._choose(p, size)
        elif math.prod(size) > n:
            raise user_error(ValueError, f"{math.prod(size)} of {n} elements cannot be chosen without replacement")
        else:
            ranks = self._draw(random_words, (n,)) if p is None else p / log(self._uniform((n,), np.float64, (p,)))
            chosen = getitem(argsort(ranks), slice(math.prod(size))).reshape(size)
        return chosen if isinstance(a, int | np.integer) else take(a, chosen, axis)

    def _choose(self, p: Any, size: tuple[int, ...]) -> Any:
        """Indices with probabilities p, by the inverse of the distribution function."""
        cumulative = cumsum(p)
        numbers = self._uniform(size, np.float64, (p,)) * cumulative[-1]
        return minimum(searchsorted(cumulative, numbers, side="right"), p.shape[0] - 1)

    # Copies

    def __copy__(self) -> CounterGenerator:
        return CounterGenerator(self._current())

    def __deepcopy__(self, memo: dict[int, Any]) -> CounterGenerator:
        return memo.setdefault(id(self), self.__copy__())

    def __reduce__(self) -> tuple[Any, ...]:
        return CounterGenerator, (np.array(self._state.numpy()),)

    def __repr__(self) -> str:
        current = self._current()
        if isinstance(current, Array):
            return f"CounterGenerator({current!r})"
        a, b, counter = current.tolist()
        return f"CounterGenerator(key=({a:#x}, {b:#x}), counter={counter})"


def folded_state(state: Any, data: Any) -> Any:
    """The state of another key, which an integer chooses: two words of the key with its own words exchanged."""
    a, b = state[..., 0], state[..., 1]
    words = random_words(stack([b, ~a, data]) * PAIRS, size=(2,))
    return concatenate([words, np.zeros(1, np.int64)])


def batch_state(state: Any, batch: Batched) -> Any:
    """For each element of a batch the state of another key, with the same counter."""
    a, b, counter = state[..., 0], state[..., 1], state[..., 2:]
    index = Batched(np.arange(batch.value.shape[0]), batch.level)
    words = random_words(stack([~b, a, index]) * PAIRS, size=(2,))
    return concatenate([words, counter])


def request(parameters: Sequence[Any], size: Size, dtype: Any) -> tuple[tuple[int, ...], Any, Sequence[Any]]:
    """The size and the precision of a draw, and the parameters that may be batched."""
    shapes = [as_operand(p).shape for p in parameters]
    return drawn_size(shapes, size), drawn_dtype(parameters) if dtype is None else dtype, parameters


def checked_dtype(dtype: Any) -> np.dtype:
    """Single or double precision."""
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise user_error(TypeError, f"Random numbers are float32 or float64, not {dtype}", "Convert them with astype.")
    return dtype


def counter_rng(seed: Any = None) -> CounterGenerator:
    """A counter-based generator, which can draw inside compiled functions.

    The seed is what `np.random.default_rng` takes. From a generator of NumPy's or Wengert's, the key is drawn; a
    counter-based one is returned as it is. Inside a compiled function, a generator that is made from a seed begins anew
    at each call, as in eager code; one without a seed continues.

    >>> counter_rng(7).integers(10, size=5)
    array([3, 8, 7, 5, 0])
    """
    if isinstance(seed, CounterGenerator):
        return seed
    if isinstance(seed, Generator | np.random.Generator | np.random.BitGenerator):
        refuse_trace()
        source = seed if isinstance(seed, Generator) else np.random.default_rng(seed)
        key = source.integers(-(1 << 63), (1 << 63) - 1, 2, endpoint=True)
    else:
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        key = sequence.generate_state(2, np.uint64).view(np.int64)
    state = np.append(key, 0)
    return CounterGenerator(Tensor(state) if seed is None else state)
