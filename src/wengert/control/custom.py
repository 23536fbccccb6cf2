"""User-defined rules: `custom_jvp` and `custom_vjp` for functions, `primitive` for operations of the table.

Either rule gives both modes. A rule that pushes tangents is linear in them: recorded on a tape of the tangents alone,
it is transposed for reverse mode. A rule that pulls cotangents is transposed in the same way for forward mode. Rules
run on the values that the function got, with their histories at lower levels, so that second derivatives are
derivatives of the rules.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from wengert.control.call import Call, call_operation
from wengert.control.linear_tape import LinearTape
from wengert.control.values import as_tensors, is_smooth, match_given, strip_tensor
from wengert.core import kinds, tree
from wengert.core.array import UFUNCS, Array
from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.core.levels import is_own, new_level
from wengert.modes import recording
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.tensor import Tensor

__all__ = ["custom_jvp", "custom_vjp", "primitive"]


class Custom:
    """A function with a rule: what custom_jvp and custom_vjp share."""

    def __init__(self, f: Callable[..., Any], nondiff_argnums: Sequence[int] | int = ()):
        update_wrapper(self, f)
        self.f, self.name = f, getattr(f, "__name__", "function")
        self.signature = inspect.signature(f)
        self.nondiff = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        self.primitive = call_operation(self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        nondiff = [i % len(bound.args) for i in self.nondiff]
        constant = [a if i in nondiff else None for i, a in enumerate(bound.args)]
        for leaf in tree.leaves((constant, bound.kwargs)):
            if isinstance(leaf, Array) and not (isinstance(leaf, Tensor) and leaf.node is None and not leaf.level):
                raise user_error(
                    GradientError,
                    f"{self.name} got a tracked value as an argument without derivative (nondiff_argnums, "
                    f"keyword-only)",
                    because="its gradient would be lost. Pass it as a positional argument, or detach it.",
                )
        live = tuple([a for i, a in enumerate(bound.args) if i not in nondiff])

        def whole(*live: Any) -> tuple[Any, ...]:
            rest = iter(live)
            return tuple([a if i in nondiff else next(rest) for i, a in enumerate(bound.args)])

        call = self.make_call(live)
        if not call.has_values:
            out = recording.as_read(self.f)(*bound.args, **bound.kwargs)
            return tree.map(lambda y: match_given(y, (args, kwargs)), out)
        call.function = lambda *live: recording.as_read(self.f)(*whole(*live), **bound.kwargs)
        call.bind_rule(whole, tuple([bound.args[i] for i in nondiff]), bound.kwargs)
        return call(self.primitive)

    def make_call(self, live: tuple[Any, ...]) -> CustomCall:
        """A call with these differentiable arguments."""
        raise NotImplementedError  # each kind defines it


class CustomCall(Call):
    """A call of a function with a rule.

    The rule is the derivative with respect to the arguments. With respect to values that the function captures, it is
    that of the function's operations.
    """

    has_rule = True

    def bind_rule(
        self, whole: Callable[..., tuple[Any, ...]], constants: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        """Fix the arguments without derivative, the `constants`; `whole` inserts them among the others."""
        raise NotImplementedError  # each kind defines it

    def captured_by_function(self) -> slice:
        """Which arrays the function, not its rule, captured."""
        closure = self.closures.get("function")
        return slice(0, 0) if closure is None else slice(closure.start, closure.stop)

    def push_captured(self, x: Sequence[Any], t: Sequence[Any], pushed: Sequence[Any]) -> list[Any]:
        """The tangents that a rule pushed, and those from the values that the function captured, added."""
        where = self.captured_by_function()
        if where.start == where.stop:
            return list(pushed)
        level = new_level()
        values = list(x)
        values[where] = [Dual(v, c, level) if is_smooth(v) else v for v, c in zip(x[where], t[where], strict=True)]
        outs = tree.leaves(self.evaluate(values))
        return [c + y.tangent if is_own(y, Dual, level) else c for c, y in zip(pushed, outs, strict=True)]

    def pull_captured(
        self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool], pulled: Sequence[Any]
    ) -> list[Any]:
        """The cotangents that a rule pulled, for the arguments, and those of all other arrays behind them."""
        where = self.captured_by_function()
        found: list[Any] = [*pulled, *[None] * (len(x) - len(pulled))]
        if any(live[where]):
            with LinearTape([v if alive else None for v, alive in zip(x[where], live[where], strict=True)]) as tape:
                values = as_tensors(x, t)
                values[where] = [v if i is None else i for v, i in zip(values[where], tape.inputs, strict=True)]
                found[where] = tape.transpose(tree.leaves(self.evaluate(values)), t)
        return found

    def rule_error(self, what: str, got: Any, wanted: Any) -> GradientError:
        return user_error(GradientError, f"The rule of {self.name} returned {what} {got} where {wanted} was needed")


class custom_jvp(Custom):  # a decorator
    """A function whose derivative is `rule(primals, tangents) -> (out, tangent_out)`, linear in the tangents.

    Reverse mode transposes the rule. Arguments may be trees. Those in `nondiff_argnums` are passed first to the rule.

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

    rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule; use it as a decorator."""
        self.rule = rule
        return rule

    def make_call(self, live: tuple[Any, ...]) -> CustomCall:
        if self.rule is None:
            raise user_error(
                GradientError, f"{self.name} is a custom_jvp without a rule", f"Give it one: @{self.name}.defjvp."
            )
        return JvpCall(self.name, live, self.rule)


class JvpCall(CustomCall):
    """A call of a function with a rule that pushes tangents."""

    def __init__(self, name: str, live: tuple[Any, ...], rule: Callable[..., Any]):
        super().__init__(name, live)
        self.rule = rule

    def bind_rule(
        self,
        whole: Callable[..., tuple[Any, ...]],  # noqa: ARG002  # as in CustomCall
        constants: tuple[Any, ...],
        keywords: dict[str, Any],  # noqa: ARG002  # the same
    ) -> None:
        rule = self.rule
        self.rule = lambda primals, tangents: recording.as_read(rule)(*constants, primals, tangents)

    def tangents(self, t: Sequence[Any]) -> tuple[Any, ...]:
        """Tangents in the structure of the arguments."""
        return self.assemble(t, lambda fixed: 0.0 if isinstance(fixed, float | int | complex) else None)

    def close(self) -> None:
        arrays = list(self.arrays)
        super().close()
        self.close_over("rule", (self.assemble(arrays), self.tangents([zeros_like(a) for a in arrays])))

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        outs, pushed = self.run_rule(x, t)
        return outs, self.push_captured(x, t, pushed)

    def run_rule(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The results and their tangents that the rule returns."""
        returned = self.held("rule", x)(self.assemble(x), self.tangents(t))
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise self.rule_error("a", type(returned).__name__, "a pair (out, tangent_out)")
        outs = self.flatten_results(returned[0])
        pushed, structure = tree.flatten(returned[1])
        if structure != self.structure_out:
            raise self.rule_error("a tangent of structure", structure, self.structure_out)
        for y, c in zip(outs, pushed, strict=True):
            if np.shape(y) != np.shape(c):
                raise self.rule_error("a tangent of shape", np.shape(c), np.shape(y))
        return outs, pushed

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list[Any]:
        own = len(self.select_arrays(self.leaves))
        with LinearTape([zeros_like(v) if alive else None for v, alive in zip(x[:own], live, strict=False)]) as linear:
            _, pushed = self.run_rule(
                as_tensors(x, t), [zeros_like(v) if i is None else i for v, i in zip(x, linear.inputs, strict=False)]
            )
            pulled = linear.transpose(pushed, t)
        return self.pull_captured(t, x, live, pulled)


