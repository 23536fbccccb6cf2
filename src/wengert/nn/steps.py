"""One step of training, and of validation, as functions of a batch; compiled, each is one native program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.autograd.grad_mode import no_grad
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import TrackedValueError, user_error
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

    def forward_and_backward(*batch: Any) -> Any:
        value, output = loss_of(model, loss, batch)
        value.backward()
        if before_step is not None:
            before_step()
        return (value.detach(), detach_output(output)) if keeps_output else value.detach()

    def step(*batch: Any) -> Any:
        result = forward_and_backward(*batch)
        optimizer.step()
        optimizer.zero_grad()
        return result

    if optimizer_closure(optimizer) == "needed":
        return search_step(optimizer, on_batches(forward_and_backward, keeps_output, compiled))
    return on_batches(step, keeps_output, compiled)


def search_step(optimizer: Any, evaluate: Step) -> Step:
    """The step of an optimiser that evaluates loss and gradient several times, such as L-BFGS."""

    def step(batch: Any) -> tuple[Any, Any]:
        outputs: list[Any] = []

        def closure() -> Any:
            optimizer.zero_grad()
            value, output = evaluate(batch)
            outputs.append(output)
            return value

        value = optimizer.step(closure)
        return value, outputs[0]

    return step


def validation_step(model: Module, loss: Callable[[Any, Any], Any], keeps_output: bool, compiled: bool) -> Step:
    """The loss of a batch, without a gradient."""

    def evaluate(*batch: Any) -> Any:
        value, output = loss_of(model, loss, batch)
        return (value, output) if keeps_output else value

    run = on_batches(evaluate, keeps_output, compiled)

    def step(batch: Any) -> tuple[Any, Any]:
        with no_grad():
            return run(batch)

    return step


def on_batches(run: Callable[..., Any], keeps_output: bool, compiled: bool) -> Step:
    """A function of the parts of a batch as one of the batch, with a native entry: its arguments are plain arrays."""
    if compiled:
        run = compile_step(run)

    def step(batch: Any) -> tuple[Any, Any]:
        try:
            result = run(*batch) if is_pair(batch) else run(batch)
        except TrackedValueError as error:
            if compiled:
                error.add_note("The steps of fit are compiled. With compile=False, they run in Python.")
            raise
        return result if keeps_output else (result, None)

    return step


def loss_of(model: Module, loss: Callable[[Any, Any], Any], batch: tuple[Any, ...]) -> tuple[Any, Any]:
    """The loss and the output of the model; a batch of one part is the input and the target."""
    output = model(batch[0])
    value = loss(output, batch[-1])
    if getattr(value, "size", 1) != 1:
        raise user_error(
            ValueError, f"The loss has shape {value.shape}, and should be a number", "Return its mean: loss.mean()."
        )
    return value, output


def is_pair(batch: Any) -> bool:
    """Whether a batch has an input and a target."""
    return isinstance(batch, tuple | list) and len(batch) == 2


def target_of(batch: Any) -> Any:
    """What the output of a batch is compared with."""
    return batch[1] if is_pair(batch) else batch


def count_samples(batch: Any) -> int:
    """The number of samples of a batch."""
    return len(tree.leaves(batch)[0])


def detach_output(output: Any) -> Any:
    """An output without history."""
    return tree.map(lambda leaf: leaf.detach() if isinstance(leaf, Array) else leaf, output)


def plain_output(output: Any) -> Any:
    """An output as arrays of NumPy, for metrics."""
    return tree.map(lambda leaf: leaf.detach().numpy() if isinstance(leaf, Array) else leaf, output)


def compile_step(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step as a native program."""
    from wengert.compiler.call.compiled import compile  # LLVM

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
