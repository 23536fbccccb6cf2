"""Modules: parameters found by name, state, settings, text, copies, errors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.nn import Linear, Module, Parameter, ReLU, Sequential


class Shared(Module):
    """A parameter and a module, each in two places."""

    def __init__(self):
        self.first = Linear(3, 3, rng=0, dtype=float)
        self.again = self.first
        self.head = Linear(3, 3, bias=False, rng=1, dtype=float)
        self.head.weight = self.first.weight

    def forward(self, x):
        return self.head(self.again(self.first(x)))


class Holder(Module):
    """Attributes of all kinds."""

    def __init__(self):
        self.size = 3
        self.weight = Parameter(np.ones(3))
        self.mean = wg.zeros(3)
        self.layer = Linear(3, 2, dtype=float)
        self.register_buffer("cache", np.zeros(2), persistent=False)
        self.register_buffer("later", None)


def small() -> Sequential:
    return Sequential(Linear(3, 4, rng=0, dtype=float), ReLU(), Linear(4, 2, rng=1, dtype=float))


def test_attributes_are_found_by_what_they_are():
    holder = Holder()
    assert [name for name, _ in holder.named_parameters()] == ["weight", "layer.weight", "layer.bias"]
    assert [name for name, _ in holder.named_buffers()] == ["mean", "cache"]
    assert [name for name, _ in holder.named_children()] == ["layer"]
    assert [name for name, _ in holder.named_modules()] == ["", "layer"]
    assert sorted(holder.state_dict()) == ["layer.bias", "layer.weight", "mean", "weight"]
    holder.later = wg.zeros(1)
    assert [name for name, _ in holder.named_buffers()] == ["mean", "cache", "later"]


def test_what_is_shared_is_found_once():
    model = Shared()
    assert [name for name, _ in model.named_parameters()] == ["first.weight", "first.bias"]
    assert [name for name, _ in model.named_modules()] == ["", "first", "head"]
    assert list(model.state_dict()) == ["first.weight", "first.bias", "again.weight", "again.bias", "head.weight"]
    assert model.load_state_dict(model.state_dict()) == ([], [])


def test_a_frozen_parameter_stays_a_parameter():
    model = Linear(2, 2)
    model.weight.requires_grad = False
    model.bias = wg.zeros(2)
    assert [name for name, _ in model.named_parameters()] == ["weight", "bias"]
    assert not list(model.buffers())
    del model.bias
    assert [name for name, _ in model.named_parameters()] == ["weight"]


def test_freezing_between_two_steps():
    """The example of the issue: features are frozen after the first step, and thaw for the third."""
    model = small()
    features, x = model[0], np.ones((4, 3))

    def step() -> tuple[np.ndarray, np.ndarray]:
        before = [p.detach().numpy().copy() for p in (features.weight, model[2].weight)]
        model.zero_grad()
        (model(x) ** 2).sum().backward()
        with wg.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= 0.1 * p.grad
        after = [p.detach().numpy() for p in (features.weight, model[2].weight)]
        return tuple([np.abs(a - b).max() for a, b in zip(after, before, strict=True)])

    moved = [step()]
    features.requires_grad_(False)
    moved.append(step())
    assert features.weight.grad is None
    features.requires_grad_(True)
    moved.append(step())
    assert moved[0][0] > 0
    assert moved[0][1] > 0
    assert moved[1][0] == 0
    assert moved[1][1] > 0
    assert moved[2][0] > 0


def test_settings_reach_all_modules():
    model = Sequential(Linear(2, 2), Sequential(ReLU()))
    assert model.eval() is model
    assert [m.training for m in model.modules()] == [False] * 4
    model.train()
    assert all(m.training for m in model.modules())
    visited = []
    model.apply(lambda m: visited.append(type(m).__name__))
    assert visited == ["Linear", "ReLU", "Sequential", "Sequential"]


def test_precision():
    model = Sequential(Linear(2, 3), nn.BatchNorm1d(3))
    model(np.ones((2, 2))).sum().backward()
    model.to("float64")
    assert {t.dtype for t in (*model.parameters(), model[1].running_mean)} == {np.dtype("float64")}
    assert model[1].num_batches_tracked.dtype == np.int64
    assert model[0].weight.grad.dtype == np.float64
    model.zero_grad()
    out = model(np.ones((2, 2), np.float32))
    out.sum().backward()
    assert out.dtype == model[0].weight.grad.dtype == np.float64
    with pytest.raises(TypeError, match="int64"):
        model.to(int)


def test_inputs_are_converted_to_the_precision_of_the_parameters():
    assert Linear(2, 3)(np.ones(2)).dtype == np.float32
    assert Linear(2, 3, dtype=float)(np.ones(2, np.float32)).dtype == np.float64


def test_state_goes_there_and_back():
    model, other = small(), small()
    other[0].weight.data = np.zeros((4, 3))
    weight = other[0].weight
    state = model.state_dict()
    assert other.load_state_dict(state) == ([], [])
    assert other[0].weight is weight
    assert weight.requires_grad
    np.testing.assert_array_equal(weight.detach(), model[0].weight.detach())
    state["0.weight"][:] = 7.0
    assert float(model[0].weight.max().detach()) < 7.0
    assert float(weight.max().detach()) < 7.0


def test_state_that_does_not_fit_changes_nothing():
    model = small()
    before = model.state_dict()
    state = {**before, "0.bias": np.zeros(5), "3.weight": np.zeros(1)}
    del state["2.weight"]
    with pytest.raises(ValueError, match="Sequential") as error:
        model.load_state_dict(state)
    message = str(error.value)
    assert "missing: 2.weight" in message
    assert "unexpected: 3.weight" in message
    assert "0.bias has shape (4,), and (5,) in the state" in message
    with pytest.raises(ValueError, match=r"0\.bias has shape"):
        model.load_state_dict(state, strict=False)
    for name, numbers in model.state_dict().items():
        np.testing.assert_array_equal(numbers, before[name])
    del state["0.bias"]
    assert model.load_state_dict(state, strict=False) == (["0.bias", "2.weight"], ["3.weight"])
    with pytest.raises(ValueError, match="complex128 in the state"):
        model.load_state_dict({**before, "0.bias": np.zeros(4) + 0j})


def test_a_long_list_of_names_is_cut():
    model = Sequential(*[Linear(1, 1) for _ in range(6)])
    with pytest.raises(ValueError, match="and 4 more"):
        model.load_state_dict({})


def test_text():
    model = Sequential(Linear(3, 4), nn.Conv1d(1, 2, 3, padding=1, bias=False), nn.Residual(nn.GELU("tanh")))
    model[0].weight.requires_grad = False
    assert repr(model) == (
        "Sequential(\n"
        "  (0): Linear(in_features=3, out_features=4)  # 16 parameters, 12 of them frozen\n"
        "  (1): Conv1d(in_channels=1, out_channels=2, kernel_size=(3,), padding=(1,), bias=False)  # 6 parameters\n"
        "  (2): Residual(\n"
        "    (module): GELU(approximate='tanh')\n"
        "  )\n"
        ")  # 22 parameters, 12 of them frozen"
    )
    assert repr(model[0].requires_grad_(False)).endswith("# 16 parameters, frozen")
    assert repr(nn.LeakyReLU(0.2)) == "LeakyReLU(negative_slope=0.2)"


@pytest.mark.parametrize("make", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies(make):
    model = Sequential(Shared(), nn.BatchNorm1d(3, dtype=float))
    model(np.ones((2, 3)))
    made = make(model)
    assert [name for name, _ in made.named_parameters()] == [name for name, _ in model.named_parameters()]
    assert made[0].head.weight is made[0].first.weight is not model[0].first.weight
    assert all(p.requires_grad for p in made.parameters())
    made[0].first.weight.data = np.zeros((3, 3))
    made[1].running_mean[...] = 5.0
    assert float(abs(model[0].first.weight).sum().detach()) > 0
    assert float(model[1].running_mean.max()) < 5.0


def test_mistakes():
    model = Linear(2, 2)
    with pytest.raises(TypeError, match="Linear.weight is a parameter and was assigned a ndarray"):
        model.weight = np.zeros((2, 2))
    with pytest.raises(TypeError, match=r"Module.layers is a list of modules.*ModuleList"):
        Module().layers = [Linear(1, 1)]
    with pytest.raises(TypeError, match=r"Module.heads is a dict of modules.*ModuleDict"):
        Module().heads = {"a": Linear(1, 1)}
    with pytest.raises(TypeError, match=r"Module.weights is a tuple of parameters.*ParameterList"):
        Module().weights = (Parameter(1.0),)
    with pytest.raises(NotImplementedError, match="Module has no forward"):
        Module()(1.0)


def test_errors_name_the_layer_by_its_path():
    model = Sequential(Linear(3, 4), nn.Residual(Linear(5, 4)))
    with pytest.raises(ValueError, match=r"Linear with in_features=5 was given an input of shape \(2, 4\)") as error:
        model(np.ones((2, 3)))
    assert error.value.__notes__ == ["This happened in model.1.module, a Linear."]
    with pytest.raises(TypeError, match="Linear takes floating-point numbers, and was given int64") as wrong:
        model(np.ones((2, 3), int))
    assert wrong.value.__notes__ == ["This happened in model.0, a Linear."]


def test_errors_of_the_user_have_the_path_too():
    class Broken(Module):
        def forward(self, x):
            raise KeyError("mine")

    with pytest.raises(KeyError) as error:
        Sequential(ReLU(), Broken())(np.ones(2))
    assert error.value.__notes__ == ["This happened in model.1, a Broken."]