class custom_vjp(Custom):  # a decorator
    """A function whose derivative is given by a forward and a backward function.

    `forward(*args)` returns (out, residuals). `backward(residuals, cotangent)` is linear in the cotangent and returns a
    tuple of cotangents, one for each argument, None for zero. Cotangents of complex values follow the transpose
    convention, without conjugates. Forward mode transposes `backward`. Arguments in `nondiff_argnums` are passed first
    to `backward`.

    >>> @custom_vjp
    ... def clipped(x):
    ...     return x * 1.0
    >>> clipped.defvjp(lambda x: (x * 1.0, None), lambda residuals, t: (np.clip(t, -1.0, 1.0),))
    >>> x = Tensor(np.float64(2.0)).requires_grad_()
    >>> (5.0 * clipped(x)).backward()
    >>> x.grad
    tensor(1.)
    """

    rules: tuple[Callable[..., Any], Callable[..., Any]] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Set the rule."""
        self.rules = forward, backward

    def make_call(self, live: tuple[Any, ...]) -> CustomCall:
        if self.rules is None:
            raise user_error(
                GradientError,
                f"{self.name} is a custom_vjp without a rule",
                f"Give it one: {self.name}.defvjp(forward, backward).",
            )
        return VjpCall(self.name, live, *self.rules)


class VjpCall(CustomCall):
    """A call of a function with a rule that pulls cotangents."""

    def __init__(self, name: str, live: tuple[Any, ...], forward: Callable[..., Any], backward: Callable[..., Any]):
        super().__init__(name, live)
        self.forward, self.backward = forward, backward
        self.residuals: list[Any] = []  # of the run on plain arrays, for one backward pass that is not recorded

    def bind_rule(
        self, whole: Callable[..., tuple[Any, ...]], constants: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        forward, backward = self.forward, self.backward
        self.forward = lambda *args: recording.as_read(forward)(*whole(*args), **keywords)
        self.backward = lambda residuals, t: recording.as_read(backward)(*constants, residuals, t)

    def close(self) -> None:
        arrays = list(self.arrays)
        super().close()
        args = self.assemble(arrays)
        self.close_over("forward", args)
        returned = self.closures["forward"].closed.zeros()
        if isinstance(returned, tuple) and len(returned) == 2:  # else the rule raises when it runs
            self.close_over("backward", returned[::-1])

    def run(self, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results of the function; where a gradient is wanted, those of `forward`, whose residuals are kept."""
        if not self.is_tracked:
            return super().run(x)
        out, residuals = self.run_forward(as_tensors(x))
        self.residuals = [tree.map(self.protect, residuals)]
        return self.strip_results(out)

    def protect(self, residual: Any) -> Any:
        """A residual, copied if it shares memory with a plain array among the arguments, which may change."""
        numbers = strip_tensor(residual)
        theirs = [a for a in self.arrays if isinstance(a, np.ndarray) and isinstance(numbers, np.ndarray)]
        return Tensor(numbers.copy()) if any(np.may_share_memory(numbers, a) for a in theirs) else residual

    def run_forward(self, x: Sequence[Any]) -> tuple[Any, ...]:
        returned = self.held("forward", x)(*self.assemble(x))
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise self.rule_error("a", type(returned).__name__, "a pair (out, residuals) from forward")
        return returned

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list[Any]:
        plain = not any(isinstance(v, Array) for v in (*t, *x))
        if plain and self.residuals:
            residuals = self.residuals.pop()
        else:
            _, residuals = self.run_forward(as_tensors(x, t))
        given = [zeros_like(spec, *t) if c is None else c for c, spec in zip(t, self.specs, strict=True)]
        return self.pull_captured(t, x, live, self.run_backward(residuals, as_tensors(given, x), x))

    def run_backward(self, residuals: Any, t: Sequence[Any], x: Sequence[Any]) -> list[Any]:
        """The cotangents that `backward` returns, one for each array among the arguments."""
        returned = self.held("backward", x)(residuals, tree.unflatten(self.structure_out, t))
        children = self.structure.children
        if not isinstance(returned, tuple | list) or len(returned) != len(children):
            is_sequence = isinstance(returned, tuple | list)
            got = f"{len(returned)} cotangents" if is_sequence else f"a {type(returned).__name__}"
            raise self.rule_error(got, "", f"a tuple of {len(children)}, one for each argument,")
        leaves: list[Any] = []
        for c, child in zip(returned, children, strict=True):
            part, structure = tree.flatten(c)
            if c is not None and structure != child:
                raise self.rule_error("a cotangent of structure", structure, child)
            leaves += part if c is not None else [None] * child.size
        cotangents = self.select_arrays(leaves)
        for c, v in zip(cotangents, x, strict=False):
            if c is not None and np.shape(c) != np.shape(v):
                raise self.rule_error("a cotangent of shape", np.shape(c), np.shape(v))
        return cotangents

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        out, residuals = self.run_forward(x)
        outs = self.flatten_results(out)
        with LinearTape([zeros_like(y) if is_smooth(y) else None for y in outs]) as linear:
            seeds = [zeros_like(y) if i is None else i for y, i in zip(outs, linear.inputs, strict=True)]
            try:
                pulled = self.run_backward(residuals, seeds, x)
            except TrackedValueError as error:
                error.add_note(
                    f"Forward mode transposes the backward of {self.name}, which must be written in differentiable "
                    f"operations."
                )
                raise
            pushed = linear.transpose(pulled, t[: len(pulled)])
        pushed = [zeros_like(y) if c is None else c for y, c in zip(outs, pushed, strict=True)]
        return outs, self.push_captured(x, t, pushed)


