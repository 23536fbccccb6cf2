"""Training steps: forward pass, backward pass and Adam, in float32, with the same initial weights in every system.

Wengert has PyTorch's names, so a model is written once for both: `model(nn)`. For JAX it is a function of the weights,
by their names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.workload import Run, Workload

RATE, EPS = 1e-3, 1e-5
"""Of Adam. The rounding errors of gradients that vanish are small beside this `eps`; else they would become steps."""
COMPILED_PEERS = ("optax", "torch", "torch compiled")


class Step(NamedTuple):
    """A training step: a model and its loss, for PyTorch and Wengert and for JAX, and data for a batch size."""

    name: str
    statement: str
    model: Callable[[Any], Any]
    batch: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
    loss: str
    for_jax: Callable[[dict[str, Any], Any], Any]
    size: int
    eager_target: float
    compiled_target: float


def weights_of(model: Any) -> dict[str, np.ndarray]:
    """Weights for a model: uniform, with the scale of one over the root of the inputs; biases too, and gains near 1."""
    rng = np.random.default_rng(0)
    weights = {}
    for name, p in model.named_parameters():
        shape = tuple(p.shape)
        if len(shape) > 1:
            scale = np.prod(shape[1:]) ** -0.5
            numbers = rng.uniform(-scale, scale, shape)
        else:
            numbers = rng.uniform(-0.1, 0.1, shape) + ("norm" in name and name.endswith("weight"))
        weights[name] = numbers.astype(np.float32)
    return weights


def updates(problem: tuple, result: tuple) -> tuple:
    """What is compared: the loss, and how far the steps have moved each parameter."""
    loss, *params = result
    return loss, *(after - before for after, before in zip(params, problem[0].values(), strict=True))


def workloads_of(step: Step) -> list[Workload]:
    """The eager step beside PyTorch's, and the compiled one beside the best peer's."""

    def data(batch: int) -> tuple:
        import wengert as wg

        weights = weights_of(step.model(wg.nn))
        return weights, *step.batch(np.random.default_rng(1), batch)

    def make(name: str, statement: str, subject: str, targets: dict[str, float]) -> Workload:
        workload = Workload(
            name,
            f"{step.statement}: {statement}",
            data=data,
            sizes={"medium": step.size},
            targets={"medium": targets},
            observe=updates,
            subject=subject,
            reference="wengert",
            tolerance=1e-2,
        )
        workload.implementation("wengert")(partial(by_wengert, step))
        workload.implementation("torch")(partial(by_torch, step))
        return workload

    eager = make(step.name, "a training step", "wengert", {"torch": step.eager_target})
    compiled = make(
        f"{step.name}-compiled",
        "a compiled training step",
        "wengert compiled",
        dict.fromkeys(COMPILED_PEERS, step.compiled_target),
    )
    compiled.implementation("wengert compiled")(partial(by_wengert, step, is_compiled=True))
    compiled.implementation("torch compiled")(partial(by_torch, step, is_compiled=True))
    compiled.implementation("optax")(partial(by_optax, step))
    return [eager, compiled]


def by_wengert(step: Step, weights: dict, x: np.ndarray, y: np.ndarray, is_compiled: bool = False) -> Run:
    """A step of Wengert, as one writes it, and as one program."""
    import wengert as wg

    model = step.model(wg.nn)
    model.load_state_dict(weights)
    params, criterion = list(model.parameters()), getattr(wg.nn.functional, step.loss)
    optimizer = wg.optim.Adam(params, lr=RATE, eps=EPS)

    def train(x: Any, y: Any) -> Any:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    run = wg.compile(train) if is_compiled else train
    return lambda: (run(x, y), *params)


def by_torch(step: Step, weights: dict, x: np.ndarray, y: np.ndarray, is_compiled: bool = False) -> Run:
    """A step of PyTorch, with its fused Adam; compiled, all parts of the step are."""
    import torch

    model = step.model(torch.nn)
    model.load_state_dict({name: torch.tensor(w) for name, w in weights.items()})
    params, criterion = list(model.parameters()), getattr(torch.nn.functional, step.loss)
    optimizer = torch.optim.Adam(params, lr=RATE, eps=EPS, fused=True)
    inputs, targets = torch.tensor(x), torch.tensor(y)
    forward = lambda x, y: criterion(model(x), y)
    update = optimizer.step
    if is_compiled:
        forward, update = torch.compile(forward), torch.compile(update)

    def train() -> tuple:
        loss = forward(inputs, targets)
        loss.backward()
        update()
        optimizer.zero_grad()
        return loss, *params

    return train


def by_optax(step: Step, weights: dict, x: np.ndarray, y: np.ndarray) -> Run:
    """A step of JAX and optax, one program that reuses the memory of parameters and moments."""
    import jax
    import jax.numpy as jnp
    import optax

    optimizer = optax.adam(RATE, eps=EPS)

    def loss_of(params: dict, x: Any, y: Any) -> Any:
        out = step.for_jax(params, x)
        if step.loss == "mse_loss":
            return jnp.mean((out - y) ** 2)
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(out, y))

    def train(params: dict, state: Any, x: Any, y: Any) -> tuple:
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        changes, state = optimizer.update(grads, state, params)
        return loss, optax.apply_updates(params, changes), state

    compiled = jax.jit(train, donate_argnums=(0, 1))
    params = {name: jnp.asarray(w) for name, w in weights.items()}
    state = optimizer.init(params)
    inputs, targets = jnp.asarray(x), jnp.asarray(y)

    def run() -> tuple:
        nonlocal params, state
        loss, params, state = jax.block_until_ready(compiled(params, state, inputs, targets))
        return loss, *[params[name] for name in weights]

    return run
