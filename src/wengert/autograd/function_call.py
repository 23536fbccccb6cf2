"""Functions on values of other modes: in traced and batched functions, in forward mode, and combinations of these.

There, one application of a `Function` is a call with a rule that pulls cotangents, as `custom_vjp` makes it. Forward
mode uses the `jvp` of the class if it has one, and transposes `backward` otherwise.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.autograd.function_context import Context
from wengert.control.call import call_operation
from wengert.control.custom import VjpCall, custom_jvp
from wengert.control.values import is_smooth
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.core.levels import iterate_payloads
from wengert.modes import recording
from wengert.modes.forward import zeros_like
from wengert.modes.tensor import Tensor
from wengert.transforms.products import stop_gradient

CONTAINERS = (list, tuple, dict)


def has_other_modes(args: Sequence[Any]) -> bool:
    """Whether an argument is a value that is not on a tape only, or belongs to a function that is traced."""
    layers = [layer for a in args for layer in iterate_payloads(a)]
    return any(not isinstance(layer, Tensor) for layer in layers) or (
        bool(layers) and recording.current_trace() is not None
    )


def apply_in_mode(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `cls.apply` returns for such values."""
    call = FunctionCall(cls, args, kwargs)
    out = call(call_operation(cls.__name__))
    if isinstance(out, tuple):
        return tuple([stop_gradient(y) if i in call.constants else y for i, y in enumerate(out)])
    return stop_gradient(out) if call.constants else out


class FunctionCall(VjpCall):
    """One application of a Function: values that the user passed by position are its arrays."""

    def __init__(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]):
        live = tuple([a for a in args if isinstance(a, Array)])
        super().__init__(cls.__name__, live, self.save, self.run_user_backward)
        self.cls, self.kwargs = cls, kwargs
        self.args = tuple([None if isinstance(a, Array) else a for a in args])
        self.is_live = [isinstance(a, Array) for a in args]
        in_trace = recording.current_trace() is not None
        self.needs = tuple(isinstance(a, Array) and needs_gradient(a, in_trace) for a in args)
        self.constants: set[int] = set()  # the outputs that are marked as not differentiable
        self.context = ModeContext(self.name, self.needs)
        self.function = lambda *live: self.run_user_forward(live)[1]

    def captured_by_function(self) -> slice:
        """None: what forward captures, such as the parameters of a module, has no gradient."""
        return slice(0, 0)

    def run_user_forward(self, live: Sequence[Any]) -> tuple[ModeContext, Any]:
        """The context after forward, and what forward returned."""
        given = iter(live)
        args = [next(given) if is_live else a for a, is_live in zip(self.args, self.is_live, strict=True)]
        ctx = ModeContext(self.name, self.needs)
        with self.explain("forward"):
            returned = recording.as_read(self.cls.forward)(ctx, *args, **self.kwargs)
        outs = tuple(returned) if isinstance(returned, list) else returned
        marked = ctx._nondifferentiable
        found = enumerate(outs if isinstance(outs, tuple) else (outs,))
        self.constants = {i for i, y in found if any(y is c for c in marked)}
        return ctx, outs

    def save(self, *live: Any) -> tuple[Any, Any]:
        """What forward returned, and what it saved."""
        self.context, outs = self.run_user_forward(live)
        return outs, self.context._pack()

    def run_user_backward(self, residuals: Any, t: Any) -> list[Any]:
        """The cotangents of the live arguments, by the user's backward, which has gradients."""
        ctx = self.context._unpack(residuals)
        with self.explain("backward"):
            grads = [conjugate(c) for c in (t if isinstance(t, tuple) else (t,))]
            returned = recording.as_read(self.cls.backward)(ctx, *grads)
        found = list(returned) if isinstance(returned, tuple | list) else [returned]
        surplus, missing = found[len(self.args) :], self.needs[len(found) :]
        if any(g is not None for g in surplus) or any(missing):
            raise user_error(
                GradientError,
                f"{self.name}.backward returned {len(found)} gradients for the {len(self.args)} arguments of forward",
                "Return one for each, in the same order, and None for those without a gradient.",
            )
        found += [None] * len(missing)
        return [None if g is None else conjugate(g) for g, is_live in zip(found, self.is_live, strict=False) if is_live]

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        jvp = getattr(self.cls, "jvp", None)
        if jvp is None:
            return super().push(x, t)
        out, residuals = self.run_forward(x)
        outs = self.flatten_results(out)
        tangents = iter(t)
        given = [next(tangents) if is_live else None for is_live in self.is_live]
        with self.explain("jvp"):
            returned = recording.as_read(jvp)(self.context._unpack(residuals, "forward"), *given)
        found = returned if isinstance(returned, tuple | list) else (returned,)
        if len(found) != len(outs):
            raise self.rule_error("", f"{len(found)} tangents", f"one for each of {len(outs)} outputs")
        pushed = [zeros_like(y) if c is None else c for y, c in zip(outs, found, strict=True)]
        for y, c in zip(outs, pushed, strict=True):
            if np.shape(y) != np.shape(c):
                raise self.rule_error("a tangent of shape", np.shape(c), np.shape(y))
        return outs, pushed

    def explain(self, method: str) -> Explanation:
        """A block around a method of the user's."""
        return Explanation(f"{self.name}.{method}")


