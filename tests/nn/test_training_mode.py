"""`training` of modules in compiled functions: a guard; and whole models with optimisers as compiled steps."""

import numpy as np
import pytest

import wengert as wg
from wengert import GradientError, nn, optim

X = np.random.default_rng(0).standard_normal((16, 6))
T = np.random.default_rng(1).integers(0, 3, 16)


def make_model():
    return nn.Sequential(
        nn.Linear(6, 8, bias=False, rng=0, dtype=float),
        nn.BatchNorm1d(8, dtype=float),
        nn.Tanh(),
        nn.Dropout(0.3, rng=5),
        nn.Linear(8, 3, rng=1, dtype=float),
    )


def make_optimizer(model):
    groups = [{"params": list(model[0].parameters()), "lr": 0.01}, {"params": list(model[4].parameters())}]
    return optim.AdamW(groups, lr=0.02, weight_decay=0.1)


class Trained:
    """A model and the step that trains it."""

    def __init__(self):
        self.model = make_model()
        self.optimizer = make_optimizer(self.model)
        self.loss = nn.CrossEntropyLoss()

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.loss(self.model(x), y)
        loss.backward()
        nn.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss


def test_a_model_with_buffers_draws_and_groups_trains_as_in_eager_code():
    eager, compiled = Trained(), Trained()
    step = wg.compile(compiled.step)
    changes = {
        2: lambda t: t.model.eval(),
        4: lambda t: t.model.train(),
        5: lambda t: t.model[0].requires_grad_(False),
        6: lambda t: t.model.eval(),
        7: lambda t: t.model[0].requires_grad_(),
        8: lambda t: t.model.train(),
        9: lambda t: t.optimizer.param_groups[0].update(lr=0.005),
    }
    for i in range(11):
        for trained in (eager, compiled):
            changes.get(i, lambda _: None)(trained)
        expected, found = eager.step(X, T), step(X, T)
        np.testing.assert_allclose(found.item(), expected.item(), rtol=1e-11)
        state = compiled.model.state_dict()
        for name, value in eager.model.state_dict().items():
            np.testing.assert_allclose(state[name], value, rtol=1e-9, atol=1e-12, err_msg=f"{name} in step {i}")


def test_a_trace_is_used_in_its_training_mode_only():
    traced = []

    class Switch(nn.Module):
        def forward(self, x):
            traced.append(self.training)
            return x + 1.0 if self.training else x - 1.0

    module = Switch()
    f = wg.compile(lambda x: module(x))
    for mode in (True, False, True, False, True):
        module.train(mode)
        assert f(2.0) == (3.0 if mode else 1.0)
    assert traced == [True, False]


def test_the_training_mode_cannot_be_changed_inside():
    module = nn.Dropout(0.5, rng=0)
    with pytest.raises(GradientError, match="training was changed inside"):
        wg.compile(lambda x: module.eval()(x))(X)
    assert module.training
    assert wg.compile(lambda x: module.train()(x))(X).shape == X.shape
