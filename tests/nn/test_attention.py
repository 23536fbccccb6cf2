"""Attention and transformers in every mode; `test_torch_values.py` compares them with PyTorch."""

import numpy as np
import pytest

import wengert as wg
from wengert.nn.functional import scaled_dot_product_attention as attend

RNG = np.random.default_rng(9)
Q, K, V = RNG.normal(size=(3, 2, 5, 4))
X, Y = RNG.normal(size=(5, 2, 8)), RNG.normal(size=(6, 2, 8))


def numbers(x):
    """The numbers of a tensor or an array."""
    return x.detach().numpy() if isinstance(x, wg.Tensor) else np.asarray(x)


def make(**settings):
    return wg.nn.MultiheadAttention(8, 2, dtype=np.float64, rng=1, **settings)


def total(model, *inputs, **settings):
    out = model(*inputs, **settings)
    return ((out[0] if isinstance(out, tuple) else out) ** 3).sum()


MODELS = {
    "attention": (lambda **s: make(**s), (X, Y, Y)),
    "encoder layer": (lambda **s: wg.nn.TransformerEncoderLayer(8, 2, 6, dtype=np.float64, rng=1, **s), (X,)),
    "decoder layer": (lambda **s: wg.nn.TransformerDecoderLayer(8, 2, 6, dtype=np.float64, rng=1, **s), (X, Y)),
}


@pytest.mark.parametrize("name", MODELS)
def test_compiled_equals_eager(name):
    model, inputs = MODELS[name][0](dropout=0.0), MODELS[name][1]
    value, gradient = wg.compile(wg.value_and_grad(total))(model, *inputs)
    eager = total(model, *inputs)
    eager.backward()
    np.testing.assert_allclose(numbers(value), numbers(eager), rtol=1e-12)
    expected = dict(model.named_parameters())
    for path, g in gradient.named_parameters():
        np.testing.assert_allclose(g.detach().numpy(), expected[path].grad.numpy(), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", MODELS)
def test_gradients_against_finite_differences(name):
    model, inputs = MODELS[name][0](dropout=0.0), MODELS[name][1]
    x = [wg.tensor(a[:2, :1], requires_grad=True) for a in inputs]
    assert wg.autograd.gradcheck(lambda *x: total(model, *x), x)


@pytest.mark.parametrize("name", MODELS)
def test_dropout_draws_in_training_and_reproducibly(name):
    model, inputs = MODELS[name][0](dropout=0.4), MODELS[name][1]
    first, second = (float(total(model, *inputs).detach().numpy()) for _ in range(2))
    assert first != second
    assert float(total(MODELS[name][0](dropout=0.4), *inputs).detach().numpy()) == first
    plain = float(total(MODELS[name][0](dropout=0.0), *inputs).detach().numpy())
    assert float(total(model.eval(), *inputs).detach().numpy()) == plain
    assert model.state_dict().keys() == MODELS[name][0](dropout=0.0).state_dict().keys()


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # PyTorch's
@pytest.mark.parametrize("name", ["LSTM", "GRU", "MultiheadAttention", "TransformerEncoder"])
def test_weights_go_both_ways(name):
    torch = pytest.importorskip("torch")

    def build(nn):
        if name == "TransformerEncoder":
            return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 6, dropout=0.0), 2)
        return getattr(nn, name)(8, 2)

    here, there = build(wg.nn), build(torch.nn)
    x = X.astype(np.float32)
    inputs = (x, x, x) if name == "MultiheadAttention" else (x,)
    first = lambda out: out[0] if isinstance(out, tuple) else out
    here.load_state_dict(there.state_dict())
    expected = first(there(*map(torch.tensor, inputs))).detach().numpy()
    np.testing.assert_allclose(numbers(first(here(*inputs))), expected, rtol=1e-4, atol=1e-5)
    other = build(wg.nn)
    there.load_state_dict({path: torch.tensor(w) for path, w in other.state_dict().items()})
    expected = first(there(*map(torch.tensor, inputs))).detach().numpy()
    np.testing.assert_allclose(numbers(first(other(*inputs))), expected, rtol=1e-4, atol=1e-5)


