"""Which way to a derivative takes the fewest passes: forward, reverse, or through the colours of a sparsity pattern.

A pass costs about as much as the function, and passes run as one batch, so their number decides. `wg.jacobian` and
`wg.derivatives` ask here whether a pattern would save passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.array import Array
from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.ops.indexing.subscripts import set_at
from wengert.structure.pattern_arguments import CallSignature
from wengert.structure.patterns import Pattern, find_pattern
from wengert.structure.sparse_derivatives import PatternError, SparseDerivative, sparse_hessian, sparse_jacobian
from wengert.transforms.boundary import Argnums, Arguments
from wengert.transforms.curvature import hessian
from wengert.transforms.gradients import grad, value_and_grad
from wengert.transforms.jacobians import Plan, jacobian

WANTS = ("value", "gradient", "jacobian", "hessian")


class CompressedDerivative:
    """The Jacobian, or Hessian, of `f` through the colours of its pattern, where these are few.

    A pattern is kept for the next call, and then checked by a product with a random vector: arrays that `f` captured
    may have changed. On tracked values, inside other transforms, it is found anew each time.
    """

    def __init__(self, f: Callable, argnums: Argnums, hessian: bool = False):
        self.f, self.argnums, self.hessian = f, argnums, hessian
        self.found: dict[Any, tuple[SparseDerivative | None, str]] = {}

    def plan(self, args: tuple, kwargs: dict[str, Any], dense: int) -> Plan:
        """Whether the way through a pattern takes far fewer passes than the dense way, and why or why not."""
        signature = CallSignature("jacobian", self.argnums, args, kwargs)
        if signature.key not in self.found or is_tracked(signature):
            self.found[signature.key] = self._compare(signature, args, kwargs, dense)
        sparse, why = self.found[signature.key]
        return (
            Plan("dense", dense, why) if sparse is None else Plan("sparse", sparse.colors(*args, **kwargs).number, why)
        )

    def matrix(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The sparse matrix by the plan for these arguments; on tracked values a dense one, zeros included."""
        signature = CallSignature("jacobian", self.argnums, args, kwargs)
        sparse, _ = self.found[signature.key]
        assert sparse is not None
        if is_tracked(signature):
            pattern, values = sparse.pattern(*args, **kwargs), sparse.values(*args, **kwargs)
            return set_at(np.zeros(pattern.shape, values.dtype), (pattern.rows, pattern.cols), values)
        try:
            return sparse(*args, **kwargs)
        except PatternError:
            del self.found[signature.key]
            return self.derivative(self.pattern(signature))(*args, **kwargs)

    def pattern(self, signature: CallSignature) -> Pattern:
        """The pattern for arguments of this signature."""
        return find_pattern(grad(self.f, self.argnums) if self.hessian else self.f, signature, self.hessian)

    def derivative(self, pattern: Pattern) -> SparseDerivative:
        """The sparse derivative with a given pattern, which is checked at each call."""
        return (sparse_hessian if self.hessian else sparse_jacobian)(self.f, self.argnums, pattern, check=True)

    def _compare(
        self, signature: CallSignature, args: tuple, kwargs: dict[str, Any], dense: int
    ) -> tuple[SparseDerivative | None, str]:
        try:
            pattern = self.pattern(signature)
        except (TrackedValueError, GradientError):
            return None, "its pattern is not known, because it looks at numbers"
        if fewest_colors(pattern) * machine.current.min_passes_per_color > dense:
            return None, f"{pattern.density:.0%} of the matrix may be nonzero"
        sparse = self.derivative(pattern)
        number = sparse.colors(*args, **kwargs).number
        if number * machine.current.min_passes_per_color > dense:
            return None, f"{number} colours would not save much"
        return sparse, f"{number} colours of a pattern with {pattern.nnz} nonzeros save passes"


def is_tracked(signature: CallSignature) -> bool:
    """Whether any argument belongs to another transform."""
    return any(isinstance(x, Array) for x in signature.arrays)


def fewest_colors(pattern: Pattern) -> int:
    """A lower bound of the number of colours: the entries of the fullest row, or of the fullest column."""
    rows, columns = np.bincount(pattern.rows, minlength=1), np.bincount(pattern.cols, minlength=1)
    return int(min(rows.max(), columns.max()))


