"""Layers, losses and optimisers on a device: the numbers of the CPU."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tests.nn import cases_layers, cases_losses, cases_sequences
from tests.nn.torch_cases import FunctionCase, LayerCase, collect, compare, pull
from tests.optim.cases_torch import OPTIMIZERS, objective, problem

import wengert as wg
from wengert.core.tree import flatten

LAYERS = cases_layers.CASES | cases_sequences.CASES
SHAPED_BY_NUMBERS = ("EmbeddingBag with offsets", "ctc_loss_flat")
"""Numbers that decide about shapes must be on the CPU."""


def on_device(x, cuda):
    return wg.asarray(x, device=cuda) if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize("name", [name for name, case in LAYERS.items() if isinstance(case, LayerCase)])
def test_layers(name, cuda):
    case = LAYERS[name]
    layer = case.wengert_layer().to(cuda)
    rng, inputs = case.wengert_inputs()
    inputs = [wg.tensor(x.detach(), x.requires_grad, device=cuda) for x in inputs]
    call = {k: on_device(v, cuda) for k, v in case.call.items()}
    if name in SHAPED_BY_NUMBERS:
        with pytest.raises(ValueError, match="on the CPU"):
            layer(*inputs, **call)
        call = case.call
    outs = [y for y in flatten(layer(*inputs, **call))[0] if y is not None]
    pull(outs, rng, partial(wg.tensor, device=cuda))
    assert {y.device for y in outs} == {cuda}
    found = collect(outs, inputs, dict(layer.named_parameters()), dict(layer.named_buffers()))
    compare(found, case.wengert_values(), 1e-9)


@pytest.mark.parametrize("name", [name for name, case in LAYERS.items() if isinstance(case, FunctionCase)])
def test_functions(name, cuda):
    case = LAYERS[name]
    kwargs = {k: on_device(v, cuda) for k, v in case.kwargs.items()}
    found = case.values(getattr(wg.nn.functional, case.function), partial(wg.tensor, device=cuda), kwargs)
    compare(found, case.wengert_values(), 1e-9)


@pytest.mark.parametrize("name", cases_losses.CASES)
def test_losses(name, cuda):
    case = cases_losses.CASES[name]
    if name in SHAPED_BY_NUMBERS:
        with pytest.raises(ValueError, match="on the CPU"):
            case.values(wg.nn.functional, partial(wg.tensor, device=cuda))
        return
    found = case.values(wg.nn.functional, partial(wg.tensor, device=cuda))
    compare(found, case.wengert_values(), 1e-9)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, cuda):
    case = OPTIMIZERS[name]

    def run(device):
        data = {k: wg.tensor(v, device=device) for k, v in problem().items()}
        w, b = (data[k].requires_grad_() for k in ("w", "b"))
        optimizer = getattr(wg.optim, case.method)([w, b], **case.hyperparameters)

        def loss():
            optimizer.zero_grad()
            value = objective(np.tanh, data, w, b)
            value.backward()
            return value

        for _ in range(4):
            optimizer.step(loss)
        assert w.device == device
        return np.append(w.detach().cpu().numpy(), b.detach().cpu().numpy())

    np.testing.assert_allclose(run(cuda), run("cpu"), rtol=1e-9, atol=1e-12)


def test_a_training_step_copies_nothing(cuda, host_copies):
    layer = wg.nn.Sequential(wg.nn.Linear(3, 4), wg.nn.ReLU(), wg.nn.Dropout(0.5), wg.nn.Linear(4, 2)).to(cuda)
    optimizer = wg.optim.Adam(layer.parameters(), lr=0.01)
    x, y = wg.ones((5, 3), dtype=np.float32, device=cuda), wg.zeros(5, dtype=np.int64, device=cuda)
    for _ in range(2):
        loss = wg.nn.functional.cross_entropy(layer(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert host_copies == []


def test_a_module_moves_there_and_back(cuda):
    layer = wg.nn.BatchNorm1d(3)
    layer(wg.ones((2, 3), dtype=np.float32)).sum().backward()
    before = layer.state_dict()
    assert {t.device for t in layer.to(cuda).parameters()} == {cuda}
    assert layer.weight.grad.device == layer.running_mean.device == cuda
    np.testing.assert_array_equal(layer.state_dict()["running_mean"], before["running_mean"])
    layer.load_state_dict(before)
    assert layer.weight.device == cuda
    assert {t.device for t in layer.cpu().parameters()} == {"cpu"}
