"""Draws of integers, which have no derivative, and permutations and choices, which pass gradients on.

A parameter whose derivative is wanted is an error: that derivative would be lost. `gumbel_softmax` is the smooth
replacement of a choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import refuse_out, user_error
from wengert.core.primitive import as_operand, stack_lists
from wengert.ops.elementwise.choices import where
from wengert.ops.indexing.taking import take, take_along_axis
from wengert.ops.reductions.extremes import argmax
from wengert.ops.special.entropy import softmax
from wengert.random.draw import Draw, Size, refuse_gradient, refuse_trace, size_tuple
from wengert.transforms.products import stop_gradient

SCORE = (
    ", or use gumbel_softmax, a smooth choice; the gradient of an expectation is that of the log density, weighted: "
    "see wg.stats"
)


class DiscreteDraws:
    """Methods of `np.random.Generator` that draw integers, and relatives that it does not have."""

    numpy: np.random.Generator

    def _draw_counts(self, name: str, size: Size, **parameters: Any) -> Any:
        parameters = {key: stack_lists(p) for key, p in parameters.items()}
        refuse_gradient(name, SCORE, **parameters)
        if not any(isinstance(p, Array) for p in parameters.values()):
            return getattr(self.numpy, name)(*parameters.values(), size=size)
        plain = [stop_gradient(p) for p in parameters.values()]
        return Draw(self.numpy, plain, size).counts(name, *plain)

    def integers(
        self, low: Any, high: Any = None, size: Size = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        """Integers from low to high."""
        refuse_gradient("integers", low=low, high=high)
        return self.numpy.integers(low, high, size, dtype, endpoint)

    def poisson(self, lam: Any = 1.0, size: Size = None) -> Any:
        """The number of events at a rate."""
        return self._draw_counts("poisson", size, lam=lam)

    def binomial(self, n: Any, p: Any, size: Size = None) -> Any:
        """The number of successes in n trials."""
        return self._draw_counts("binomial", size, n=n, p=p)

    def bernoulli(self, p: Any, size: Size = None) -> Any:
        """0 or 1, which is 1 with probability p."""
        return self.binomial(1, p, size)

    def negative_binomial(self, n: Any, p: Any, size: Size = None) -> Any:
        """The number of failures before n successes."""
        return self._draw_counts("negative_binomial", size, n=n, p=p)

    def geometric(self, p: Any, size: Size = None) -> Any:
        """The number of trials up to the first success."""
        return self._draw_counts("geometric", size, p=p)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Size = None) -> Any:
        """The number of good ones in a sample without replacement."""
        return self._draw_counts("hypergeometric", size, ngood=ngood, nbad=nbad, nsample=nsample)

    def logseries(self, p: Any, size: Size = None) -> Any:
        """From the logarithmic series distribution."""
        return self._draw_counts("logseries", size, p=p)

    def zipf(self, a: Any, size: Size = None) -> Any:
        """From the Zipf distribution."""
        return self._draw_counts("zipf", size, a=a)

    def multinomial(self, n: Any, pvals: Any, size: Size = None) -> Any:
        """How often each outcome happens in n trials."""
        refuse_gradient("multinomial", SCORE, pvals=stack_lists(pvals))
        return self.numpy.multinomial(n, np.asarray(pvals), size)

    def multivariate_hypergeometric(
        self, colors: Any, nsample: Any, size: Size = None, method: Any = "marginals"
    ) -> Any:
        """How often each colour is in a sample without replacement."""
        refuse_gradient("multivariate_hypergeometric", SCORE, colors=stack_lists(colors))
        return self.numpy.multivariate_hypergeometric(np.asarray(colors), nsample, size, method)

    def categorical(self, logits: Any, size: Size = None, axis: int = -1) -> Any:
        """The index of one of the categories along an axis, whose probabilities are softmax(logits)."""
        logits = as_operand(logits)
        refuse_gradient("categorical", SCORE, logits=logits)
        return argmax(logits + self._gumbel_noise(logits, size), axis)

    def gumbel_softmax(
        self, logits: Any, temperature: Any = 1.0, size: Size = None, axis: int = -1, hard: bool = False
    ) -> Any:
        """A smooth choice of a category along an axis: softmax((logits + g) / temperature), g Gumbel-distributed.

        With `hard` it is a choice, 0 everywhere but at one index, that has the derivative of the smooth one. `size` are
        axes in front.
        """
        logits = as_operand(logits)
        smooth = softmax((logits + self._gumbel_noise(logits, size)) / temperature, axis)
        if not hard:
            return smooth
        fixed = stop_gradient(smooth)
        chosen = np.argmax(fixed, axis, keepdims=True)
        indices = np.moveaxis(np.arange(smooth.shape[axis]).reshape((-1,) + (1,) * (smooth.ndim - 1)), 0, axis)
        return where(chosen == indices, 1.0, 0.0).astype(smooth.dtype) + (smooth - fixed)

    def _gumbel_noise(self, logits: Any, size: Size) -> Any:
        """For each of the categories, as often as the size says."""
        return Draw(self.numpy, (logits,), (*size_tuple(size), *logits.shape))("gumbel")

    # Permutations and choices

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """x in random order along an axis; its gradient is moved back."""
        refuse_trace()
        x = stack_lists(x)
        if isinstance(x, Array):
            return take(x, self.numpy.permutation(x.shape[axis]), axis)
        return self.numpy.permutation(x, axis)

    def permuted(self, x: Any, *, axis: int | None = None, out: np.ndarray | None = None) -> Any:
        """x with each of its lines along an axis in another random order.

        Without an axis all elements are in random order.
        """
        refuse_trace()
        x = stack_lists(x)
        if not isinstance(x, Array):
            return self.numpy.permuted(x, axis=axis, out=out)
        refuse_out(out)
        if axis is None:
            return take(x.reshape(-1), self.numpy.permuted(np.arange(x.size))).reshape(x.shape)
        lines = np.moveaxis(
            np.broadcast_to(np.arange(x.shape[axis]), np.moveaxis(np.empty(x.shape), axis, -1).shape), -1, axis
        )
        return take_along_axis(x, self.numpy.permuted(lines, axis=axis), axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Change the order of x along an axis, in place."""
        refuse_trace()
        if isinstance(x, Array):
            x[...] = self.permutation(x, axis)
        else:
            self.numpy.shuffle(x, axis)

    def choice(
        self, a: Any, size: Size = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Any:
        """Elements of `a`, to which the gradient goes back; none goes to their probabilities p."""
        a, p = stack_lists(a), stack_lists(p)
        refuse_gradient("choice", SCORE, p=p)
        p = None if p is None else np.asarray(p)
        if not isinstance(a, Array):
            return self.numpy.choice(a, size, replace, p, axis, shuffle)
        if not a.ndim:
            raise user_error(ValueError, "choice takes a plain number, or an array to choose from")
        return take(a, self.numpy.choice(a.shape[axis], size, replace, p, 0, shuffle), axis)
