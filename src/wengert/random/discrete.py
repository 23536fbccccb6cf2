"""Draws of whole numbers, which have no derivative, and orders of what is given, which move gradients along.

A parameter whose derivative is wanted is an error: that derivative would be lost. `gumbel_softmax` is the smooth
stand-in for a choice.
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
from wengert.random.draw import Draw, Size, extents, refuse_gradient, refuse_trace
from wengert.transforms.products import stop_gradient

SCORE = ", or use gumbel_softmax, a smooth choice; the gradient of an expectation is that of the log density, weighted: see wg.stats"


class Discrete:
    """Methods of `np.random.Generator` that draw whole numbers, and relatives that it does not have."""

    numpy: np.random.Generator

    def _counted(self, name: str, size: Size, **parameters: Any) -> Any:
        parameters = {key: stack_lists(p) for key, p in parameters.items()}
        refuse_gradient(name, SCORE, **parameters)
        if not any(isinstance(p, Array) for p in parameters.values()):
            return getattr(self.numpy, name)(*parameters.values(), size=size)
        plain = [stop_gradient(p) for p in parameters.values()]
        return Draw(self.numpy, plain, size).counts(name, *plain)

    def integers(
        self, low: Any, high: Any = None, size: Size = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        refuse_gradient("integers", low=low, high=high)
        return self.numpy.integers(low, high, size, dtype, endpoint)

    def poisson(self, lam: Any = 1.0, size: Size = None) -> Any:
        return self._counted("poisson", size, lam=lam)

    def binomial(self, n: Any, p: Any, size: Size = None) -> Any:
        return self._counted("binomial", size, n=n, p=p)

    def bernoulli(self, p: Any, size: Size = None) -> Any:
        """0 or 1, which is 1 with probability p."""
        return self.binomial(1, p, size)

    def negative_binomial(self, n: Any, p: Any, size: Size = None) -> Any:
        return self._counted("negative_binomial", size, n=n, p=p)

    def geometric(self, p: Any, size: Size = None) -> Any:
        return self._counted("geometric", size, p=p)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Size = None) -> Any:
        return self._counted("hypergeometric", size, ngood=ngood, nbad=nbad, nsample=nsample)

    def logseries(self, p: Any, size: Size = None) -> Any:
        return self._counted("logseries", size, p=p)

    def zipf(self, a: Any, size: Size = None) -> Any:
        return self._counted("zipf", size, a=a)

    def multinomial(self, n: Any, pvals: Any, size: Size = None) -> Any:
        refuse_gradient("multinomial", SCORE, pvals=stack_lists(pvals))
        return self.numpy.multinomial(n, np.asarray(pvals), size)

    def multivariate_hypergeometric(
        self, colors: Any, nsample: Any, size: Size = None, method: Any = "marginals"
    ) -> Any:
        refuse_gradient("multivariate_hypergeometric", SCORE, colors=stack_lists(colors))
        return self.numpy.multivariate_hypergeometric(np.asarray(colors), nsample, size, method)

    def categorical(self, logits: Any, size: Size = None, axis: int = -1) -> Any:
        """The place of one of the categories along an axis, whose probabilities are softmax(logits)."""
        logits = as_operand(logits)
        refuse_gradient("categorical", SCORE, logits=logits)
        return argmax(logits + self._gumbel_noise(logits, size), axis)

    def gumbel_softmax(
        self, logits: Any, temperature: Any = 1.0, size: Size = None, axis: int = -1, hard: bool = False
    ) -> Any:
        """softmax((logits + g) / temperature), g from the Gumbel distribution: a choice of a category along an axis,
        made smooth.

        With `hard` it is a choice, 0 everywhere but in one place, that has the derivative of the smooth one. `size` are
        axes in front.
        """
        logits = as_operand(logits)
        smooth = softmax((logits + self._gumbel_noise(logits, size)) / temperature, axis)
        if not hard:
            return smooth
        fixed = stop_gradient(smooth)
        chosen = np.argmax(fixed, axis, keepdims=True)
        places = np.moveaxis(np.arange(smooth.shape[axis]).reshape((-1,) + (1,) * (smooth.ndim - 1)), 0, axis)
        return where(chosen == places, 1.0, 0.0).astype(smooth.dtype) + (smooth - fixed)

    def _gumbel_noise(self, logits: Any, size: Size) -> Any:
        """For each of the categories, as often as the size says."""
        return Draw(self.numpy, (logits,), (*extents(size), *logits.shape))("gumbel")

    # Orders and choices of what is given

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """x in random order along an axis; its gradient is moved back."""
        refuse_trace()
        x = stack_lists(x)
        return (
            take(x, self.numpy.permutation(x.shape[axis]), axis)
            if isinstance(x, Array)
            else self.numpy.permutation(x, axis)
        )

    def permuted(self, x: Any, *, axis: int | None = None, out: np.ndarray | None = None) -> Any:
        """x with each of its lines along an axis in a random order of its own.

        Without an axis all elements in random order.
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