# Attention


def test_second_derivatives_and_batches():
    x = [wg.tensor(a[0, :3], requires_grad=True) for a in (Q, K, V)]
    assert wg.autograd.gradgradcheck(lambda q, k, v: attend(q, k, v, is_causal=True), x)
    np.testing.assert_allclose(wg.vmap(attend)(Q, K, V), attend(Q, K, V), rtol=1e-13)


def test_queries_that_see_nothing_get_zeros():
    mask = np.ones((5, 5), bool)
    mask[1] = False
    inputs = [wg.tensor(a, requires_grad=True) for a in (Q, K, V)]
    for given in (mask, np.where(mask, 0.0, -np.inf)):
        out = attend(*inputs, attn_mask=given)
        np.testing.assert_array_equal(out.detach().numpy()[:, 1], 0.0)
        gradients = wg.autograd.grad((out**2).sum(), inputs)
        assert all(np.isfinite(g.numpy()).all() for g in gradients)
        np.testing.assert_array_equal(gradients[0].numpy()[:, 1], 0.0)
    compiled = wg.compile(wg.grad(lambda q: (attend(q, K, V, attn_mask=mask) ** 2).sum()))
    assert np.isfinite(compiled(Q)).all()


def test_large_scores():
    out = attend(1e4 * Q, 1e4 * Q, V)
    assert np.isfinite(out).all()


def test_causal_attention_does_not_see_the_future():
    found = wg.jacobian(lambda v: attend(Q[0], K[0], v, is_causal=True))(V[0])
    for i in range(5):
        np.testing.assert_array_equal(found[i, :, i + 1 :], 0.0)


def test_dropout_of_weights():
    found = attend(Q, K, V, dropout_p=0.5, rng=3)
    np.testing.assert_array_equal(attend(Q, K, V, dropout_p=0.5, rng=3), found)
    assert (found != attend(Q, K, V)).any()


# Multi-head attention


def test_masks_of_both_kinds_together():
    model = make()
    hidden = np.triu(np.ones((5, 6), bool), 2)
    padding = np.arange(6) >= np.array([[4], [6]])
    expected, weights = model(X, Y, Y, key_padding_mask=padding, attn_mask=hidden)
    numbers = np.where(hidden, -np.inf, 0.0)
    for masks in ((padding, numbers), (np.where(padding, -np.inf, 0.0), hidden)):
        found, _ = model(X, Y, Y, key_padding_mask=masks[0], attn_mask=masks[1])
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-13)
    np.testing.assert_array_equal(weights.detach().numpy()[0][:, 4:], 0.0)
    np.testing.assert_allclose(weights.detach().numpy().sum(-1), 1.0)


def test_causal_flag_is_the_causal_mask():
    model = make()
    expected = model(X, X, X, attn_mask=np.triu(np.ones((5, 5), bool), 1))[0]
    found, nothing = model(X, X, X, is_causal=True, need_weights=False)
    assert nothing is None
    np.testing.assert_array_equal(found.detach().numpy(), expected.detach().numpy())


def test_one_product_for_self_attention():
    model = make(batch_first=True)
    np.testing.assert_allclose(
        model(X, X, X)[0].detach().numpy(), model(X, X.copy(), X)[0].detach().numpy(), rtol=1e-12
    )


def test_keys_that_are_all_padding():
    model = make()
    x = wg.tensor(X, requires_grad=True)
    out, weights = model(x, x, x, key_padding_mask=np.array([[True] * 5, [False] * 5]))
    out.sum().backward()
    assert np.isfinite(x.grad.numpy()).all()
    np.testing.assert_array_equal(weights.detach().numpy()[0], 0.0)


# Transformers