KINDS = {"elementwise", "linear", "multilinear", "reduction", "general", "nondifferentiable"}


def primitive(
    name: str, impl: Callable[..., Any], *rules: Callable[..., Any] | None, kind: str = "elementwise", **options: Any
) -> Callable[..., Any]:
    """Add an operation to the table, equal to the built-in ones, and return the function that applies it.

    `impl` computes it on arrays. There is one rule for each array argument, linear in its first parameter `t`; its
    other parameters name what it needs: inputs (`x`, `y`, `z`, or those in `inputs=`), their specs (`x_spec`), the
    output (`out`), or parameters of the operation. Rules are written in differentiable operations. The rules of an
    `elementwise` operation push and pull. Those of a `linear` or `multilinear` operation are its transposes. The rule
    of a `reduction` sees the reduced axes with length one. A `general` operation has `jvps=` for forward mode.

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
        raise user_error(
            ValueError,
            f"primitive {name!r} needs one rule for each array argument",
            "Pass None for arguments without gradient.",
        )
    known = UFUNCS.get(impl)  # type: ignore[call-overload]  # None if impl is no ufunc
    op: Callable[..., Any] = getattr(kinds, kind)(name, impl, *rules, **options)
    if known is not None:
        UFUNCS[impl] = known  # type: ignore[index]  # NumPy's function keeps its operation
    return op
