"""Recurrent layers in every mode; `test_torch_values.py` compares them with PyTorch."""

import gc
import weakref

import numpy as np
import pytest

import wengert as wg
from wengert.nn.recurrent import run_steps
from wengert.nn.recurrent_cells import STEPS

RNG = np.random.default_rng(8)
X = RNG.normal(size=(6, 2, 3))
LAYERS = {"RNN": wg.nn.RNN, "LSTM": wg.nn.LSTM, "GRU": wg.nn.GRU}
CELLS = {"RNN": wg.nn.RNNCell, "LSTM": wg.nn.LSTMCell, "GRU": wg.nn.GRUCell}


def numbers(x):
    """The numbers of a tensor or an array."""
    return x.detach().numpy() if isinstance(x, wg.Tensor) else np.asarray(x)


def make(name, **settings):
    return LAYERS[name](3, 4, dtype=np.float64, rng=1, **settings)


def loss(model, x):
    outputs, final = model(x)
    parts = final if isinstance(final, tuple) else (final,)
    return (outputs**2).sum() + sum((h**3).sum() for h in parts)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_cells_step_by_step(name):
    layer, cell = make(name), CELLS[name](3, 4, dtype=np.float64)
    cell.load_state_dict({path.removesuffix("_l0"): numbers for path, numbers in layer.state_dict().items()})
    outputs, _ = layer(X)
    states = None
    for x, expected in zip(X, outputs.detach().numpy(), strict=True):
        states = cell(x, states)
        h = states[0] if isinstance(states, tuple) else states
        np.testing.assert_allclose(h.detach().numpy(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_those_of_the_loop_step_by_step(name):
    """The compiled operation on the tape, against every operation of every step on the tape."""
    layer = make(name)
    weights = layer.weights_of(0, "")
    states = (np.zeros((2, 4)),) * STEPS[layer.kind].states
    outputs, final = run_steps(layer.kind, False, X, states, weights)
    ((outputs**2).sum() + sum((h**3).sum() for h in final)).backward()
    expected = [w.grad.numpy() for w in weights]
    layer.zero_grad()
    loss(layer, X).backward()
    for w, g in zip(weights, expected, strict=True):
        np.testing.assert_allclose(w.grad.numpy(), g, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", LAYERS)
def test_one_layer_is_one_node(name):
    layer = make(name)
    outputs, _ = layer(X)
    (call,) = outputs.node.parents
    assert call.primitive.name == layer.kind
    assert [parent for parent in call.parents if parent is not None] == [w.node for w in layer.weights_of(0, "")]


@pytest.mark.parametrize("name", LAYERS)
def test_compiled_equals_eager(name):
    layer = make(name, num_layers=2, bidirectional=True)
    value, gradient = wg.compile(wg.value_and_grad(loss))(layer, X)
    eager = loss(layer, X)
    eager.backward()
    np.testing.assert_allclose(numbers(value), numbers(eager), rtol=1e-13)
    for path, g in gradient.named_parameters():
        expected = dict(layer.named_parameters())[path].grad
        np.testing.assert_allclose(g.detach().numpy(), expected.numpy(), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_against_finite_differences(name):
    layer = make(name)
    x = wg.tensor(X[:3], requires_grad=True)
    assert wg.autograd.gradcheck(lambda x: loss(layer, x), [x])
    layer.requires_grad_(False)
    hessian = numbers(wg.hessian(lambda x: loss(layer, x))(X[:2, :1])).reshape(6, 6)
    gradient = lambda x: numbers(wg.grad(lambda x: loss(layer, x))(x))
    for i in range(6):
        step = np.zeros(6)
        step[i] = 1e-6
        step = step.reshape(2, 1, 3)
        slope = (gradient(X[:2, :1] + step) - gradient(X[:2, :1] - step)) / 2e-6
        np.testing.assert_allclose(hessian[i], slope.ravel(), atol=1e-7)


@pytest.mark.parametrize("name", LAYERS)
def test_batches(name):
    layer = make(name)
    whole, _ = layer(X)
    each = wg.vmap(lambda x: layer(x)[0], in_axes=1, out_axes=1)(X)
    np.testing.assert_allclose(each.detach().numpy(), whole.detach().numpy(), rtol=1e-13, atol=1e-16)  # sums cancel


def test_gradients_with_a_history():
    layer = make("LSTM")
    x = wg.tensor(X[:3], requires_grad=True)
    (first,) = wg.autograd.grad(loss(layer, x), [x], create_graph=True)
    (first**2).sum().backward()
    expected = wg.grad(lambda x: (wg.grad(lambda x: loss(layer, x))(x) ** 2).sum())(X[:3])
    np.testing.assert_allclose(x.grad.numpy(), numbers(expected), rtol=1e-11, atol=1e-12)


def test_states_continue_a_sequence():
    layer = make("LSTM", num_layers=2)
    whole, last = layer(X)
    first, states = layer(X[:2])
    second, end = layer(X[2:], states)
    np.testing.assert_allclose(
        np.concatenate([first.detach().numpy(), second.detach().numpy()]), whole.detach().numpy()
    )
    for a, b in zip(end, last, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy())


def test_dropout_between_layers():
    layer = make("GRU", num_layers=2, dropout=0.5)
    first, second = layer(X)[0].detach().numpy(), layer(X)[0].detach().numpy()
    assert (first != second).any()
    again = make("GRU", num_layers=2, dropout=0.5)
    np.testing.assert_array_equal(again(X)[0].detach().numpy(), first)
    plain = make("GRU", num_layers=2)
    np.testing.assert_array_equal(layer.eval()(X)[0].detach().numpy(), plain(X)[0].detach().numpy())
    assert layer.state_dict().keys() == plain.state_dict().keys()
    drawn = wg.compile(lambda layer, x: layer.train()(x)[0])
    np.testing.assert_allclose(numbers(drawn(make("GRU", num_layers=2, dropout=0.5), X)), first, rtol=1e-13)


def test_precision_is_that_of_the_weights():
    outputs, (h, c) = wg.nn.LSTM(3, 4, rng=0)(X)
    assert {outputs.dtype, h.dtype, c.dtype} == {np.dtype(np.float32)}


def test_initial_weights():
    layer = wg.nn.LSTM(3, 16, rng=0)
    bounds = [float(np.abs(p.detach().numpy()).max()) for p in layer.parameters()]
    assert 0.2 < min(bounds) <= max(bounds) <= 0.25
    assert repr(layer).startswith("LSTM(input_size=3, hidden_size=16)")


def test_frozen_weights_have_no_gradient():
    layer = make("LSTM").requires_grad_(False)
    x = wg.tensor(X, requires_grad=True)
    loss(layer, x).backward()
    assert all(p.grad is None for p in layer.parameters())
    assert np.isfinite(x.grad.numpy()).all()


def test_memory_is_freed_without_the_collector():
    layer = make("LSTM")
    gc.disable()
    try:
        outputs, _ = layer(X)
        kept = weakref.ref(outputs)
        outputs.sum().backward()
        del outputs
        assert kept() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: wg.nn.LSTM(3, 4, proj_size=2), ValueError, "no projections"),
        (lambda: wg.nn.LSTM(3, 0), ValueError, "hidden_size=0"),
        (lambda: wg.nn.RNN(3, 4, nonlinearity="sin"), ValueError, "not 'sin'"),
        (lambda: wg.nn.RNNCell(3, 4, nonlinearity="sin"), ValueError, "not 'sin'"),
        (lambda: make("LSTM")(X[..., :2]), ValueError, "LSTM with input_size=3"),
        (lambda: make("LSTM")(X[0, 0]), ValueError, r"LSTM was given an input of shape \(3,\)"),
        (lambda: make("LSTM")(X[:0]), ValueError, "without steps"),
        (lambda: make("GRU")(X.astype(int)), TypeError, "GRU takes floating-point numbers"),
        (lambda: make("GRU")(X, np.zeros((1, 3, 4))), ValueError, r"initial state of shape \(1, 3, 4\)"),
        (lambda: make("LSTM")(X, (np.zeros((1, 2, 4)),)), ValueError, "1 initial states"),
        (lambda: wg.nn.GRUCell(3, 4)(X[0], np.zeros((3, 4))), ValueError, r"has the shape \(2, 4\)"),
        (lambda: wg.nn.LSTMCell(3, 4)(X[0, :, :2]), ValueError, "LSTMCell with input_size=3"),
    ],
)
def test_bad_input(call, kind, message):
    with pytest.raises(kind, match=message) as error:
        call()
    assert "test_recurrent.py" in str(error.value)
