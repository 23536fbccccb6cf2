"""Modules as functions of their parameters: `functional_call`, and the stacked state of several models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from wengert.compat.torch.values import adopt, plain
from wengert.core.errors import user_error
from wengert.ops.shape.joining import stack

__all__ = ["functional_call", "stack_module_state"]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with these tensors in place of its parameters and buffers.

    >>> import wengert.compat.torch as torch
    >>> model = torch.nn.Linear(2, 1, bias=False)
    >>> functional_call(model, {"weight": torch.ones(1, 2)}, (torch.ones(2),)).tolist()
    [2.0]
    """
    dicts = parameter_and_buffer_dicts
    given = dict(dicts) if isinstance(dicts, Mapping) else {k: v for part in dicts for k, v in part.items()}
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with other_state(module, given, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


@contextmanager
def other_state(module: Any, given: Mapping[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    """A module with other tensors, by path. Those that are one tensor in the module are one here, too."""
    slots = dict(find_slots(module))
    unknown = [path for path in given if path not in slots]
    missing = [path for path in slots if path not in given] if strict else []
    if unknown or missing:
        raise user_error(
            RuntimeError, f"{type(module).__name__} has no tensor {(unknown or missing)[0]!r}, or needs it"
        )
    held = {path: owner.__dict__[name] for path, (owner, name) in slots.items()}
    shared = {id(held[path]): value for path, value in given.items()} if tie_weights else {}
    try:
        for path, (owner, name) in slots.items():
            owner.__dict__[name] = given[path] if path in given else shared.get(id(held[path]), held[path])
        yield
    finally:
        for path, (owner, name) in slots.items():
            owner.__dict__[name] = held[path]


def find_slots(module: Any) -> Iterator[tuple[str, tuple[Any, str]]]:
    """The paths of all parameters and buffers, each with its module and its name there."""
    for prefix, owner in module.named_modules():
        for name, value in owner.__dict__.items():
            if name in owner._parameters | owner._buffers and value is not None:
                yield f"{prefix}.{name}" if prefix else name, (owner, name)


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of models of one kind, stacked along a new first axis."""
    if not models:
        raise user_error(RuntimeError, "stack_module_state was given no models")
    params = stack_tensors([dict(model.named_parameters()) for model in models])
    buffers = stack_tensors([dict(model.named_buffers()) for model in models])
    return {path: p.requires_grad_() for path, p in params.items()}, buffers


def stack_tensors(states: list[dict[str, Any]]) -> dict[str, Any]:
    """Tensors by name, stacked along a new first axis."""
    return {path: adopt(stack([plain(state[path]).detach() for state in states])) for path in states[0]}
