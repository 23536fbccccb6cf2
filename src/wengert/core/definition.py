"""Definition: the mathematics of an operation, stated once. Trial: where the tests check it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wengert.core.facts import NO_FACTS, Facts


class Definition(NamedTuple):
    """An operation as it was declared.

    `inputs` names its array arguments; a starred last name stands for any number of them. `rules` has one rule per
    array argument (None if no gradient flows to it), linear in its first parameter `t`. The other parameters of a rule
    name what it needs: inputs (`x`), their specs (`x_spec`), the output (`out`), or parameters of the operation
    (`axis`).
    """

    name: str
    impl: Callable[..., Any]
    kind: str
    inputs: tuple[str, ...]
    takes_params: bool = False
    """Whether it has parameters besides its arrays."""
    outputs: int = 1
    """The number of outputs; 0 if it depends on the arguments."""
    rules: tuple[Callable[..., Any] | None, ...] = ()
    vjp: Callable[..., Any] | None = None
    """One rule for the cotangents of all arguments at once; returns a tuple."""
    jvps: tuple[Callable[..., Any] | None, ...] = ()
    """Rules that push tangents, if `rules` cannot."""
    dead: tuple[Callable[..., Any] | None, ...] = ()
    """A rule per argument for its dead mask: the elements that the output does not depend on (`where`)."""
    taylor: Callable[..., Any] | None = None
    """A recurrence for the coefficients of its Taylor series, cheaper than the derivative."""
    batch: Callable[..., Any] | None = None
    """The parameters that change if the arrays get a first axis, the batch.

    It names what it needs: parameters, `n` (the length of that axis) or `rank` (the number of the other axes). It
    returns None if no parameters will do.
    """
    collect: Callable[..., Any] | None = None
    """`collect(x)` combines all elements of a batch, along the batch axis that the parameter `axis_name` names."""
    spec: Callable[..., Any] | None = None
    """The spec of the result, from operands and parameters, if NumPy cannot infer it or only at a high cost."""
    into: Callable[..., Any] | None = None
    """`into(buffer, t, saved, params)` adds the cotangent to a buffer of the engine, if that is cheaper."""
    in_mode: Callable[..., Any] | None = None
    """`in_mode(primitive, top, args, params)` runs an operation that holds a function; `top` is the argument of the
    highest level. All other operations are run by the mode of `top`."""
    structural: bool = False
    """It moves, copies and adds numbers without scaling them, so dead masks can be followed through it."""
    conforms: bool | None = None
    """Whether a pulled cotangent may need another shape or dtype; by default, if there are several rules."""
    filled_in: bool = False
    """The user assigns to its result (`zeros_like`), so it is a value of its operand's mode, without a derivative."""
    reason: str | None = None
    """Why no gradient flows through it."""
    facts: Facts = NO_FACTS

    @property
    def all_rules(self) -> list[Callable[..., Any]]:
        """All rules: for cotangents, tangents and dead masks."""
        return [rule for rule in (self.vjp, *self.rules, *self.jvps, *self.dead) if rule]

    def names_value(self, name: str) -> bool:
        """Whether a parameter of a rule stands for an input or output, or the spec of one."""
        inputs = [i.removeprefix("*") for i in self.inputs]
        return name in ("out", "out_spec") or name.removesuffix("_spec") in inputs

    def has_derivative(self, i: int) -> bool:
        """Whether there is a derivative with respect to argument `i`."""
        return self.vjp is not None or (i < len(self.rules) and self.rules[i] is not None)


class Case(NamedTuple):
    """Arguments for which the tests check an operation: a shape stands for random numbers, an array for itself."""

    args: tuple[Any, ...]
    params: dict[str, Any]


class Trial(NamedTuple):
    """Where the tests check an operation.

    `domain` is where it is smooth, one interval for all arguments or one for each. `singular` has the points where
    formulas fail, and the derivatives that we chose there. `params` has values for the parameters of an elementwise
    one.
    """

    domain: Any = None
    cases: Sequence[Case] = ()
    singular: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    params: dict[str, Any] = {}


def needs(rule: Callable[..., Any]) -> tuple[str, ...]:
    """The names of what a rule needs besides `t`.

    >>> needs(lambda t, x, axis: t)
    ('x', 'axis')
    """
    code = rule.__code__
    return code.co_varnames[1 : code.co_argcount]
