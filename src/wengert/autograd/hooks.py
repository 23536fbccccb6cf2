"""Hooks on the nodes of the tape: `y.grad_fn.register_hook` and `register_prehook`.

Hooks on values are methods of Tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.core.errors import GradientError, user_error
from wengert.modes.tape import Handle, Hooks, TapeNode
from wengert.modes.tensor import replacement, to_gradient


def register_hook(node: TapeNode, hook: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> Handle:
    """Call `hook(grad_inputs, grad_outputs)` after this node's backward.

    Both are tuples of tensors, with None where no gradient flows. If the hook returns something, that replaces
    `grad_inputs`.
    """

    def after(cotangents: list[Any], t: Any) -> list[Any]:
        returned = hook(public_gradients(cotangents), public_gradients(cotangent_list(t)))
        return check_replacement(node_name, returned, cotangents)

    hooks, node_name = hooks_of(node), node.name
    return Handle(hooks.after, after)


def register_prehook(node: TapeNode, hook: Callable[[tuple[Any, ...]], Any]) -> Handle:
    """Call `hook(grad_outputs)` before this node's backward.

    If the hook returns something, that replaces `grad_outputs`.
    """

    def before(t: Any) -> Any:
        new = check_replacement(node_name, hook(public_gradients(cotangent_list(t))), cotangent_list(t))
        return new if isinstance(t, list) else new[0]

    hooks, node_name = hooks_of(node), node.name
    return Handle(hooks.before, before)


def hooks_of(node: TapeNode) -> Hooks:
    """The hooks of a node; raise for a leaf, which has none."""
    if node.primitive is None:
        raise user_error(
            GradientError, "A leaf has no backward to hook into", "Use x.register_hook(fn) on the tensor itself."
        )
    return node.get_hooks()


def cotangent_list(t: Any) -> list[Any]:
    """The cotangents of all outputs as a list; of one output, the engine has only the cotangent."""
    return t if isinstance(t, list) else [t]


def public_gradients(cotangents: Sequence[Any]) -> tuple[Any, ...]:
    """Cotangents as gradients for the user."""
    return tuple(None if t is None else to_gradient(t) for t in cotangents)


def check_replacement(name: str, returned: Any, old: list[Any]) -> list[Any]:
    """The cotangents that a hook returned instead of the old ones, checked; the old ones if it returned None."""
    if returned is None:
        return old
    new = list(returned) if isinstance(returned, tuple | list) else [returned]
    if len(new) != len(old):
        raise user_error(GradientError, f"A hook on {name} returned {len(new)} gradients in place of {len(old)}")
    return [
        None if g is None or t is None else replacement(g, t, f"A hook on {name} returned gradient {i}")
        for i, (g, t) in enumerate(zip(new, old, strict=True))
    ]


TapeNode.register_hook = register_hook  # type: ignore[method-assign, assignment]  # declared in tape.py
TapeNode.register_prehook = register_prehook  # type: ignore[method-assign, assignment]  # likewise
