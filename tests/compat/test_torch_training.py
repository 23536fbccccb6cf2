"""Optimisers, schedules, data and checkpoints of the layer for PyTorch: what the cases of numbers do not show."""

from __future__ import annotations

import numpy as np
import pytest

import wengert.compat.torch as torch
from wengert.compat.torch import nn
from wengert.compat.torch.utils.checkpoint import checkpoint
from wengert.compat.torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)


def quadratic():
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    (x * x).sum().backward()
    return x


def test_an_optimizer_of_the_user():
    class Signs(torch.optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["steps"] = state.get("steps", 0) + 1
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    x = quadratic()
    optimizer = Signs([x])
    optimizer.step()
    np.testing.assert_allclose(x.detach().numpy(), [0.9, -1.9], rtol=1e-6)
    assert optimizer.state_dict()["state"] == {0: {"steps": 1}}
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.05)


def test_all_are_optimizers():
    for name in ("SGD", "Adam", "LBFGS"):
        assert isinstance(getattr(torch.optim, name)([quadratic()], lr=0.1), torch.optim.Optimizer)
    assert torch.optim.Adam([quadratic()], foreach=True, fused=False).defaults["lr"] == 1e-3
    with pytest.raises(NotImplementedError, match="differentiable"):
        torch.optim.Adam([quadratic()], differentiable=True)
    with pytest.raises(TypeError, match="unknown"):
        torch.optim.Adam([quadratic()], unknown=1)


def test_float32_stays_float32():
    x = quadratic()
    torch.optim.Adam([x], lr=0.1).step()
    assert x.dtype == torch.float32
    np.testing.assert_allclose(x.detach().numpy(), [0.9, -1.9], rtol=1e-6)


def test_states_of_optimizers_are_tensors_and_continue():
    a = quadratic()
    first = torch.optim.Adam([a], lr=0.1)
    first.step()
    state = first.state_dict()
    assert isinstance(state["state"][0]["exp_avg"], torch.Tensor)
    b = a.detach().clone().requires_grad_()
    b.grad = a.grad.clone()
    second = torch.optim.Adam([b], lr=0.5)
    second.load_state_dict(state)
    first.step()
    second.step()
    assert torch.equal(a, b)


def test_clipping_returns_the_norm():
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    x.grad = torch.tensor([3.0, 4.0])
    assert nn.utils.clip_grad_norm_([x], 1.0).item() == 5.0
    np.testing.assert_allclose(x.grad.numpy(), [0.6, 0.8], rtol=1e-5)
    nn.utils.clip_grad_norm_(x, 10.0)
    np.testing.assert_allclose(x.grad.numpy(), [0.6, 0.8], rtol=1e-5)
    nn.utils.clip_grad_value_([x], 0.7)
    np.testing.assert_allclose(x.grad.numpy(), [0.6, 0.7], rtol=1e-5)
    x.grad = torch.tensor([float("inf"), 0.0])
    with pytest.raises(RuntimeError, match="not finite"):
        nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)


def test_averaged_model_is_the_mean():
    model = nn.Linear(1, 1, bias=False)
    averaged = torch.optim.swa_utils.AveragedModel(model)
    for value in (1.0, 2.0, 6.0):
        nn.init.constant_(model.weight, value)
        averaged.update_parameters(model)
    assert averaged(torch.ones(1)).item() == pytest.approx(3.0)


class Squares(Dataset):
    def __len__(self):
        return 7

    def __getitem__(self, index):
        return {"x": np.float64(index), "y": (index, index**2), "name": f"s{index}"}


def test_batches_have_the_form_of_samples():
    batches = list(DataLoader(Squares(), batch_size=3, drop_last=True))
    assert len(batches) == 2
    assert batches[1]["x"].dtype == torch.float64
    assert batches[1]["y"][1].tolist() == [9, 16, 25]
    assert batches[0]["name"] == ["s0", "s1", "s2"]
    assert DataLoader([1.0, 2.0]).dataset[0] == 1.0
    assert next(iter(DataLoader([1.0, 2.0], batch_size=2))).dtype == torch.float64


def test_orders():
    data = TensorDataset(torch.arange(20))
    torch.manual_seed(0)
    first = [x.tolist() for (x,) in DataLoader(data, 5, shuffle=True)]
    torch.manual_seed(0)
    assert first == [x.tolist() for (x,) in DataLoader(data, 5, shuffle=True)]
    assert sorted(sum(first, [])) == list(range(20))
    assert sum(first, []) != list(range(20))
    assert len(list(RandomSampler(data, replacement=True, num_samples=50))) == 50
    drawn = list(WeightedRandomSampler([0.0, 1.0, 3.0], 400))
    assert set(drawn) == {1, 2}
    assert drawn.count(2) > drawn.count(1)
    generator = torch.Generator().manual_seed(1)
    parts = random_split(data, [0.75, 0.25], generator=generator)
    assert [len(part) for part in parts] == [15, 5]
    assert sorted(x.item() for part in parts for (x,) in part) == list(range(20))
    both = ConcatDataset([Subset(data, [3, 4]), data])
    assert [both[i][0].item() for i in (0, 1, 2, -1)] == [3, 4, 0, 19]


def test_iterable_datasets_and_collate():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(5))

    assert [x.tolist() for x in DataLoader(Stream(), 2)] == [[0, 1], [2, 3], [4]]
    assert list(DataLoader([1, 2, 3], 2, collate_fn=sum)) == [3, 3]
    with pytest.raises(ValueError, match="order of its own"):
        DataLoader(Stream(), shuffle=True)
    with pytest.raises(TypeError, match="collate_fn"):
        list(DataLoader([object()]))


def test_checkpoints_of_modules_reach_their_parameters():
    layer = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    x = torch.randn(2, 3, requires_grad=True)
    layer(x).sum().backward()
    wanted, wanted_x = layer[0].weight.grad.clone(), x.grad.clone()
    layer.zero_grad()
    x.grad = None
    checkpoint(layer, x, use_reentrant=False).sum().backward()
    np.testing.assert_allclose(layer[0].weight.grad.numpy(), wanted.numpy(), rtol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), wanted_x.numpy(), rtol=1e-6)
