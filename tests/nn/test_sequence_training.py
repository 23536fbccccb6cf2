"""Training of recurrent layers and transformers: compiled steps against eager ones, with dropout."""

import numpy as np
import pytest

import wengert as wg

RNG = np.random.default_rng(7)
LABELS = np.array([0, 2, 1, 1])


class Recurrent(wg.nn.Module):
    def __init__(self, layer):
        self.recurrent = layer(5, 6, num_layers=2, dropout=0.3, rng=1, dtype=np.float64)
        self.out = wg.nn.Linear(6, 3, rng=2, dtype=np.float64)

    def forward(self, x):
        return self.out(self.recurrent(x)[0][-1])


class Attentive(wg.nn.Module):
    def __init__(self):
        layer = wg.nn.TransformerEncoderLayer(8, 2, 6, dropout=0.2, batch_first=True, rng=1, dtype=np.float64)
        self.encoder = wg.nn.TransformerEncoder(layer, 2)
        self.out = wg.nn.Linear(8, 3, rng=2, dtype=np.float64)

    def forward(self, x):
        return self.out(self.encoder(x, is_causal=True)[:, -1])


MODELS = {
    "LSTM": (lambda: Recurrent(wg.nn.LSTM), (9, 4, 5)),
    "GRU": (lambda: Recurrent(wg.nn.GRU), (9, 4, 5)),
    "transformer": (Attentive, (4, 6, 8)),
}


def train(make, x, is_compiled):
    """The losses of four steps, and the weights after them."""
    model = make()
    optimizer = wg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        loss = wg.nn.functional.cross_entropy(model(x), y, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    run = wg.compile(step) if is_compiled else step
    return [float(run(x, LABELS).detach().numpy()) for _ in range(4)], model.state_dict()


@pytest.mark.parametrize("name", MODELS)
def test_compiled_steps_are_eager_steps(name):
    make, shape = MODELS[name]
    x = RNG.normal(size=shape)
    losses, weights = train(make, x, False)
    found, trained = train(make, x, True)
    np.testing.assert_allclose(found, losses, rtol=1e-12)
    for path, numbers in weights.items():
        np.testing.assert_allclose(trained[path], numbers, rtol=1e-9, atol=1e-11, err_msg=path)
    assert len(set(losses)) == 4
