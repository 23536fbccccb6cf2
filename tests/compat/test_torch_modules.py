"""Modules of the layer for PyTorch: their state, hooks, copies, precision, and errors."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest

import wengert.compat.torch as torch
from wengert.compat.torch import nn


class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor([2.0]))
        self.register_buffer("offset", torch.tensor([1.0]))
        self.register_buffer("seen", torch.zeros(1), persistent=False)
        self.note = torch.ones(3)  # neither a parameter nor a buffer
        self.hidden = [nn.Linear(1, 1)]  # not found, as in PyTorch

    def forward(self, x):
        return self.slope * x + self.offset


def test_state_is_what_was_registered():
    line = Line()
    assert [name for name, _ in line.named_parameters()] == ["slope"]
    assert [name for name, _ in line.named_buffers()] == ["offset", "seen"]
    assert list(line.state_dict()) == ["slope", "offset"]
    assert isinstance(line.slope, nn.Parameter)
    assert isinstance(line.slope, torch.Tensor)
    assert line.get_parameter("slope") is line.slope


def test_layers_have_the_default_precision():
    assert nn.Linear(2, 3).weight.dtype == torch.float32
    assert nn.BatchNorm2d(2, dtype=torch.float64).running_mean.dtype == torch.float64
    assert nn.Linear(2, 3)(torch.ones(2)).dtype == torch.float32
    assert nn.Sequential(nn.Linear(2, 3)).double()(torch.ones(2, dtype=torch.float64)).dtype == torch.float64
    torch.set_default_dtype(torch.float64)
    try:
        assert nn.GRU(2, 3).weight_hh_l0.dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_manual_seed_repeats_initial_weights_and_dropout():
    def run():
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(4, 50), nn.Dropout(0.5))
        return model(torch.ones(2, 4)), nn.functional.dropout(torch.ones(50), 0.5)

    first, second = run(), run()
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a, b)
    assert 10 < (first[1] == 0).sum().item() < 40
    model = nn.Dropout(0.5)
    assert not torch.equal(model(torch.ones(50)), model(torch.ones(50)))
    assert torch.equal(model.eval()(torch.ones(50)), torch.ones(50))


def test_running_statistics_reach_the_module_inside_others():
    model = nn.Sequential(nn.Sequential(nn.BatchNorm1d(2)))
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    model(x)
    np.testing.assert_allclose(model[0][0].running_mean.numpy(), [0.2, 0.4], rtol=1e-6)
    assert model[0][0].num_batches_tracked.item() == 1
    before = copy.deepcopy(model)
    model(x)
    assert before[0][0].num_batches_tracked.item() == 1
    model.eval()(x)
    assert model[0][0].num_batches_tracked.item() == 2


def test_hooks_replace_arguments_results_and_gradients():
    layer = nn.Linear(1, 1, bias=False)
    nn.init.constant_(layer.weight, 3.0)
    x = torch.tensor([1.0], requires_grad=True)
    layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    layer.register_forward_hook(lambda module, args, out: out + 1)
    seen = []

    def note(module, grad_input, grad_output):
        seen.append((grad_input[0].item(), grad_output[0].item()))
        return (grad_input[0] * 10,)

    handle = layer.register_full_backward_hook(note)
    out = layer(x)
    assert out.item() == 7.0
    (2 * out).sum().backward()
    assert seen == [(6.0, 2.0)]  # of what `forward` was given
    assert x.grad.item() == 120.0
    handle.remove()
    layer(x).sum().backward()
    assert len(seen) == 1


def test_a_hook_without_an_input_that_requires_a_gradient():
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda module, grads, outs: seen.append(outs[0].item()))
    layer(torch.ones(2)).sum().backward()
    assert seen == [1.0]


def test_modules_inside_engine_modules_keep_their_own_forward_and_hooks():
    encoder = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0).eval()
    x = torch.randn(3, 1, 4)
    wanted = encoder(x)

    class Counting(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base, self.calls = base, 0

        def forward(self, x):
            self.calls += 1
            assert isinstance(x, torch.Tensor)
            return self.base(x)

    encoder.linear1, shapes = Counting(encoder.linear1), []
    encoder.self_attn.register_forward_hook(lambda module, args, out: shapes.append(tuple(out[0].shape)))
    out = encoder(x)
    np.testing.assert_allclose(out.detach().numpy(), wanted.detach().numpy(), rtol=1e-6)
    assert encoder.linear1.calls == 1
    assert shapes == [(3, 1, 4)]
    out.sum().backward()
    assert encoder.linear1.base.weight.grad is not None


def test_subclasses_of_layers():
    class Doubled(nn.Linear):
        def __init__(self, n):
            super().__init__(n, n, bias=False)
            nn.init.eye_(self.weight)

        def forward(self, x):
            return 2 * super().forward(x)

    assert nn.Sequential(Doubled(2))(torch.ones(2)).tolist() == [2.0, 2.0]


def test_reset_parameters_draws_anew():
    layer = nn.Linear(3, 3)
    weight, old = layer.weight, layer.weight.detach().clone()
    layer.reset_parameters()
    assert layer.weight is weight
    assert not torch.equal(layer.weight, old)
    for part in nn.TransformerDecoderLayer(4, 2, 8, bias=False).modules():
        part.reset_parameters()


def test_state_dicts():
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    assert b.load_state_dict(a.state_dict()).missing_keys == []
    assert torch.equal(a.weight, b.weight)
    saved = a.state_dict()
    with torch.no_grad():
        a.weight += 1.0
    assert torch.equal(saved["weight"], b.weight)
    keys = b.load_state_dict({"weight": a.weight, "other": a.bias}, strict=False)
    assert (keys.missing_keys, keys.unexpected_keys) == (["bias"], ["other"])
    with pytest.raises(RuntimeError, match="missing: bias"):
        b.load_state_dict({"weight": a.weight})
    with pytest.raises(RuntimeError, match="shape"):
        b.load_state_dict({"weight": torch.ones(3, 2), "bias": a.bias})


def test_files_hold_tensors_and_containers(tmp_path):
    state = {
        "model": nn.Linear(2, 2).state_dict(),
        "epoch": 3,
        "betas": (0.9, 0.99),
        4: [torch.arange(3), None, "text"],
    }
    torch.save(state, tmp_path / "state.pt")
    loaded = torch.load(tmp_path / "state.pt")
    assert torch.equal(loaded["model"]["weight"], state["model"]["weight"])
    assert loaded["betas"] == (0.9, 0.99)
    assert torch.equal(loaded[4][0], torch.arange(3))
    with pytest.raises(TypeError, match="state_dict"):
        torch.save(nn.Linear(2, 2), io.BytesIO())


def test_in_place_functions_change_their_input():
    x = torch.tensor([-1.0, 2.0])
    assert nn.functional.relu(x, inplace=True) is x
    assert x.tolist() == [0.0, 2.0]
    y = torch.tensor([-1.0, 2.0])
    nn.functional.leaky_relu_(y, 0.5)
    assert y.tolist() == [-0.5, 2.0]
    z = torch.tensor([-1.0, 2.0])
    assert nn.functional.relu(z, True) is z


def test_functional_call_leaves_the_module_as_it_was():
    tied = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    tied[1].weight = tied[0].weight
    weight = tied[0].weight
    out = torch.func.functional_call(tied, {"0.weight": 2 * torch.eye(2)}, (torch.ones(2),))
    assert out.tolist() == [4.0, 4.0]  # both, as they are one
    assert tied[0].weight is weight
    with pytest.raises(RuntimeError, match="no tensor 'weight'"):
        torch.func.functional_call(tied, {"weight": torch.eye(2)}, (torch.ones(2),))


def test_containers():
    layers = nn.ModuleList([nn.Linear(2, 2)])
    layers += [nn.Linear(2, 3)]
    layers.insert(0, nn.Identity())
    assert [type(m).__name__ for m in layers] == ["Identity", "Linear", "Linear"]
    heads = nn.ModuleDict({"a": nn.Linear(1, 1)})
    heads["b"] = nn.Linear(1, 2)
    assert [name for name, _ in heads.named_parameters()] == ["a.weight", "a.bias", "b.weight", "b.bias"]
    assert heads.a is heads["a"]
    lists, dicts = nn.ParameterList([torch.ones(1)]), nn.ParameterDict({"w": torch.ones(2)})
    assert isinstance(lists[0], nn.Parameter)
    assert isinstance(dicts["w"], nn.Parameter)
    with pytest.raises(ValueError, match="cannot have the name 'keys'"):
        dicts["keys"] = torch.ones(1)  # a method
    del dicts["w"]
    assert "w" not in dicts
    named = nn.Sequential({"first": nn.Linear(1, 1)})
    assert named.first is named[0]


def test_weight_and_spectral_norm():
    x = torch.randn(5, 3)
    plain = nn.Linear(3, 4)
    wanted = plain(x).detach()
    normed = nn.utils.weight_norm(plain)
    np.testing.assert_allclose(normed(x).detach().numpy(), wanted.numpy(), rtol=1e-5)
    assert sorted(name for name, _ in normed.named_parameters()) == ["bias", "weight_g", "weight_v"]
    spectral = nn.utils.spectral_norm(nn.Linear(3, 4), n_power_iterations=50)
    spectral(x).sum().backward()
    assert np.linalg.norm(spectral.weight.detach().numpy(), 2) == pytest.approx(1.0, rel=1e-5)
    assert spectral.weight_orig.grad is not None


def test_errors():
    layer = nn.Linear(3, 2)
    with pytest.raises(TypeError, match="is a parameter and was assigned a Tensor"):
        layer.weight = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="no device 'cuda'"):
        nn.Linear(2, 2, device="cuda")
    with pytest.raises(RuntimeError, match="no device"):
        layer.cuda()
    with pytest.raises(ValueError, match="in_features=3"):
        layer(torch.ones(2))
    with pytest.raises(AttributeError, match=r"torch.nn.LazyLinear is not in .* Use"):
        nn.LazyLinear  # noqa: B018  # the access raises
    with pytest.raises(TypeError, match="sparse"):
        nn.Embedding(3, 2, sparse=True)
    with pytest.raises(AttributeError, match="no parameter"):
        layer.get_parameter("scale")