class Explanation:
    """A block around a user's method, whose errors about missing numbers say what to do."""

    def __init__(self, method: str):
        self.method = method

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, TrackedValueError) and "wg.custom_vjp" not in str(error):
            raise TrackedValueError(
                f"{self.method} needs numbers, and runs where there are none (traced, batched or in forward mode). "
                f"{error} Write it in operations of Wengert or NumPy, as the functions of wg.custom_vjp are."
            ) from error


class ModeContext(Context):
    """The context of a Function where what it saves may be values of any mode."""

    def _pack(self) -> dict[str, Any]:
        """The arrays that forward saved, as a tree: residuals."""
        named = {name: arrays_in(x) for name, x in vars(self).items() if is_saved(name, x)}
        return {"backward": self._to_save, "forward": self._to_forward, "named": named}

    def _unpack(self, residuals: dict[str, Any], kind: str = "backward") -> ModeContext:
        """A context whose saved values are these; `kind` says what `saved_tensors` gives."""
        new = copy.copy(self)
        chosen = kind if kind == "backward" or self._to_forward else "backward"
        new._to_save = residuals[chosen]
        for name, arrays in residuals["named"].items():
            setattr(new, name, put_arrays(vars(self)[name], iter(arrays)))
        return new

    def _forbid(self) -> ModeContext:
        """A context whose saved values have no derivative: asking for one raises."""
        residuals = tree.map(lambda x: dead_end(self._name, x), self._pack())
        return self._unpack(residuals)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given."""
        return self._to_save


def is_saved(name: str, x: Any) -> bool:
    """Whether an attribute has arrays."""
    return not name.startswith("_") and bool(arrays_in(x))


def arrays_in(x: Any) -> list[Any]:
    """The arrays in an attribute, which may be a list, tuple or dict."""
    if isinstance(x, CONTAINERS):
        return [a for part in (x.values() if isinstance(x, dict) else x) for a in arrays_in(part)]
    return [x] if isinstance(x, Array | np.ndarray) else []


def put_arrays(x: Any, arrays: Any) -> Any:
    """The same attribute with other arrays."""
    if isinstance(x, dict):
        return {key: put_arrays(part, arrays) for key, part in x.items()}
    if isinstance(x, list | tuple):
        parts = [put_arrays(part, arrays) for part in x]
        return parts if isinstance(x, list) else tuple(parts)
    return next(arrays) if isinstance(x, Array | np.ndarray) else x


def dead_end(name: str, x: Any) -> Any:
    """The same value, whose derivative is an error."""
    if not isinstance(x, Array) or not is_smooth(x):
        return x

    def refuse(*_: Any) -> Any:
        raise user_error(
            GradientError, f"There is no second derivative of {name}", because="it is marked once_differentiable."
        )

    constant = custom_jvp(lambda x: x * 1.0)
    constant.defjvp(refuse)
    return constant(x)


def conjugate(t: Any) -> Any:
    """A gradient of a cotangent, or the other way round."""
    return np.conj(t) if np.dtype(getattr(t, "dtype", float)).kind == "c" else t


def needs_gradient(x: Any, in_trace: bool) -> bool:
    """Whether a gradient with respect to an argument may be asked for."""
    if x.dtype.kind not in "fc":
        return False
    layers = list(iterate_payloads(x))
    return in_trace or any(not isinstance(layer, Tensor) or layer.requires_grad for layer in layers)
