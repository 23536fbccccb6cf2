from __future__ import annotations

import numpy as np
import pytest
from tests.control.passes import forward, reverse

import wengert as wg
from wengert.control.custom import custom_jvp, custom_vjp, primitive
from wengert.core.levels import new_level
from wengert.core.primitive import TABLE
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual
from wengert.modes.taylor import Jet, Run, Series
from wengert.modes.tensor import Tensor

MODES = {"forward": forward, "reverse": reverse}


def softplus_by_jvp():
    @custom_jvp
    def softplus(x):
        return np.log(1.0 + np.exp(x))

    @softplus.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return softplus(x), t / (1.0 + np.exp(-x))

    return softplus


def softplus_by_vjp():
    @custom_vjp
    def softplus(x):
        return np.log(1.0 + np.exp(x))

    softplus.defvjp(lambda x: (softplus(x), x), lambda x, t: (t / (1.0 + np.exp(-x)),))
    return softplus


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


BOTH = pytest.mark.parametrize("make", [softplus_by_jvp, softplus_by_vjp])


class TestBothRules:
    @BOTH
    @pytest.mark.parametrize("mode", MODES)
    def test_first_order(self, make, mode):
        np.testing.assert_allclose(MODES[mode](make(), 0.3), sigmoid(0.3), rtol=1e-14)

    @BOTH
    @pytest.mark.parametrize("outer", MODES)
    @pytest.mark.parametrize("inner", MODES)
    def test_second_order(self, make, outer, inner):
        f = make()
        s = sigmoid(0.3)
        second = MODES[outer](lambda x: MODES[inner](f, x), 0.3)
        np.testing.assert_allclose(second, s * (1 - s), rtol=1e-13)
        third = MODES["reverse"](lambda x: MODES[outer](lambda y: MODES[inner](f, y), x), 0.3)
        np.testing.assert_allclose(third, s * (1 - s) * (1 - 2 * s), rtol=1e-13)

    @BOTH
    def test_taylor(self, make):
        level, run = new_level(), Run(4)
        y = make()(Jet(Series(run, [np.float64(0.3), np.float64(1.0)]), level))
        s = sigmoid(0.3)
        expected = [
            np.log1p(np.exp(0.3)),
            s,
            s * (1 - s) / 2,
            s * (1 - s) * (1 - 2 * s) / 6,
            s * (1 - s) * (1 - 6 * s + 6 * s * s) / 24,
        ]
        np.testing.assert_allclose([y.series[k] for k in range(5)], expected, rtol=1e-12)

    @BOTH
    def test_user_tape(self, make):
        x = wg.tensor([0.3, -0.2], requires_grad=True)
        y = make()(x).sum()
        y.backward(retain_graph=True)
        y.backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * sigmoid(x.detach().numpy()), rtol=1e-14)
        (g,) = wg.autograd.grad(make()(x).sum(), [x], create_graph=True)
        (h,) = wg.autograd.grad(g.sum(), [x])
        s = sigmoid(x.detach().numpy())
        np.testing.assert_allclose(h.numpy(), s * (1 - s), rtol=1e-13)

    @BOTH
    def test_numpy_in_numpy_out(self, make):
        assert type(make()(np.ones(3))) is np.ndarray
        assert isinstance(make()(0.5), float)

    @BOTH
    def test_backward_inside_no_grad(self, make):
        x = wg.tensor(0.3, requires_grad=True)
        y = make()(x)
        with wg.no_grad():
            assert not make()(x).requires_grad
            y.backward()
        np.testing.assert_allclose(x.grad.item(), sigmoid(0.3))

    @BOTH
    def test_a_rule_for_complex_values(self, make):
        z = wg.tensor(0.3 + 0.2j, requires_grad=True)
        make()(z).real.backward()
        np.testing.assert_allclose(z.grad.item(), np.conj(sigmoid(0.3 + 0.2j)))


