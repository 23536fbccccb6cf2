"""Update rules on trees of parameters: pure functions, for compiled functions and loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.tree import leaf_paths
from wengert.modes.tensor import Tensor
from wengert.optim.rules import NUMBERS, Rule, initial_part
from wengert.transforms.boundary import flatten_arrays, unflatten_arrays


def init_state(rule: Rule, hyperparameters: Mapping[str, Any], params: Any) -> dict[str, Any]:
    """The initial state: trees like `params`, and numbers that all parameters share."""
    leaves, structure = flatten_arrays(params)
    state: dict[str, Any] = {}
    for name in rule.parts(hyperparameters):
        if name in NUMBERS:
            state[name] = np.float64(NUMBERS[name])
        else:
            parts = [initial_part(name, hyperparameters, p.shape, p.dtype) for p in leaves]
            state[name] = unflatten_arrays(structure, parts)
    return state


def update_tree(
    rule: Rule, hyperparameters: Mapping[str, Any], params: Any, grads: Any, state: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The parameters and the state after a step."""
    leaves, structure = flatten_arrays(params)
    gradients = leaves_like(leaves, structure, grads, "grads")
    columns = {name: leaves_like(leaves, structure, tree, name) for name, tree in state.items() if name not in NUMBERS}
    numbers = {name: state[name] for name in state if name in NUMBERS}
    results = []
    for i, (p, g) in enumerate(zip(leaves, gradients, strict=True)):
        own = {name: column[i] for name, column in columns.items()}
        results.append(update_leaf(rule, p, g, {**numbers, **own}, hyperparameters))
    new_state = {
        name: results[0][1][name]
        if name in NUMBERS
        else unflatten_arrays(structure, [parts[name] for _, parts in results])
        for name in state
    }
    return unflatten_arrays(structure, [p for p, _ in results]), new_state


def update_leaf(
    rule: Rule, p: Any, g: Any, state: dict[str, Any], hyperparameters: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """One parameter and its state after a step; of a leaf of the tape, a leaf."""
    if not (isinstance(p, Tensor) and not p.level and p.is_leaf and p.requires_grad):
        return rule(p, g, state, **hyperparameters)
    p, g = p.detach(), g.detach() if isinstance(g, Tensor) and not g.level else g
    new, state = rule(p, g, state, **hyperparameters)
    if isinstance(new, Tensor) and not new.level and new.node is None:
        new.requires_grad = True
    return new, state


def leaves_like(leaves: list[Any], structure: Any, tree: Any, name: str) -> list[Any]:
    """The leaves of a tree, which must have the shapes of the `leaves` and `structure` of the parameters."""
    others, _ = flatten_arrays(tree)
    if len(others) != len(leaves):
        raise user_error(
            ValueError, f"{name} has {len(others)} arrays, and the parameters {len(leaves)}", "Give trees alike."
        )
    for p, other, path in zip(leaves, others, leaf_paths(structure), strict=True):
        if other.shape != p.shape:
            raise user_error(ValueError, f"{name}{path} has shape {other.shape}, and the parameter {p.shape}")
    return others