class Derivatives:
    """The result of `derivatives`, by name or in the order of `want`; `plans` say how each was computed."""

    def __init__(self, found: dict[str, Any], plans: dict[str, Plan]):
        self.found, self.plans = found, plans

    def __getattr__(self, name: str) -> Any:
        if name in WANTS and name in self.found:
            return self.found[name]
        what = f"The {name} was not asked for"
        raise user_error(AttributeError, what, f"These derivatives have {', '.join(self.found)}.")

    def __iter__(self) -> Iterator:
        return iter(self.found.values())

    def __len__(self) -> int:
        return len(self.found)

    def explain(self) -> str:
        """One line for each derivative: the mode, the number of passes, and why."""
        return "\n".join(f"{want}: {plan.text}" for want, plan in self.plans.items())

    def __repr__(self) -> str:
        return f"<derivatives: {', '.join(self.found)}>"


def derivatives(
    f: Callable,
    *args: Any,
    want: str | Sequence[str] = ("value", "gradient", "hessian"),
    argnums: Argnums = 0,
    explain: bool = False,
    **kwargs: Any,
) -> Derivatives:
    """The value and derivatives of `f` at these arguments, each by the way that takes the fewest passes.

    `want` names any of "value", "gradient", "jacobian" and "hessian". A Jacobian or Hessian with a sparsity pattern
    that saves passes comes as a SciPy sparse matrix. `explain` prints how, and why so.

    >>> x = np.array([1.0, 2.0])
    >>> value, gradient = derivatives(lambda x: (x**2).sum(), x, want=("value", "gradient"), explain=True)
    value: function, 1 pass: with the gradient
    gradient: reverse, 1 pass: there is one output, and 2 inputs
    >>> gradient
    array([2., 4.])
    """
    want = (want,) if isinstance(want, str) else want
    unknown = [w for w in want if w not in WANTS]
    if unknown:
        raise user_error(
            ValueError, f"derivatives: want={unknown[0]!r}", f"Choose among {', '.join(map(repr, WANTS))}."
        )
    inputs = sum(x.size for x in Arguments("derivatives", argnums, args, kwargs).leaves)
    found: dict[str, Any] = {}
    plans: dict[str, Plan] = {}
    if "gradient" in want:
        found["value"], found["gradient"] = value_and_grad(f, argnums)(*args, **kwargs)
        plans["value"] = Plan("function", 1, "with the gradient")
        plans["gradient"] = Plan("reverse", 1, f"there is one output, and {inputs} input{'s' * (inputs != 1)}")
    elif "value" in want:
        found["value"], plans["value"] = f(*args, **kwargs), Plan("function", 1, "no derivative is needed for it")
    if "jacobian" in want:
        found["jacobian"], plans["jacobian"] = compute_jacobian(f, argnums, args, kwargs)
    if "hessian" in want:
        found["hessian"], plans["hessian"] = compute_hessian(f, argnums, args, kwargs, inputs)
    result = Derivatives({w: found[w] for w in want}, {w: plans[w] for w in want})
    if explain:
        print(result.explain())
    return result


def compute_jacobian(f: Callable, argnums: Argnums, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, Plan]:
    """The Jacobian, sparse where that saves passes, and its plan."""
    dense = jacobian(f, argnums)
    chosen, plan, tape = dense.make_plan(args, kwargs)
    if plan.mode != "sparse":
        return dense.compute(chosen, plan, tape, args, kwargs), plan
    return dense.compression.matrix(args, kwargs), plan


def compute_hessian(
    f: Callable, argnums: Argnums, args: tuple, kwargs: dict[str, Any], inputs: int
) -> tuple[Any, Plan]:
    """The Hessian, sparse where that saves passes, and its plan."""
    why = f"one forward pass over the gradient for each of {inputs} inputs"
    if inputs >= machine.current.min_passes_of_compressed_jacobian:
        compressed = CompressedDerivative(f, argnums, hessian=True)
        plan = compressed.plan(args, kwargs, inputs)
        if plan.mode == "sparse":
            return compressed.matrix(args, kwargs), plan
        why += f"; {plan.why}"
    return hessian(f, argnums)(*args, **kwargs), Plan("forward over reverse", inputs, why)