class TestTheRuleDecides:
    """Rules that are deliberately not the derivative show which one ran."""

    def test_jvp_rule_is_used_at_every_order(self):
        @custom_jvp
        def f(x):
            return x * x

        f.defjvp(lambda primals, tangents: (f(primals[0]), 10.0 * primals[0] * tangents[0]))
        for mode in MODES.values():
            assert mode(f, 3.0) == 30.0
            assert mode(lambda x, mode=mode: mode(f, x), 3.0) == 10.0

    def test_vjp_rule_is_used_at_every_order(self):
        @custom_vjp
        def f(x):
            return x * x

        f.defvjp(lambda x: (f(x), x), lambda x, t: (10.0 * x * t,))
        for mode in MODES.values():
            assert mode(f, 3.0) == 30.0
            assert mode(lambda x, mode=mode: mode(f, x), 3.0) == 10.0

    def test_residuals_that_depend_on_the_input(self):
        @custom_vjp
        def f(x):
            return np.exp(x)

        def forward_rule(x):
            out = np.exp(x)
            return out, out

        f.defvjp(forward_rule, lambda out, t: (t * out,))
        for outer in MODES.values():
            for inner in MODES.values():
                np.testing.assert_allclose(outer(lambda x, inner=inner: inner(f, x), 0.5), np.exp(0.5), rtol=1e-14)

    def test_residuals_survive_changes_to_the_users_array(self):
        @custom_vjp
        def f(x, a):
            return x * a

        f.defvjp(lambda x, a: (x * a, (x, a)), lambda saved, t: (t * saved[1], t * saved[0]))
        a, x = np.array([2.0, 3.0]), wg.tensor([1.0, 1.0], requires_grad=True)
        y = f(x, a)
        a[:] = 0.0
        y.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [2.0, 3.0])


def batched(f, x, *args):
    level = new_level()
    y = f(Batched(x, level), *args)
    return y.value if isinstance(y, Batched) and y.level == level else y


class TestBatch:
    @BOTH
    def test_every_order_of_nesting(self, make):
        f, x = make(), np.array([0.3, -0.2, 0.5])
        s = sigmoid(x)
        np.testing.assert_allclose(batched(f, x), np.log1p(np.exp(x)))
        for mode in MODES.values():
            np.testing.assert_allclose(batched(lambda v, mode=mode: mode(f, v), x), s)
            np.testing.assert_allclose(batched(lambda v, mode=mode: mode(lambda u: mode(f, u), v), x), s * (1 - s))
            assert type(batched(lambda v, mode=mode: mode(f, v), x)) is np.ndarray
            twice = batched(lambda u, mode=mode: batched(lambda v: mode(lambda a: mode(f, a), v), u), np.stack([x, x]))
            np.testing.assert_allclose(twice, np.stack([s * (1 - s)] * 2))
        np.testing.assert_allclose(
            reverse(lambda u: batched(lambda v: batched(f, v), u), np.stack([x, x])), np.stack([s, s])
        )
        np.testing.assert_allclose(reverse(lambda v: batched(f, v), x), s)
        np.testing.assert_allclose(forward(lambda v: batched(f, v), x), s.sum())

    @pytest.mark.parametrize("kind", ["jvp", "vjp"])
    def test_the_rule_decides_under_a_batch(self, kind):
        if kind == "jvp":
            f = custom_jvp(lambda x, y: x * y)
            f.defjvp(
                lambda primals, tangents: (
                    f(*primals),
                    10.0 * primals[1] * tangents[0] + 100.0 * primals[0] * tangents[1],
                )
            )
        else:
            f = custom_vjp(lambda x, y: x * y)
            f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda saved, t: (10.0 * t * saved[1], 100.0 * t * saved[0]))
        x, y = np.array([1.0, 2.0, 3.0]), np.float64(4.0)
        np.testing.assert_array_equal(reverse(lambda v: batched(f, v, y), x), [40.0, 40.0, 40.0])
        assert reverse(lambda v: batched(f, x, v), y) == 600.0
        assert forward(lambda v: batched(f, x, v), y) == 600.0
        x = wg.tensor(x, requires_grad=True)
        batched(f, x, y).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [40.0, 40.0, 40.0])


