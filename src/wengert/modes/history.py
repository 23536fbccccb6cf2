"""`Tensor.backward`: the backward pass from the user's tensors to the `grad` of leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import numpy_of
from wengert.core.primitive import OUTPUT
from wengert.modes import recording
from wengert.modes.backward import backward_pass
from wengert.modes.in_place import is_traced, snapshot
from wengert.modes.tape import Leaf, TapeNode
from wengert.modes.tensor import Tensor, accumulate, as_tensor, to_cotangent
from wengert.ops.shape.casting import astype


def find_seeds(outputs: Sequence[Tensor], gradients: Sequence[Any], create_graph: bool) -> list[tuple[TapeNode, Any]]:
    """The seeds of a backward pass, checked."""
    if create_graph and not recording.is_recording():
        raise user_error(
            GradientError, "create_graph=True inside inference_mode(), which records nothing", "Use no_grad() instead."
        )
    seeds: list[tuple[TapeNode, Any]] = []
    for y, gradient in zip(outputs, gradients, strict=True):
        if isinstance(y, Array) and y.level and not is_on_tape(y):
            raise user_error(
                GradientError,
                "backward inside a transform, or inside a branch or loop of a compiled function",
                because="there are no leaves whose grad it could fill. Use the transform's own result, or call "
                "backward outside.",
            )
        if not isinstance(y, Tensor) or y.node is None:
            raise user_error(
                GradientError,
                "backward needs a value that was computed from a tensor with requires_grad=True; this one has none",
                "Check that no detach(), no_grad() or integer operation cut it off.",
            )
        if gradient is None:
            if math.prod(y.shape) != 1:
                raise user_error(
                    GradientError,
                    f"backward from a value of shape {y.shape} needs `gradient`, an array of that shape (the vector of "
                    f"the vector-Jacobian product)",
                    "Only a single number needs none; y.sum().backward() may be what you want.",
                )
            t: Any = Tensor(numpy_of(y).ones(y.shape, y.dtype), y.level)
        else:
            t = as_tensor(gradient)
            if t.shape != y.shape:
                raise user_error(
                    GradientError, f"`gradient` has shape {t.shape}, the value {y.shape}", "They must be equal."
                )
            if not np.can_cast(t.dtype, y.dtype, "same_kind"):
                raise user_error(
                    GradientError, f"`gradient` of dtype {t.dtype} cannot be cast to the value's {y.dtype}"
                )
            t = to_cotangent(astype(t, y.dtype) if t.dtype != y.dtype else t)
        seeds.append((y.node, t.value if t.level == y.level and not create_graph else t))
    return seeds


def is_on_tape(y: Array) -> bool:
    """Whether this is a value of a trace with a tape."""
    trace = recording.current_trace()
    return trace is not None and trace.tape > 0 and y.level in (trace.level, trace.tape)


def current_values(tensors: Sequence[Any]) -> list[Any]:
    """Tensors, in a trace with their current values."""
    return [snapshot(x) if isinstance(x, Tensor) and is_traced(x) else x for x in tensors]


def lift(node: TapeNode, saved: tuple[Any, ...], level: int = 0) -> tuple[Any, ...]:
    """What a node saved, as tensors with histories, so that the rules that run on them are recorded."""
    primitive = node.primitive
    assert primitive is not None
    if primitive.kind == "function":
        return saved  # its context has the histories
    inputs = primitive.inputs
    lifted = []
    for name, value in zip(primitive.wanted, saved, strict=True):
        if value is None or name.endswith("_spec"):
            lifted.append(value)
        elif name == "out":
            lifted.append(Tensor(value, level, node) if primitive.outputs == 1 else output_tensors(node, value, level))
        elif name in inputs:
            parent = node.parents[inputs.index(name)]
            lifted.append(value if parent is None else Tensor(value, level, parent))
        else:
            parents = node.parents[len(inputs) - 1 :]
            lifted.append(tuple(v if p is None else Tensor(v, level, p) for v, p in zip(value, parents, strict=True)))
    return tuple(lifted)


def output_tensors(node: TapeNode, values: Sequence[Any], level: int) -> tuple[Tensor, ...]:
    """The outputs of an operation that has several, each with its history."""
    nodes = [TapeNode(OUTPUT, {"index": i}, (node,), (), value) for i, value in enumerate(values)]
    return tuple(Tensor(value, level, output) for value, output in zip(values, nodes, strict=True))


def add_to_grad(node: TapeNode, t: Any) -> None:
    """Add a complete cotangent to the `grad` of the tensor that a leaf belongs to."""
    tensor = node.owner() if isinstance(node, Leaf) and node.owner else None
    if tensor is None:
        return
    accumulate(tensor, t)
    if node.hooks is not None:
        for hook in tuple(node.hooks.accumulated.values()):
            hook(tensor)


def add_to_inputs(inputs: Sequence[Tensor]) -> Callable[[TapeNode, Any], None]:
    """`add_to_grad` for inputs that need not be leaves."""
    intermediate = [x for x in inputs if not x.is_leaf and not x.retains_grad]

    def sink(node: TapeNode, t: Any) -> None:
        add_to_grad(node, t)
        for x in intermediate:
            if x.node is node:
                accumulate(x, t)

    return sink


def has_nan(t: Any) -> bool:
    """Whether a cotangent has a NaN."""
    return bool(np.isnan(t.value if isinstance(t, Tensor) else t).any())


def check_nan(node: TapeNode, t: Any) -> None:
    """Raise for a NaN in a cotangent that a node has pulled."""
    if has_nan(t):
        line = node.hooks and node.hooks.line
        raise GradientError(
            f"The backward of {node.name} made a NaN; the operation was recorded at "
            f"{line or 'a line outside detect_anomaly()'}."
        )


def find_targets(inputs: Sequence[Tensor]) -> set[TapeNode]:
    """The nodes of the values whose gradients are wanted."""
    if len(inputs) == 0:
        raise user_error(ValueError, "`inputs` is empty", "Leave it out for the gradients of all leaves.")
    targets = set()
    for i, x in enumerate(inputs):
        if not isinstance(x, Tensor) or x.node is None:
            raise user_error(
                GradientError,
                f"inputs[{i}] does not require a gradient",
                "Make it with requires_grad=True before it is used.",
            )
        targets.add(x.node)
    return targets


def differentiate(
    outputs: Sequence[Tensor],
    gradients: Sequence[Any],
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Sequence[Tensor] | None = None,
    sink: Callable[[TapeNode, Any], None] = add_to_grad,
) -> None:
    """Run the backward pass from tensors, by default into the `grad` of leaves, or of `inputs`."""
    targets = None
    trace = recording.current_trace() if recording.active else None
    if trace is not None:
        trace.tape_holder()
        outputs = current_values(outputs)
    if inputs is not None:
        inputs = current_values(inputs)
        targets = find_targets(inputs)
        if sink is add_to_grad:
            sink = add_to_inputs(inputs)
    with recording.override(enabled=True) if create_graph else nullcontext():
        seeds = find_seeds(outputs, gradients, create_graph)
        checks = recording.active and trace is None and recording.current().check_nan
        if checks and any(has_nan(t) for _, t in seeds):
            raise user_error(GradientError, "The gradient to start from has a NaN in it already")
        backward_pass(
            seeds,
            sink,
            targets=targets,
            retain=create_graph if retain_graph is None else retain_graph,
            lift=partial(lift, level=outputs[0].level) if create_graph else None,
            check=check_nan if checks else None,
        )


def backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Add the gradient of this value to the `grad` of the leaves that it was computed from, or of `inputs`.

    A scalar needs no `gradient`; any other shape needs one of the same shape, the vector of the vector-Jacobian
    product. The history is released unless `retain_graph`; with `create_graph` the gradients themselves have a history.
    """
    differentiate([self], [gradient], retain_graph, create_graph, [inputs] if isinstance(inputs, Tensor) else inputs)


Tensor.backward = backward  # type: ignore[method-assign]  # declared in tensor.py
