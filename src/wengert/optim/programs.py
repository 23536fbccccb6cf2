"""The update of all parameters as one program, which writes into their buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.modes.tensor import Tensor
from wengert.optim.groups import ParameterGroup
from wengert.optim.rules import Rule

Members = Sequence[tuple[ParameterGroup, Sequence[tuple[Tensor, dict[str, Tensor]]]]]
"""Groups, with parameters and their states."""


def update_all(rule: Rule, members: Members, grads: Sequence[Any]) -> None:
    """Apply a rule to parameters, and assign the new values and states."""
    remaining = iter(grads)
    for group, parameters in members:
        hyperparameters = {name: group.element(name) for name in group.names}
        is_ascent = hyperparameters.pop("maximize")
        for p, state in parameters:
            g = next(remaining)
            new, new_state = rule(p, -g if is_ascent else g, state, **hyperparameters)
            p[...] = new
            for name, value in new_state.items():
                state[name][...] = value


def update_program(name: str, rule: Rule, members: Members) -> Callable[..., None]:
    """`update_all` as a function of the gradients: native code, or NumPy's operations where there is no LLVM."""

    def update(*grads: Any) -> None:
        update_all(rule, members, grads)

    update.__name__ = f"{name}.step"
    try:
        from wengert.compiler.compiled import compile as compiled  # LLVM is loaded when something is compiled
    except ImportError:
        return update
    return compiled(update)