class TestArguments:
    def test_trees(self):
        @custom_jvp
        def f(p, x):
            return {"y": p["w"] * x + p["b"], "z": x}

        def rule(primals, tangents):
            (p, x), (dp, dx) = primals, tangents
            return f(p, x), {"y": dp["w"] * x + p["w"] * dx + dp["b"], "z": dx}

        f.defjvp(rule)
        w, b = wg.tensor(2.0, requires_grad=True), wg.tensor(1.0, requires_grad=True)
        out = f({"w": w, "b": b}, wg.tensor(3.0))
        (out["y"] + out["z"]).backward()
        assert (w.grad.item(), b.grad.item()) == (3.0, 1.0)

    def test_trees_and_none_in_backward(self):
        @custom_vjp
        def f(p, k):
            return p[0] * p[1] * k

        f.defvjp(
            lambda p, k: (f(p, k), (p, k)),
            lambda saved, t: ((t * saved[0][1] * saved[1], t * saved[0][0] * saved[1]), None),
        )
        a, b, k = (wg.tensor(v, requires_grad=True) for v in (2.0, 3.0, 4.0))
        f((a, b), k).backward()
        assert (a.grad.item(), b.grad.item(), k.grad) == (12.0, 8.0, None)
        level = new_level()
        y = f((Dual(np.float64(2.0), np.float64(1.0), level), np.float64(3.0)), np.float64(4.0))
        assert y.tangent == 12.0

    def test_nondiff_argnums_and_keywords(self):
        @custom_jvp
        def plain(x):
            return x

        def power(n, x, *, scale=1.0):
            return scale * x**n

        f = custom_jvp(power, nondiff_argnums=(0,))
        f.defjvp(lambda n, primals, tangents: (f(n, *primals), n * primals[0] ** (n - 1) * tangents[0]))
        assert reverse(lambda x: f(3, x), 2.0) == 12.0
        assert forward(lambda x: f(n=3, x=x), 2.0) == 12.0
        g = custom_vjp(power, nondiff_argnums=0)
        g.defvjp(
            lambda n, x, *, scale=1.0: (power(n, x, scale=scale), scale * x), lambda n, x, t: (n * x ** (n - 1) * t,)
        )
        assert reverse(lambda x: g(3, x), 2.0) == 12.0
        with pytest.raises(wg.GradientError, match="nondiff_argnums"):
            f(wg.tensor(3.0, requires_grad=True), 2.0)

    def test_integers_pass_through(self):
        @custom_jvp
        def pick(x, i):
            return x[i], i

        pick.defjvp(lambda primals, tangents: (pick(*primals), (tangents[0][primals[1]], tangents[1])))
        x = wg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y, i = pick(x, np.array([2, 2]))
        assert not (isinstance(i, Tensor) and i.requires_grad)
        y.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.0, 2.0])

    def test_several_outputs_of_which_one_is_used(self):
        @custom_vjp
        def f(x):
            return np.sin(x), np.cos(x)

        f.defvjp(lambda x: (f(x), x), lambda x, t: (t[0] * np.cos(x) - t[1] * np.sin(x),))
        np.testing.assert_allclose(reverse(lambda x: f(x)[1], 0.5), -np.sin(0.5))
        np.testing.assert_allclose(forward(lambda x: f(x)[0], 0.5), np.cos(0.5))


