"""One step of training, and of validation, as functions of a batch; compiled, each is one native program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.autograd.grad_mode import no_grad
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.nn.module import Module
from wengert.nn.state import join_names

Step = Callable[[Any], tuple[Any, Any]]
"""A function of a batch that returns the loss and the output of the model."""


def training_step(
    model: Module,
    loss: Callable[[Any, Any], Any],
    optimizer: Any,
    before_step: Callable[[], Any] | None,
    keeps_output: bool,
    compiled: bool,
) -> Step:
    """The step that changes the parameters, by the gradient of the loss of a batch."""

    def forward_and_backward(batch: Any) -> tuple[Any, Any]:
        value, output = loss_of(model, loss, batch)
        value.backward()
        if before_step is not None:
            before_step()
        return value.detach(), detach_output(output) if keeps_output else None

    def step(batch: Any) -> tuple[Any, Any]:
        result = forward_and_backward(batch)
        optimizer.step()
        optimizer.zero_grad()
        return result

    def search(batch: Any) -> tuple[Any, Any]:
        """The step of an optimiser that evaluates the loss several times, such as L-BFGS."""
        outputs: list[Any] = []

        def closure() -> Any:
            optimizer.zero_grad()
            value, output = evaluate(batch)
            outputs.append(output)
            return value

        value = optimizer.step(closure)
        return value, outputs[0]

    if optimizer_closure(optimizer) == "needed":
        evaluate = compile_step(forward_and_backward) if compiled else forward_and_backward
        return search
    return compile_step(step) if compiled else step


def validation_step(model: Module, loss: Callable[[Any, Any], Any], keeps_output: bool, compiled: bool) -> Step:
    """The loss of a batch, without a gradient."""

    def evaluate(batch: Any) -> tuple[Any, Any]:
        value, output = loss_of(model, loss, batch)
        return value, detach_output(output) if keeps_output else None

    run = compile_step(evaluate) if compiled else evaluate

    def step(batch: Any) -> tuple[Any, Any]:
        with no_grad():
            return run(batch)

    return step


def loss_of(model: Module, loss: Callable[[Any, Any], Any], batch: Any) -> tuple[Any, Any]:
    """The loss and the output of the model; a batch that is no pair is the input and the target."""
    inputs, targets = input_and_target(batch)
    output = model(inputs)
    value = loss(output, targets)
    if getattr(value, "size", 1) != 1:
        raise user_error(
            ValueError, f"The loss has shape {value.shape}, and should be a number", "Return its mean: loss.mean()."
        )
    return value, output


def input_and_target(batch: Any) -> tuple[Any, Any]:
    """The parts of a batch."""
    return (batch[0], batch[1]) if isinstance(batch, tuple | list) and len(batch) == 2 else (batch, batch)


def count_samples(batch: Any) -> int:
    """The number of samples of a batch."""
    return len(tree.flatten(batch)[0][0])


def detach_output(output: Any) -> Any:
    """An output without history."""
    return tree.map(lambda leaf: leaf.detach() if isinstance(leaf, Array) else leaf, output)


def plain_output(output: Any) -> Any:
    """An output as arrays of NumPy, for metrics."""
    return tree.map(lambda leaf: leaf.detach().numpy() if isinstance(leaf, Array) else leaf, output)


def compile_step(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step as a native program."""
    from wengert.compiler.compiled import compile  # LLVM

    return compile(step)


def optimizer_closure(optimizer: Any) -> str:
    """What the step of an optimiser does with a closure; `Optimizer.closure` says it."""
    return getattr(optimizer, "closure", "optional")


def check_optimizer(model: Module, optimizer: Any) -> None:
    """Raise an error if a parameter that is to be trained is in no group of the optimiser."""
    groups = getattr(optimizer, "param_groups", None)
    if groups is None:
        raise user_error(
            TypeError,
            f"The optimiser is a {type(optimizer).__name__}",
            "Pass an optimiser with the parameters, such as wg.optim.Adam(model.parameters()).",
        )
    if optimizer_closure(optimizer) == "of parameters":
        raise user_error(
            TypeError,
            f"The step of {type(optimizer).__name__} takes a function of the parameters, which fit does not have",
            "Write the loop: optimizer.step(lambda model: ...) for each batch.",
        )
    known = {id(p) for group in groups for p in group["params"]}
    forgotten = [name for name, p in model.named_parameters() if p.requires_grad and id(p) not in known]
    if forgotten:
        raise user_error(
            ValueError,
            f"The parameters {join_names(forgotten)} of the model are in no optimiser",
            "Add them to it, or freeze them: p.requires_grad = False.",
        )
