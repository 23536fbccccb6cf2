"""Layers: errors, derivatives by differences, transforms, state dicts of PyTorch. Values: test_torch_values.py."""

from __future__ import annotations

import numpy as np
import pytest
from tests.nn.cases_layers import CASES, small_network
from tests.nn.torch_cases import LayerCase

import wengert as wg
from wengert import nn
from wengert.core import tree

LAYERS = {name: case for name, case in CASES.items() if isinstance(case, LayerCase)}
SMOOTH = [
    "Linear", "Bilinear", "Conv1d", "Conv2d groups", "Conv3d", "ConvTranspose2d", "LayerNorm", "RMSNorm", "GroupNorm",
    "BatchNorm1d", "BatchNorm2d after training", "MaxPool2d overlapping", "AvgPool2d ceil",
    "AdaptiveMaxPool2d of tiles", "AdaptiveAvgPool2d", "Conv2d reflect", "PReLU of channels", "Embedding",
]  # fmt: skip
"""Layers of each kind, at points where they have a derivative."""


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_against_differences(name):
    layer = wg.stop_gradient(LAYERS[name].wengert_layer())
    inputs = [x.detach() for x in LAYERS[name].wengert_inputs()[1]]
    if isinstance(layer, nn.BatchNorm1d):  # which would change between the points of a difference
        layer.running_mean = layer.running_var = layer.num_batches_tracked = None
    weights = np.random.default_rng(0).normal(size=layer(*inputs).shape)
    wg.check.grads(lambda layer, *xs: (layer(*xs) * weights).sum(), [layer, *inputs], order=2)