def test_encoder_of_several_layers():
    layer = wg.nn.TransformerEncoderLayer(8, 2, 6, dropout=0.0, dtype=np.float64, rng=0)
    encoder = wg.nn.TransformerEncoder(layer, 2, norm=wg.nn.LayerNorm(8, dtype=np.float64))
    expected = encoder.norm(layer(layer(X, is_causal=True), is_causal=True))
    np.testing.assert_array_equal(encoder(X, is_causal=True).detach().numpy(), expected.detach().numpy())
    assert len(list(encoder.parameters())) == 2 * len(list(layer.parameters())) + 2
    assert "layers.1.self_attn.in_proj_weight" in encoder.state_dict()


def test_decoder_of_several_layers():
    layer = wg.nn.TransformerDecoderLayer(8, 2, 6, dropout=0.0, dtype=np.float64, rng=0)
    decoder = wg.nn.TransformerDecoder(layer, 2)
    expected = layer(layer(X, Y, tgt_is_causal=True), Y, tgt_is_causal=True)
    np.testing.assert_array_equal(decoder(X, Y, tgt_is_causal=True).detach().numpy(), expected.detach().numpy())


def test_layers_of_an_encoder_draw_different_numbers():
    layer = wg.nn.TransformerEncoderLayer(8, 2, 6, dropout=0.5, rng=0)
    encoder = wg.nn.TransformerEncoder(layer, 2)
    draws = [part.dropout(np.ones(64, np.float32)) for part in encoder.layers]
    assert (np.asarray(draws[0]) != np.asarray(draws[1])).any()


def test_activation_may_be_a_function():
    by_name = wg.nn.TransformerEncoderLayer(8, 2, 6, 0.0, "gelu", dtype=np.float64, rng=0)
    by_function = wg.nn.TransformerEncoderLayer(8, 2, 6, 0.0, wg.nn.functional.gelu, dtype=np.float64, rng=0)
    np.testing.assert_array_equal(by_name(X).detach().numpy(), by_function(X).detach().numpy())


def test_positions():
    found = wg.nn.sinusoidal_positions(50, 6, np.float64)
    np.testing.assert_allclose(found[7, 2], np.sin(7 / 10000 ** (2 / 6)))
    np.testing.assert_allclose(found[7, 5], np.cos(7 / 10000 ** (4 / 6)))
    assert wg.nn.sinusoidal_positions(3, 5).shape == (3, 5)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: wg.nn.MultiheadAttention(8, 3), ValueError, "embed_dim=8 and num_heads=3"),
        (lambda: make()(X[..., :4], Y, Y), ValueError, "MultiheadAttention with embed_dim=8"),
        (lambda: make(kdim=3)(X, Y, Y), ValueError, "MultiheadAttention with kdim=3"),
        (lambda: make()(X, Y[:, :1], Y[:, :1]), ValueError, "the same batch"),
        (lambda: make()(X, Y, Y[:4]), ValueError, "one value for each key"),
        (lambda: make()(X.astype(int), Y, Y), TypeError, "takes floating-point numbers"),
        (lambda: make()(X, Y, Y, attn_mask=np.zeros((5, 5))), ValueError, r"attn_mask of shape \(5, 5\)"),
        (lambda: make()(X, Y, Y, np.zeros((6, 2), bool)), ValueError, r"key_padding_mask of shape \(6, 2\)"),
        (lambda: attend(Q, K[..., :2], V), ValueError, "the same last axis"),
        (lambda: attend(Q, K, V[:, :2]), ValueError, "one value for each key"),
        (lambda: attend(Q[0, 0], K, V), ValueError, "at least two axes"),
        (lambda: wg.nn.TransformerEncoderLayer(8, 2, activation="sin"), ValueError, "not 'sin'"),
    ],
)
def test_bad_input(call, kind, message):
    with pytest.raises(kind, match=message) as error:
        call()
    assert "test_attention.py" in str(error.value)
