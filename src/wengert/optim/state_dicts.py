"""State dicts of optimisers, in PyTorch's form: states by the index of the parameter, and hyperparameters by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.errors import user_error
from wengert.optim.optimizer import Optimizer
from wengert.optim.rules import initial_part

if TYPE_CHECKING:
    from wengert.optim.rule_optimizer import RuleOptimizer


def save_groups(optimizer: Optimizer) -> list[dict[str, Any]]:
    """The hyperparameters of each group, and the indices of its parameters."""
    indices = count()
    return [{**group, "params": [next(indices) for _ in group.params]} for group in optimizer.param_groups]


def load_groups(optimizer: Optimizer, saved: Sequence[Mapping[str, Any]]) -> None:
    """Assign saved hyperparameters."""
    name, groups = type(optimizer).__name__, optimizer.param_groups
    sizes, saved_sizes = [len(group.params) for group in groups], [len(group["params"]) for group in saved]
    if sizes != saved_sizes:
        raise user_error(
            ValueError,
            f"{name} has groups of {sizes} parameters, and the state dict of {saved_sizes}",
            "Make the optimiser with the parameters and groups that it was saved with.",
        )
    for group, old in zip(groups, saved, strict=True):
        missing = [key for key in group.names if key not in old]
        if missing:
            raise user_error(ValueError, f"The state dict has no {missing[0]!r}, which {name} has", "Use one of its.")
        for key, value in old.items():
            if key != "params":
                group[key] = value


def load_state(optimizer: RuleOptimizer, saved: Mapping[int, Any]) -> None:
    """Assign saved states; parameters without one start again."""
    name, params = type(optimizer).__name__, [(p, group) for group in optimizer.param_groups for p in group.params]
    for i, (p, group) in enumerate(params):
        parts = group.settings.parts
        old = saved.get(i, {})
        if old and set(old) != set(parts):
            raise user_error(
                ValueError,
                f"The saved state of parameter {i} has {sorted(old)}, and {name} needs {sorted(parts)}",
                "Load the state of an optimiser of the same class and settings.",
            )
        if not old and p not in optimizer.state:
            continue
        for part, tensor in optimizer.state_of(p, group).items():
            new = np.asarray(old[part]) if old else initial_part(part, group.values_now(), p.shape, p.dtype)
            if new.shape != tensor.shape:
                raise user_error(
                    ValueError, f"The saved {part} of parameter {i} has shape {new.shape}, and not {tensor.shape}"
                )
            tensor[...] = new