class TestErrors:
    def test_no_rule(self):
        with pytest.raises(wg.GradientError, match="defjvp"):
            custom_jvp(lambda x: x)(wg.tensor(1.0))
        with pytest.raises(wg.GradientError, match="defvjp"):
            custom_vjp(lambda x: x)(wg.tensor(1.0))

    def test_wrong_shapes(self):
        f = custom_jvp(lambda x: x * 1.0)
        f.defjvp(lambda primals, tangents: (f(*primals), tangents[0].sum()))
        with pytest.raises(wg.GradientError, match=r"shape \(\)"):
            forward(f, np.ones(3))
        with pytest.raises(wg.GradientError, match=r"shape \(\)"):
            reverse(f, np.ones(3))
        g = custom_vjp(lambda x: x * 1.0)
        g.defvjp(lambda x: (x * 1.0, None), lambda _, t: (t.sum(),))
        with pytest.raises(wg.GradientError, match=r"shape \(\)"):
            reverse(g, np.ones(3))
        g.defvjp(lambda x: (x * 1.0, None), lambda _, t: (t, t))
        with pytest.raises(wg.GradientError, match="one for each argument"):
            reverse(g, np.ones(3))

    def test_a_backward_in_plain_numbers_raises_in_forward_mode(self):
        g = custom_vjp(lambda x: x * 2.0)
        g.defvjp(lambda x: (x * 2.0, None), lambda _, t: (2.0 * np.asarray(t),))
        assert reverse(g, 1.0) == 2.0
        with pytest.raises(TypeError):
            forward(g, 1.0)

    def test_kind(self):
        with pytest.raises(ValueError, match="no kind"):
            primitive("nothing", np.sin, kind="magic")
        with pytest.raises(ValueError, match="already"):
            primitive("sin", np.sin, lambda t, x: t * np.cos(x))
        with pytest.raises(ValueError, match="one rule"):
            primitive("nothing", np.sin)


@pytest.fixture
def table():
    """The table as it was, afterwards."""
    names = set(TABLE)
    yield
    for name in set(TABLE) - names:
        del TABLE[name]


@pytest.mark.usefixtures("table")
class TestPrimitive:
    def test_numpy_keeps_its_functions(self):
        mine = primitive("my_sinh", np.sinh, lambda t, x: 10.0 * t)
        assert reverse(mine, 0.5) == 10.0
        np.testing.assert_allclose(reverse(np.sinh, 0.5), np.cosh(0.5))

    def test_log1p(self):
        log1p = primitive("my_log1p", lambda x: np.log1p(x), lambda t, x: t / (1.0 + x))
        for outer in MODES.values():
            np.testing.assert_allclose(outer(log1p, 0.5), 1 / 1.5)
            for inner in MODES.values():
                np.testing.assert_allclose(outer(lambda x, inner=inner: inner(log1p, x), 0.5), -1 / 1.5**2)
        assert log1p(np.float32(0.5)).dtype == np.float32

    def test_linear_layer(self):
        affine = primitive(
            "my_linear",
            lambda x, w, b: x @ w.T + b,
            lambda t, w: t @ w,
            lambda t, x: t.T @ x,
            lambda t: t.sum(axis=0),
            inputs=("x", "w", "b"),
            kind="general",
            jvps=(lambda t, w: t @ w.T, lambda t, x: x @ t.T, lambda t, out_spec: wg.broadcast_to(t, out_spec.shape)),
        )
        matrix = primitive(
            "my_linear_without_bias",
            lambda x, w: x @ w.T,
            lambda t, w: t @ w,
            lambda t, x: t.T @ x,
            inputs=("x", "w"),
            kind="multilinear",
        )

        def Linear(input, weight, bias=None):
            return matrix(input, weight) if bias is None else affine(input, weight, bias)

        rng = np.random.default_rng(0)
        x, w, b = rng.normal(size=(4, 3)), rng.normal(size=(2, 3)), rng.normal(size=2)
        tensors = [wg.tensor(a, requires_grad=True) for a in (x, w, b)]
        assert wg.autograd.gradcheck(Linear, tensors)
        assert wg.autograd.gradgradcheck(Linear, tensors)
        assert wg.autograd.gradcheck(Linear, tensors[:2])
        np.testing.assert_allclose(forward(lambda v: Linear(x, v, b), w), (x @ np.ones_like(w).T).sum())
        np.testing.assert_allclose(forward(lambda v: Linear(x, w, v), b), 8.0)
        np.testing.assert_allclose(forward(lambda v: Linear(v, w), x), (np.ones_like(x) @ w.T).sum())

    def test_linear_layer_as_custom_vjp(self):
        @custom_vjp
        def linear(input, weight, bias=None):
            out = input @ weight.T
            return out if bias is None else out + bias

        def backward(saved, t):
            input, weight, bias = saved
            return t @ weight, t.T @ input, None if bias is None else t.sum(axis=0)

        linear.defvjp(lambda input, weight, bias=None: (linear(input, weight, bias), (input, weight, bias)), backward)
        rng = np.random.default_rng(0)
        tensors = [wg.tensor(rng.normal(size=s), requires_grad=True) for s in ((4, 3), (2, 3), (2,))]
        assert wg.autograd.gradcheck(linear, tensors)
        assert wg.autograd.gradgradcheck(linear, tensors)
        assert wg.autograd.gradcheck(linear, tensors[:2])


