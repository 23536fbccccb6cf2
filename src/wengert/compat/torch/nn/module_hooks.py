"""Hooks of modules: functions that are called before and after `forward`, and with the gradients of both sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from wengert.autograd.function import Function
from wengert.compat.torch.values import TorchValue, adopt, hand_in, plain
from wengert.modes.tape import Handle


class Hook(NamedTuple):
    """A function, and whether it also gets the keyword arguments of the call."""

    function: Callable[..., Any]
    with_kwargs: bool = False


class ModuleHooks:
    """The hooks of one module, by when they are called."""

    def __init__(self) -> None:
        self.before: dict[int, Any] = {}
        self.after: dict[int, Any] = {}
        self.gradients: dict[int, Any] = {}
        self.output_gradients: dict[int, Any] = {}

    def add(self, when: str, hook: Hook, prepend: bool) -> Handle:
        """Add a hook behind the others, or before them."""
        hooks: dict[int, Any] = getattr(self, when)
        others = dict(hooks) if prepend else {}
        for key in others:
            del hooks[key]
        handle = Handle(hooks, hook)  # type: ignore[arg-type]  # a handle only removes it
        hooks.update(others)
        return handle

    def __deepcopy__(self, memo: Any) -> ModuleHooks:
        copied = ModuleHooks()
        for when in ("before", "after", "gradients", "output_gradients"):
            getattr(copied, when).update(getattr(self, when))
        return copied

    def run(self, module: Any, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call `forward` with all hooks around it."""
        for hook in list(self.before.values()):
            changed = hook.function(module, args, kwargs) if hook.with_kwargs else hook.function(module, args)
            if changed is not None:
                args, kwargs = changed if hook.with_kwargs else (as_tuple(changed), kwargs)
        has_gradients = self.gradients or self.output_gradients
        noted = GradientHooks(self, module) if has_gradients else None
        if noted is not None:
            args = noted.watch_inputs(args)
        out = forward(*args, **kwargs)
        for hook in list(self.after.values()):
            changed = hook.function(module, args, *([kwargs] if hook.with_kwargs else []), out)
            out = out if changed is None else changed
        return out if noted is None else noted.watch_outputs(out)


class GradientHooks:
    """One call of a module whose gradients are watched: identities around it, which call the hooks."""

    def __init__(self, hooks: ModuleHooks, module: Any):
        self.hooks, self.module = hooks, module
        self.grad_output: tuple[Any, ...] = ()
        self.is_watching_inputs = False

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with gradients that pass the hooks."""
        live = [i for i, x in enumerate(args) if isinstance(x, TorchValue) and x.requires_grad]  # type: ignore[attr-defined]  # a value
        if not live:
            return args
        self.is_watching_inputs = True

        def leave(*grads: Any) -> tuple[Any, ...]:
            given: list[Any] = [None] * len(args)
            for i, grad in zip(live, grads, strict=True):
                given[i] = grad
            given = list(self.call_hooks(tuple(given)))
            return tuple([given[i] for i in live])

        watched = watch(leave, [args[i] for i in live])
        new = list(args)
        for i, x in zip(live, watched, strict=True):
            new[i] = x
        return tuple(new)

    def watch_outputs(self, out: Any) -> Any:
        """The results, with gradients that are noted, and that hooks may replace."""
        outputs = as_tuple(out)
        live = [i for i, x in enumerate(outputs) if isinstance(x, TorchValue) and x.requires_grad]  # type: ignore[attr-defined]  # a value
        if not live:
            return out

        def enter(*grads: Any) -> tuple[Any, ...]:
            given: list[Any] = [None] * len(outputs)
            for i, grad in zip(live, grads, strict=True):
                given[i] = grad
            self.grad_output = tuple(given)
            for hook in list(self.hooks.output_gradients.values()):
                changed = hook.function(self.module, self.grad_output)
                self.grad_output = self.grad_output if changed is None else as_tuple(changed)
            if not self.is_watching_inputs:
                self.call_hooks((None,))
            return tuple([self.grad_output[i] for i in live])

        new = list(outputs)
        for i, x in zip(live, watch(enter, [outputs[i] for i in live]), strict=True):
            new[i] = x
        return tuple(new) if isinstance(out, tuple) else new[0]

    def call_hooks(self, grad_input: tuple[Any, ...]) -> tuple[Any, ...]:
        """The gradients of the inputs after the hooks have seen them."""
        for hook in list(self.hooks.gradients.values()):
            changed = hook.function(self.module, grad_input, self.grad_output)
            grad_input = grad_input if changed is None else as_tuple(changed)
        return grad_input


def watch(see: Callable[..., tuple[Any, ...]], values: list[Any]) -> tuple[Any, ...]:
    """The same values, whose gradients `see` gets, and may replace, in the backward pass."""

    class Watch(Function):
        @staticmethod
        def forward(ctx: Any, *xs: Any) -> Any:
            return tuple([x.clone() for x in xs]) if len(xs) > 1 else xs[0].clone()

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return plain(see(*hand_in(grads)))

    return as_tuple(adopt(Watch.apply(*plain(values))))


def as_tuple(x: Any) -> tuple[Any, ...]:
    """Several values as they are, and one as the only one of several."""
    return x if isinstance(x, tuple) else (x,)
