"""Definition: what is mathematically true of an operation, said once; Trial: where the tests check it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wengert.core.facts import NO_FACTS, Facts


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Definition:
    """An operation as it was declared.

    `inputs` names its array arguments; a starred last one stands for any number of them. `rules` has one rule per array
    argument (None: no gradient flows there), linear in its first parameter `t`. The other parameters of a rule name what
    it needs: inputs (`x`), their specs (`x_spec`), the output (`out`), or parameters of the operation (`axis`).
    """

    name: str
    impl: Callable
    kind: str
    inputs: tuple[str, ...]
    takes_params: bool = False
    """Whether it has parameters beside its arrays."""
    outputs: int = 1
    """Their number; 0 if that depends on the arguments."""
    rules: tuple[Callable | None, ...] = ()
    vjp: Callable | None = None
    """One rule for the cotangents of all arguments at once; returns a tuple."""
    jvps: tuple[Callable | None, ...] = ()
    """Rules that push tangents forward, where `rules` do not say how."""
    dead: tuple[Callable | None, ...] = ()
    """For each argument, a rule for the mask of elements that the output does not depend on: the untaken side of `where`."""
    taylor: Callable | None = None
    """A recurrence for the coefficients of its power series, where the derivative alone would not end."""
    batch: Callable | None = None
    """The parameters that change where the arrays have one more axis, the batch, in front.

    It names what it needs: parameters, `n` (the length of that axis) or `rank` (without it). It returns None where
    there are no such parameters.
    """
    spec: Callable | None = None
    """The spec of the result, from operands and parameters, where asking NumPy would be expensive or cannot tell."""
    into: Callable | None = None
    """`into(buffer, t, saved, params)` adds what the rule pulls to a buffer of the engine, where that is cheaper."""
    in_mode: Callable | None = None
    """`in_mode(primitive, top, args, params)` runs an operation that holds a function, where `top` is the value of the
    highest level. All other operations are run by the mode of `top`."""
    structural: bool = False
    """It moves, copies and adds numbers without scaling them: masks of dead elements can be followed through it."""
    conforms: bool | None = None
    """Whether cotangents may need another shape or dtype than the rule gives; by default if there are several rules."""
    filled_in: bool = False
    """Its result is there to be assigned to (`zeros_like`): a value of the mode of its operand, without a derivative."""
    reason: str | None = None
    """Why no gradient flows through it."""
    facts: Facts = NO_FACTS

    @property
    def all_rules(self) -> list[Callable]:
        """Every rule of every purpose."""
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

    args: tuple
    params: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """Where the tests check an operation.

    `domain` is where it is smooth, one interval for all arguments or one for each. `singular` has the points where
    formulas break, and the derivatives chosen there. `params` has a value for each parameter of an elementwise one.
    """

    domain: Any = None
    cases: Sequence[Case] = ()
    singular: dict[tuple, tuple] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)


def needs(rule: Callable) -> tuple[str, ...]:
    """The names of what a rule needs beside the tangent.

    >>> needs(lambda t, x, axis: t)
    ('x', 'axis')
    """
    code = rule.__code__
    return code.co_varnames[1 : code.co_argcount]