@pytest.mark.parametrize("name", [name for name, case in LAYERS.items() if case.kwargs.get("momentum", 0) is not None])
def test_compiled_layers(name):
    case = LAYERS[name]
    layer, other = case.wengert_layer(), case.wengert_layer()
    inputs = [x.detach().numpy() for x in case.wengert_inputs()[1]]
    found, expected = wg.compile(lambda *xs: layer(*xs))(*inputs), other(*inputs)
    for a, b in zip(tree.flatten(found)[0], tree.flatten(expected)[0], strict=True):
        np.testing.assert_allclose(wg.stop_gradient(a), wg.stop_gradient(b), rtol=1e-12, atol=1e-14)
    for a, b in zip(layer.buffers(), other.buffers(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("name", ["Linear", "Conv2d", "LayerNorm", "MaxPool2d overlapping", "GELU", "GroupNorm"])
def test_batches_of_inputs(name):
    case = LAYERS[name]
    layer = case.wengert_layer()
    (x,) = [x.detach().numpy() for x in case.wengert_inputs()[1]]
    batch = np.stack([x, 2.0 * x, -x])
    found = wg.vmap(layer)(batch)
    np.testing.assert_allclose(
        wg.stop_gradient(found), np.stack([wg.stop_gradient(layer(part)) for part in batch]), rtol=1e-12, atol=1e-14
    )


def test_state_of_pytorch_there_and_back():
    """With stored values, the case "network" checks the same: the state has the names of PyTorch."""
    torch = pytest.importorskip("torch")
    theirs, ours = small_network(torch.nn).double(), small_network(nn).to("float64")
    x = np.random.default_rng(0).normal(size=(2, 1, 8, 8))
    assert set(ours.state_dict()) == set(theirs.state_dict())
    assert ours.load_state_dict(theirs.state_dict()) == ([], [])
    for _ in range(2):
        np.testing.assert_allclose(ours(x).detach(), theirs(torch.tensor(x)).detach().numpy(), rtol=1e-10, atol=1e-12)
    other = small_network(torch.nn).double()
    other.load_state_dict({name: torch.tensor(numbers) for name, numbers in ours.state_dict().items()})
    np.testing.assert_allclose(
        ours.eval()(x).detach(), other.eval()(torch.tensor(x)).detach().numpy(), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        (nn.Linear(3, 4), (2, 4), r"Linear with in_features=3 was given an input of shape \(2, 4\)"),
        (nn.Linear(3, 4), (), r"Linear with in_features=3 was given an input of shape \(\)"),
        (nn.Conv2d(3, 4, 3), (2, 2, 5, 5), r"Conv2d with in_channels=3 was given an input of shape \(2, 2, 5, 5\)"),
        (nn.Conv2d(3, 4, 3), (5, 5), r"Conv2d was given an input of shape \(5, 5\).*4 axes"),
        (nn.Conv1d(3, 4, 9), (2, 3, 5), r"Filters of shape \(4, 3, 9\) do not fit"),
        (nn.ConvTranspose1d(3, 4, 3), (2, 4, 5), "ConvTranspose1d with in_channels=3"),
        (nn.LayerNorm((3, 4)), (2, 4, 3), r"normalized_shape=\(3, 4\) of an input of shape \(2, 4, 3\)"),
        (nn.RMSNorm(4), (2, 3), r"rms_norm with normalized_shape=\(4,\)"),
        (nn.GroupNorm(2, 4), (2, 3, 5), "GroupNorm with num_channels=4"),
        (nn.BatchNorm1d(3), (2, 4), "BatchNorm1d with num_features=3"),
        (nn.BatchNorm2d(3), (2, 3), r"BatchNorm2d was given an input of shape \(2, 3\)"),
        (nn.BatchNorm1d(3), (1, 3), "1 numbers in each channel"),
        (nn.MaxPool2d(2), (3, 3), r"max_pool2d was given an input of shape \(3, 3\)"),
        (nn.MaxPool2d(4), (1, 1, 3, 3), "a window of 4 elements does not fit into an axis of 3"),
        (nn.AvgPool1d(2, padding=2), (1, 1, 3), "padding=2 with kernel_size=2"),
        (nn.MaxPool1d((2, 2)), (1, 1, 3), r"kernel_size=\(2, 2\)"),
        (nn.AdaptiveAvgPool2d((2, 2, 2)), (1, 1, 3, 3), "output_size"),
        (nn.PReLU(3), (2, 4), "prelu"),
        (nn.Flatten(2), (2, 3), "Flatten"),
        (nn.Softmax(), (2, 3), "softmax of an input of shape"),
        (nn.GLU(), (3,), "glu"),
        (nn.Residual(nn.Linear(3, 2)), (5, 3), r"Residual: an input of shape \(5, 3\) became \(5, 2\)"),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, nn.Module) else None,
)
def test_wrong_shapes(layer, shape, message):
    with pytest.raises(ValueError, match=message):
        layer(np.zeros(shape, np.float32))


@pytest.mark.parametrize(
    "layer", [nn.Linear(3, 4), nn.Conv1d(2, 3, 1), nn.LayerNorm(3), nn.BatchNorm1d(2), nn.MaxPool1d(2), nn.PReLU()]
)
def test_integers(layer):
    with pytest.raises(TypeError, match="floating-point numbers, and was given int64"):
        layer(np.ones((4, 2, 3), int))


def test_indices():
    table = nn.Embedding(4, 2)
    with pytest.raises(TypeError, match="integer indices, and was given float64"):
        table(np.ones(3))
    with pytest.raises(IndexError, match="the index 4 in a table of 4 rows"):
        table([1, 4])
    with pytest.raises(IndexError, match="the index -1 in a table of 4 rows"):
        table([1, -1])
    with pytest.raises(ValueError, match="padding_idx=4"):
        nn.Embedding(4, 2, padding_idx=4)
    pretrained = nn.Embedding.from_pretrained(np.eye(3))
    assert not pretrained.weight.requires_grad
    assert [name for name, _ in pretrained.named_parameters()] == ["weight"]
    np.testing.assert_array_equal(pretrained([2]).detach(), [[0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Conv1d(3, 4, 3, groups=2), "3 channels become 4 in 2 groups"),
        (lambda: nn.Conv1d(2, 4, 3, padding_mode="mirror"), "padding_mode='mirror'"),
        (lambda: nn.GroupNorm(3, 4), "4 channels cannot be in 3 equal groups"),
        (lambda: nn.functional.gelu(np.ones(1), "erf"), "approximate='erf'"),
        (lambda: nn.Conv1d(1, 1, 2, stride=2, padding="same")(np.ones((1, 1, 4))), "padding='same' with stride"),
        (lambda: nn.ConvTranspose1d(1, 1, 2, output_padding=1)(np.ones((1, 1, 4))), "output_padding"),
        (lambda: nn.functional.linear(np.ones(3), np.ones((2, 4))), r"shape \(3,\) and a weight of shape \(2, 4\)"),
        (lambda: nn.functional.bilinear(np.ones(3), np.ones(2), np.ones((2, 2, 2))), "bilinear"),
        (lambda: nn.functional.conv2d(np.ones((1, 1, 4)), np.ones((1, 1, 2))), "conv2d"),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_statistics_can_be_reset():
    layer = nn.BatchNorm1d(2, dtype=float)
    layer(np.arange(6.0).reshape(3, 2))
    layer.reset_running_stats()
    assert [b.tolist() for b in layer.buffers()] == [[0.0, 0.0], [1.0, 1.0], 0]


def test_fold_is_the_transpose_of_unfold():
    rng = np.random.default_rng(3)
    options = {"dilation": (1, 2), "padding": (1, 0), "stride": (2, 1)}
    image = rng.normal(size=(2, 3, 6, 7))
    columns = wg.nn.functional.unfold(image, (2, 3), **options)
    cotangent = rng.normal(size=columns.shape)
    folded = wg.nn.functional.fold(cotangent, (6, 7), (2, 3), **options)
    np.testing.assert_allclose((folded * image).sum(), (cotangent * columns).sum(), rtol=1e-12)
    np.testing.assert_array_equal(wg.nn.Fold((6, 7), (2, 3), **options)(cotangent), folded)
