"""`Optimizer`: what all optimisers have, groups of parameters with hyperparameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from wengert.core.errors import user_error
from wengert.modes import recording
from wengert.modes.forward import zeros_like
from wengert.modes.guards import note_change
from wengert.modes.tensor import Tensor
from wengert.optim.groups import ParameterGroup
from wengert.optim.rules import Rule


class Optimizer:
    """The base of all optimisers. `param_groups` has the hyperparameters, which may be changed between steps.

    >>> import wengert as wg
    >>> w, b = wg.tensor([1.0, 2.0], requires_grad=True), wg.tensor(0.5, requires_grad=True)
    >>> optimizer = wg.optim.SGD([{"params": [w]}, {"params": [b], "lr": 0.01}], lr=0.1)
    >>> isinstance(optimizer, Optimizer), [group["lr"] for group in optimizer.param_groups]
    (True, [0.1, 0.01])
    """

    rule: ClassVar[Rule | None] = None
    """The update rule, of optimisers that consist of one."""

    closure: ClassVar[str] = "optional"
    """Whether `step` must be given a function: "optional", "needed" to compute loss and gradients, "of parameters"."""

    def __init__(self, params: Any, **defaults: Any):
        refuse_negative(type(self).__name__, defaults)
        self.defaults = defaults
        self.param_groups: list[ParameterGroup] = []
        for group in as_groups(type(self).__name__, params):
            self.add_param_group(group)

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Add parameters, `{"params": [...]}`, with other hyperparameters than the rest."""
        name = type(self).__name__
        given = param_group["params"]
        params = [given] if isinstance(given, Tensor) else list(given)
        hyperparameters = {**self.defaults, **{k: v for k, v in param_group.items() if k != "params"}}
        refuse_negative(name, hyperparameters)
        known = {id(p) for p in self.parameters()}
        for i, p in enumerate(params):
            refuse_no_leaf(name, p, i)
            if id(p) in known:
                raise user_error(
                    ValueError,
                    f"Parameter {i} of shape {p.shape} is in {name} twice",
                    "Give each parameter once, in one group: it would be updated twice in each step.",
                )
            known.add(id(p))
        self.param_groups.append(ParameterGroup(params, hyperparameters, self.rule))
        note_change()

    def groups(self) -> tuple[ParameterGroup, ...]:
        """The groups of parameters; a trace relies on them."""
        trace = recording.current_trace()
        return tuple(self.param_groups) if trace is None else trace.read(self.param_groups, tuple)

    def parameters(self) -> Iterator[Tensor]:
        """The parameters of all groups."""
        return (p for group in self.groups() for p in group.params)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients of all parameters, or set them to zero."""
        for p in self.parameters():
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad = zeros_like(p)

    def step(self, closure: Callable[..., Any] | None = None) -> Any:
        """Update the parameters from their gradients, which a `closure` may compute first; returns its loss."""
        raise NotImplementedError  # each optimiser has its own

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs to continue: copies of the state, and the hyperparameters of each group."""
        raise NotImplementedError  # each optimiser has its own

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        raise NotImplementedError  # each optimiser has its own

    def __repr__(self) -> str:
        groups = "".join(f"\n  {group!r}" for group in self.param_groups)
        if groups:
            return f"{type(self).__name__}({groups}\n)"
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.defaults.items())})"


def as_groups(name: str, params: Any) -> list[Mapping[str, Any]]:
    """The argument of an optimiser: tensors, or groups of them, as groups; none if it is None."""
    if params is None:
        return []
    if isinstance(params, Tensor):
        raise user_error(TypeError, f"{name} was given one tensor", "Give a list of parameters: [p].")
    if not isinstance(params, Iterable) or isinstance(params, Mapping):
        raise user_error(
            TypeError, f"{name} was given a {type(params).__name__}", "Give a list of parameters: model.parameters()."
        )
    given = list(params)
    if not given:
        raise user_error(ValueError, f"{name} was given no parameters")
    return given if isinstance(given[0], Mapping) else [{"params": given}]


def refuse_no_leaf(name: str, p: Any, i: int) -> None:
    """Raise an error for what is no parameter."""
    if not isinstance(p, Tensor) or p.level:
        raise user_error(
            TypeError,
            f"Parameter {i} of {name} is a {type(p).__name__}",
            "Parameters are tensors, wg.tensor(data, requires_grad=True). For trees of arrays, use init and update.",
        )
    if not p.is_leaf:
        raise user_error(
            ValueError, f"Parameter {i} of {name} is no leaf: it was made by {p.grad_fn}", "Give p.detach()."
        )
    if p.dtype.kind != "f":
        raise user_error(
            TypeError,
            f"Parameter {i} of {name} has dtype {p.dtype}",
            "Give real and imaginary parts as two parameters.",
        )


def refuse_negative(name: str, hyperparameters: Mapping[str, Any]) -> None:
    """Raise an error for hyperparameters that no rule can use."""
    for key, value in hyperparameters.items():
        values = value if isinstance(value, tuple | list) else (value,)
        wrong = [x for x in values if isinstance(x, int | float | np.number) and not x >= 0]
        if key == "betas":
            wrong += [x for x in values if isinstance(x, int | float) and not x < 1]
        if wrong:
            limit = "between 0 and 1, less than 1" if key == "betas" else "not negative"
            raise user_error(ValueError, f"{name} was given {key}={value!r}", f"It must be {limit}.")


def refuse_traced(what: Any) -> None:
    """Raise an error in a trace, for steps that plain Python decides: they would be those of the trace for ever."""
    if recording.current_trace() is not None:
        raise user_error(
            TypeError,
            f"{type(what).__name__}.step() inside a compiled function",
            "Call it outside; what it changes is read by the compiled function.",
        )
