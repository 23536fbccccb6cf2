"""Rules of the user's own: `custom_jvp` and `custom_vjp` for functions, `primitive` for operations of the table.

Either rule gives both modes. A rule that pushes tangents forward is a linear map, and is run on a tape in the tangents
alone to be transposed; a rule that pulls cotangents back is transposed in the same way to push forward. Rules run on
the values that the function got, with all that lower levels know of them, so that second derivatives are those of the
rules themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from wengert.core import kinds, tree
from wengert.core.array import UFUNCS, Array
from wengert.core.errors import GradientError, TrackedValueError, user_error, user_line
from wengert.modes.reverse import Tensor
from wengert.transforms.call import Call, Transposed, bare, is_smooth, operation, tensors, zeros
from wengert.transforms.runs import as_given

__all__ = ["custom_jvp", "custom_vjp", "primitive"]


class Custom:
    """A function with a rule; what the two kinds of rule share."""

    def __init__(self, f: Callable, nondiff_argnums: Sequence[int] | int = ()):
        update_wrapper(self, f)
        self.f, self.name = f, getattr(f, "__name__", "function")
        self.signature = inspect.signature(f)
        self.nondiff = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        self.primitive = operation(self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        nondiff = [i % len(bound.args) for i in self.nondiff]
        constant = [a if i in nondiff else None for i, a in enumerate(bound.args)]
        for leaf in tree.flatten((constant, bound.kwargs))[0]:
            if isinstance(leaf, Array) and not (isinstance(leaf, Tensor) and leaf.node is None and not leaf.level):
                raise user_error(
                    GradientError,
                    f"{self.name} got a tracked value as an argument without derivative (nondiff_argnums, "
                    f"keyword-only)",
                    because="its gradient would be lost. Pass it as a positional argument, or detach it.",
                )
        live = tuple([a for i, a in enumerate(bound.args) if i not in nondiff])

        def whole(*live: Any) -> tuple:
            rest = iter(live)
            return tuple([a if i in nondiff else next(rest) for i, a in enumerate(bound.args)])

        call = self.call(live)
        if not call.has_values:
            return tree.map(lambda y: as_given(y, (args, kwargs)), self.f(*bound.args, **bound.kwargs))
        call.function = lambda *live: self.f(*whole(*live), **bound.kwargs)
        call.whole, call.keywords = whole, bound.kwargs
        call.constants = tuple([bound.args[i] for i in nondiff])
        return call(self.primitive)

    def call(self, live: tuple) -> CustomCall:
        raise NotImplementedError  # each kind of rule defines it


class CustomCall(Call):
    """A call of a function with a rule: `constants` are the arguments without derivative, `whole` puts them among the
    others.
    """

    has_rule = True
    constants: tuple
    whole: Callable[..., tuple]
    keywords: dict[str, Any]

    def mismatch(self, what: str, got: Any, wanted: Any) -> GradientError:
        return user_error(GradientError, f"The rule of {self.name} returned {what} {got} where {wanted} was needed")


class custom_jvp(Custom):  # a decorator
    """A function whose derivative is `rule(primals, tangents) -> (out, tangent_out)`, linear in the tangents.

    Reverse mode transposes the rule. Arguments may be trees; those in `nondiff_argnums` come first in the rule.

    >>> @custom_jvp
    ... def cube(x):
    ...     return x**3
    >>> @cube.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return cube(x), 3.0 * x**2 * t
    >>> x = Tensor(np.float64(2.0)).requires_grad_()
    >>> cube(x).backward()
    >>> x.grad
    tensor(12.)
    """

    rule: Callable | None = None

    def defjvp(self, rule: Callable) -> Callable:
        """Set the rule; use it as a decorator."""
        self.rule = rule
        return rule

    def call(self, live: tuple) -> CustomCall:
        if self.rule is None:
            raise user_error(
                GradientError, f"{self.name} is a custom_jvp without a rule", f"Give it one: @{self.name}.defjvp."
            )
        return JvpCall(self.name, live, self.rule)


class JvpCall(CustomCall):
    def __init__(self, name: str, live: tuple, rule: Callable):
        super().__init__(name, live)
        self.rule = rule

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[list, list]:
        tangents = self.assemble(t, lambda fixed: 0.0 if isinstance(fixed, float | int | complex) else None)
        returned = self.rule(*self.constants, self.assemble(x), tangents)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise self.mismatch("a", type(returned).__name__, "a pair (out, tangent_out)")
        outs = self.opened(returned[0])
        pushed, structure = tree.flatten(returned[1])
        if structure != self.structure_out:
            raise self.mismatch("a tangent of structure", structure, self.structure_out)
        for y, c in zip(outs, pushed, strict=True):
            if np.shape(y) != np.shape(c):
                raise self.mismatch("a tangent of shape", np.shape(c), np.shape(y))
        return outs, pushed

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list:
        with Transposed([zeros(v) if alive else None for v, alive in zip(x, live, strict=True)]) as linear:
            _, pushed = self.push(
                tensors(x, t), [zeros(v) if i is None else i for v, i in zip(x, linear.inputs, strict=True)]
            )
            return linear.transpose(pushed, t)


class custom_vjp(Custom):  # a decorator
    """A function whose derivative is `forward(*args) -> (out, residuals)` and `backward(residuals, cotangent) ->
    cotangents`.

    `backward` is linear in the cotangent and returns a tuple, one for each argument, None for zero. Cotangents of
    complex values follow the transpose convention, as in the table: no conjugates. Forward mode transposes `backward`.
    Those in `nondiff_argnums` come first in it.

    >>> @custom_vjp
    ... def clipped(x):
    ...     return x * 1.0
    >>> clipped.defvjp(lambda x: (x * 1.0, None), lambda residuals, t: (np.clip(t, -1.0, 1.0),))
    >>> x = Tensor(np.float64(2.0)).requires_grad_()
    >>> (5.0 * clipped(x)).backward()
    >>> x.grad
    tensor(1.)
    """

    rules: tuple[Callable, Callable] | None = None

    def defvjp(self, forward: Callable, backward: Callable) -> None:
        """Set the rule."""
        self.rules = forward, backward

    def call(self, live: tuple) -> CustomCall:
        if self.rules is None:
            raise user_error(
                GradientError,
                f"{self.name} is a custom_vjp without a rule",
                f"Give it one: {self.name}.defvjp(forward, backward).",
            )
        return VjpCall(self.name, live, *self.rules)


class VjpCall(CustomCall):
    def __init__(self, name: str, live: tuple, forward: Callable, backward: Callable):
        super().__init__(name, live)
        self.forward, self.backward = forward, backward
        self.residuals: list = []  # of the run on plain numbers, for the one walk back that is not recorded

    def run(self, x: Sequence[Any]) -> tuple:
        """As the function; where a gradient is wanted, by `forward`, whose residuals stay."""
        if not self.is_tracked:
            return super().run(x)
        out, residuals = self.forwarded(tensors(x))
        self.residuals = [tree.map(self.protected, residuals)]
        return self.plain(out)

    def protected(self, residual: Any) -> Any:
        """A copy of what the user could still change: the memory of a plain array among the arguments."""
        numbers = bare(residual)
        theirs = [a for a in self.arrays if isinstance(a, np.ndarray) and isinstance(numbers, np.ndarray)]
        return Tensor(numbers.copy()) if any(np.may_share_memory(numbers, a) for a in theirs) else residual

    def forwarded(self, x: Sequence[Any]) -> tuple:
        returned = self.forward(*self.whole(*self.assemble(x)), **self.keywords)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise self.mismatch("a", type(returned).__name__, "a pair (out, residuals) from forward")
        return returned

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list:
        plain = not any(isinstance(v, Array) for v in (*t, *x))
        if plain and self.residuals:
            residuals = self.residuals.pop()
        else:
            _, residuals = self.forwarded(tensors(x, t))
        t = [zeros(spec) if c is None else c for c, spec in zip(t, self.specs, strict=True)]
        return self.pulled(residuals, tensors(t, x), x)

    def pulled(self, residuals: Any, t: Sequence[Any], x: Sequence[Any]) -> list:
        """What backward returns, one cotangent for each array among the arguments."""
        returned = self.backward(*self.constants, residuals, tree.unflatten(self.structure_out, t))
        children = self.structure.children
        if not isinstance(returned, tuple | list) or len(returned) != len(children):
            got = (
                f"{len(returned)} cotangents" if isinstance(returned, tuple | list) else f"a {type(returned).__name__}"
            )
            raise self.mismatch(got, "", f"a tuple of {len(children)}, one for each argument,")
        leaves: list = []
        for c, child in zip(returned, children, strict=True):
            part, structure = tree.flatten(c)
            if c is not None and structure != child:
                raise self.mismatch("a cotangent of structure", structure, child)
            leaves += part if c is not None else [None] * child.size
        cotangents = self.among_arrays(leaves)
        for c, v in zip(cotangents, x, strict=True):
            if c is not None and np.shape(c) != np.shape(v):
                raise self.mismatch("a cotangent of shape", np.shape(c), np.shape(v))
        return cotangents

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[list, list]:
        out, residuals = self.forwarded(x)
        outs = self.opened(out)
        with Transposed([zeros(y) if is_smooth(y) else None for y in outs]) as linear:
            seeds = [zeros(y) if i is None else i for y, i in zip(outs, linear.inputs, strict=True)]
            try:
                pulled = self.pulled(residuals, seeds, x)
            except TrackedValueError as error:
                error.add_note(
                    f"Forward mode transposes the backward of {self.name}, which must be written in differentiable "
                    f"operations."
                )
                raise
            pushed = linear.transpose(pulled, t)
        return outs, [zeros(y) if c is None else c for y, c in zip(outs, pushed, strict=True)]


KINDS = {"elementwise", "linear", "multilinear", "reduction", "general", "nondifferentiable"}


def primitive(
    name: str, impl: Callable, *rules: Callable | None, kind: str = "elementwise", **options: Any
) -> Callable:
    """Add an operation to the table, with all that the built-in ones have; returns the function to call.

    `impl` computes it on arrays; there is one rule for each array argument, linear in its first parameter `t`, whose
    other parameters name what it needs: inputs (`x`, `y`, `z`, or those in `inputs=`), their specs (`x_spec`), the
    output (`out`), or metadata of the operation's own. Rules are written in differentiable operations. The rules of an
    `elementwise` operation push and pull; those of a `linear` or `multilinear` one are its transposes; that of a
    `reduction` is written for axes put back; a `general` one has `jvps=` for forward mode.

        softsign = primitive("softsign", lambda x: x / (1.0 + abs(x)), lambda t, x: t / (1.0 + abs(x)) ** 2)

    >>> cube = primitive("a_cube", lambda x: x * x * x, lambda t, x: t * (3.0 * x * x))
    >>> float(cube(2.0))
    8.0
    """
    if kind not in KINDS:
        raise user_error(
            ValueError, f"primitive {name!r}: there is no kind {kind!r}", f"The kinds are {', '.join(sorted(KINDS))}."
        )
    if not rules and kind != "nondifferentiable" and options.get("vjp") is None:
        raise ValueError(
            f"primitive {name!r} needs one rule for each array argument, at {user_line()}; None where no gradient "
            f"flows."
        )
    known = UFUNCS.get(impl)  # type: ignore[call-overload]  # None for what is no ufunc
    op = getattr(kinds, kind)(name, impl, *rules, **options)
    if known is not None:
        UFUNCS[impl] = known  # type: ignore[index]  # NumPy's own function stays the operation that it was
    return op