@custom_vjp
def tripled_pull(x):
    return np.sin(x)


tripled_pull.defvjp(lambda x: (np.sin(x), x), lambda x, t: (3.0 * t * np.cos(x),))


@custom_jvp
def tripled_push(x):
    return np.sin(x)


tripled_push.defjvp(lambda x, t: (np.sin(x[0]), 3.0 * np.cos(x[0]) * t[0]))


class TestInBodies:
    """A rule holds in the bodies of loops and branches, whose graphs are differentiated after they were traced."""

    A = np.array([1.0, 2.0])
    MODES = {
        "grad": wg.grad,
        "second": lambda f: wg.grad(wg.grad(f)),
        "jvp": lambda f: lambda a: wg.jvp(f, (a,), (1.0,))[1],
        "vmap of grad": lambda f: lambda a: wg.vmap(wg.grad(f))(a * TestInBodies.A),
        "grad of vmap": lambda f: wg.grad(lambda a: wg.vmap(f)(a * TestInBodies.A).sum()),
    }

    @staticmethod
    def written_out(h, a):
        s = a
        for _ in range(3):
            s = h(s * a)
        return s

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("h", [tripled_pull, tripled_push])
    def test_loops_and_branches(self, h, mode):
        transform = self.MODES[mode]
        wanted = transform(lambda a: self.written_out(h, a))(0.7)
        programs = [
            lambda a: wg.scan(lambda s, _: (h(s * a), None), a, length=3)[0],
            lambda a: wg.while_loop(lambda s: s[1] < 3, lambda s: (h(s[0] * a), s[1] + 1), (a, 0))[0],
            lambda a: wg.cond(a > 0.0, lambda a: self.written_out(h, a), lambda a: a, a),
            lambda a: wg.scan(lambda s, _: (wg.vmap(h)(s * a), None), a * np.ones(2), length=3)[0][0],
        ]
        for f in programs:
            np.testing.assert_allclose(wg.compile(transform(f))(0.7), wanted, rtol=1e-12)

    def test_a_rule_that_captures(self):
        def scaled(w):
            f = custom_vjp(lambda x: x * w)
            f.defvjp(lambda x: (x * w, None), lambda _, t: (3.0 * t * w,))
            return f

        def loop(w, x):
            return wg.scan(lambda s, _: (scaled(w)(s), None), x, length=2)[0]

        def plain(w, x):
            return scaled(w)(scaled(w)(x))

        for argnums in (0, 1):
            for derive in (lambda f, k=argnums: wg.grad(f, k), lambda f, k=argnums: wg.grad(wg.grad(f, 1), k)):
                np.testing.assert_allclose(wg.compile(derive(loop))(0.7, 1.1), derive(plain)(0.7, 1.1), rtol=1e-12)
