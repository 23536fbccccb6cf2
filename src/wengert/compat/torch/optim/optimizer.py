"""`Optimizer`: the base of PyTorch's optimisers, and of those that users write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from wengert.compat.torch.values import adopt, plain
from wengert.core.errors import user_error
from wengert.modes import recording
from wengert.optim.optimizer import Optimizer as EngineOptimizer
from wengert.optim.state_dicts import load_groups, save_groups

UNUSED = ("foreach", "fused", "capturable", "differentiable")
"""Arguments that choose between implementations of the same numbers."""


class IsOptimizer(type):
    """`isinstance(x, torch.optim.Optimizer)` holds for all optimisers."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, EngineOptimizer) if cls is Optimizer else type.__instancecheck__(cls, x)


class Optimizer(EngineOptimizer, metaclass=IsOptimizer):
    """The base of optimisers that users write: `step` changes the parameters of `param_groups`.

    >>> import wengert.compat.torch as torch
    >>> class Descent(Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...
    ...     @torch.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.add_(p.grad, alpha=-group["lr"])
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> optimizer = Descent([x], lr=0.1)
    >>> (x * x).backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    1.6
    """

    def __init__(self, params: Any, defaults: Mapping[str, Any]):
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        super().__init__(params, **defaults)

    def state_dict(self) -> dict[str, Any]:
        """The states of the parameters, by their index, and the hyperparameters of each group."""
        states = {i: dict(self.state[p]) for i, p in enumerate(self.parameters()) if p in self.state}
        return {"state": states, "param_groups": save_groups(self)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        load_groups(self, state_dict["param_groups"])
        params = list(self.parameters())
        self.state = defaultdict(dict, {params[i]: dict(state) for i, state in state_dict["state"].items()})


class EngineSteps(EngineOptimizer):
    """What the optimisers of `wg.optim` have in common in this layer."""

    def __init__(self, params: Any, *args: Any, **kwargs: Any):
        for name in UNUSED:
            if kwargs.pop(name, None) and name == "differentiable":
                raise user_error(
                    NotImplementedError,
                    "differentiable=True: an update is not recorded",
                    "Use torch.func, or w - lr * g.",
                )
        super().__init__(params, *plain(args), **plain(kwargs))

    def apply_rule(self, p: Any, state: dict[str, Any], hyperparameters: dict[str, Any]) -> tuple[Any, Any]:
        return self.rule(plain(p), plain(p.grad), state, **hyperparameters)  # type: ignore[misc]  # where it has one

    def state_dict(self) -> dict[str, Any]:
        """The states of the parameters, by their index, and the hyperparameters of each group."""
        return adopt(super().state_dict())

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        with recording.override(enabled=False):
            super().load_state_dict(plain(dict(state_dict)))
