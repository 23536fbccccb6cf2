"""A small network and its training step, written by hand, and comparisons of a compiled step with eager code."""

import numpy as np

import wengert as wg

X = np.random.default_rng(0).standard_normal((8, 3))
Y = np.random.default_rng(1).standard_normal((8, 2))


class Model:
    """A small network, its moments and its step, written by hand."""

    def __init__(self, zero="start", momentum=0.9):
        draw = np.random.default_rng(2).standard_normal
        self.w = wg.tensor(draw((3, 4)), requires_grad=True)
        self.b = wg.tensor(np.zeros(4), requires_grad=True)
        self.v = wg.tensor(draw((4, 2)), requires_grad=True)
        self.parameters = [self.w, self.b, self.v]
        self.moments = [wg.zeros(p.shape) for p in self.parameters]
        self.count = wg.tensor(0)
        self.zero, self.momentum = zero, momentum

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None

    def loss(self, x, y):
        hidden = wg.maximum(x @ self.w + self.b, 0.1)
        return ((hidden @ self.v - y) ** 2).sum()

    def update(self):
        with wg.no_grad():
            self.count += 1
            for p, m in zip(self.parameters, self.moments, strict=True):
                if p.grad is not None:
                    m[...] = self.momentum * m + p.grad
                    p -= 0.01 * m

    def step(self, x, y):
        if self.zero == "start":
            self.zero_grad()
        loss = self.loss(x, y)
        loss.backward()
        self.update()
        if self.zero == "end":
            self.zero_grad()
        return loss

    def state(self):
        grads = [None if p.grad is None else p.grad.numpy().copy() for p in self.parameters]
        return [p.detach().numpy().copy() for p in (*self.parameters, *self.moments, self.count)], grads


def assert_same(a, b):
    for x, y in zip([*a[0], *a[1]], [*b[0], *b[1]], strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-12)  # of sums whose terms are up to 100


def assert_follows(eager, compiled, changes=(), steps=6, step=None):
    """Run both step by step; `changes` are applied to both models before some steps."""
    run = compiled.step if step is None else lambda x, y: step(compiled, x, y)
    program, plain = wg.compile(run), (eager.step if step is None else lambda x, y: step(eager, x, y))
    for i in range(steps):
        for when, change in changes:
            if when == i:
                change(eager)
                change(compiled)
        expected, found = plain(X, Y), program(X, Y)
        if expected is not None:
            np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-13)
        assert_same(eager.state(), compiled.state())
    return program


def freeze(model):
    model.w.requires_grad = False


def thaw(model):
    model.w.requires_grad = True
