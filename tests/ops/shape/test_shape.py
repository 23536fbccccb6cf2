"""The shape family: values against NumPy, gradients of first and second order against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.versions import needs_numpy

import wengert as wg
from wengert.core.primitive import as_operand
from wengert.modes.tensor import Tensor, tensor
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.elementwise.trigonometric import sin
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape import casting, joining, rearranging, reshaping, splitting

# One line is one test: what is computed, in NumPy or in wengert, from arrays of these shapes.
CASES: dict[str, tuple[Any, tuple]] = {
    "reshape": (lambda n, x: n.reshape(x, (3, -1)), ((2, 3),)),
    "reshape to a length": (lambda n, x: n.reshape(x, np.int64(6)), ((2, 3),)),
    "reshape F": (lambda n, x: n.reshape(x, (4, -1), order="F"), ((2, 3, 2),)),
    "reshape 0-d": (lambda n, x: n.reshape(x, (1, -1)), ((),)),
    "reshape empty": (lambda n, x: n.reshape(x, (-1, 2)), ((0, 3),)),
    "ravel": (lambda n, x: n.ravel(x), ((2, 3),)),
    "ravel F": (lambda n, x: n.ravel(x, "F"), ((2, 3),)),
    "ravel empty": (lambda n, x: n.ravel(x), ((2, 0),)),
    "squeeze": (lambda n, x: n.squeeze(x), ((1, 2, 1),)),
    "squeeze axis": (lambda n, x: n.squeeze(x, (0, -1)), ((1, 1, 2, 1),)),
    "expand_dims": (lambda n, x: n.expand_dims(x, (0, -1)), ((2, 3),)),
    "expand_dims unordered": (lambda n, x: n.expand_dims(x, [3, 1]), ((2, 3),)),
    "expand_dims 0-d": (lambda n, x: n.expand_dims(x, 0), ((),)),
    "expand_dims last": (lambda n, x: n.expand_dims(x, -1), ((2, 3),)),
    "expand_dims last but one": (lambda n, x: n.expand_dims(x, -2), ((3,),)),
    "expand_dims last 0-d": (lambda n, x: n.expand_dims(x, -1), ((),)),
    "transpose": (lambda n, x: n.transpose(x), ((2, 3, 4),)),
    "transpose axes": (lambda n, x: n.transpose(x, [1, -1, 0]), ((2, 3, 4),)),
    "transpose 0-d": (lambda n, x: n.transpose(x), ((),)),
    "matrix_transpose": (lambda n, x: n.matrix_transpose(x), ((2, 3, 4),)),
    "swapaxes": (lambda n, x: n.swapaxes(x, 0, -1), ((2, 3, 4),)),
    "moveaxis": (lambda n, x: n.moveaxis(x, 0, -1), ((2, 3, 4),)),
    "moveaxis two": (lambda n, x: n.moveaxis(x, (0, 1), (-1, 0)), ((2, 3, 4),)),
    "broadcast_to": (lambda n, x: n.broadcast_to(x, (2, 3, 4)), ((3, 1),)),
    "broadcast_to empty": (lambda n, x: n.broadcast_to(x, (0, 3)), ((3,),)),
    "broadcast_to length": (lambda n, x: n.broadcast_to(x, 3), ((),)),
    "broadcast_arrays": (lambda n, x, y: n.broadcast_arrays(x, y), ((2, 1), (3,))),
    "concatenate": (lambda n, x, y, z: n.concatenate([x, y, z], axis=-1), ((2, 1), (2, 0), (2, 3))),
    "concatenate flat": (lambda n, x, y: n.concatenate((x, y), axis=None), ((2, 2), ())),
    "concatenate twice": (lambda n, x: n.concatenate((x, [[1.0, 2.0]], x)), ((2, 2),)),
    "stack": (lambda n, x, y: n.stack([x, y], axis=-1), ((2, 3), (2, 3))),
    "stack 0-d": (lambda n, x, y: n.stack([x, 1.0, y]), ((), ())),
    "unstack": (lambda n, x: n.unstack(x, axis=1), ((2, 3),)),
    "unstack partly": (lambda n, x: n.unstack(x)[1], ((3, 2),)),
    "vstack": (lambda n, x, y: n.vstack([x, y]), ((3,), (2, 3))),
    "hstack": (lambda n, x, y: n.hstack([x, y]), ((2, 1), (2, 3))),
    "hstack 1-d": (lambda n, x, y: n.hstack([x, y]), ((), (3,))),
    "dstack": (lambda n, x, y: n.dstack([x, y]), ((3,), (1, 3, 2))),
    "column_stack": (lambda n, x, y: n.column_stack([x, y]), ((3,), (3, 2))),
    "split": (lambda n, x: n.split(x, 3, axis=-1), ((2, 6),)),
    "split partly": (lambda n, x: n.split(x, [1, 3])[1], ((4, 2),)),
    "array_split": (lambda n, x: n.array_split(x, 3), ((5, 2),)),
    "array_split unordered": (lambda n, x: n.array_split(x, [3, -4, 9]), ((5,),)),
    "hsplit": (lambda n, x: n.hsplit(x, 2), ((4,),)),
    "hsplit 2-d": (lambda n, x: n.hsplit(x, [1]), ((2, 3),)),
    "vsplit": (lambda n, x: n.vsplit(x, 2), ((4, 2),)),
    "dsplit": (lambda n, x: n.dsplit(x, 2), ((1, 2, 4),)),
    "tile": (lambda n, x: n.tile(x, (2, 1, 3)), ((2, 2),)),
    "tile short": (lambda n, x: n.tile(x, 2), ((2, 2),)),
    "tile 0-d": (lambda n, x: n.tile(x, 3), ((),)),
    "tile none": (lambda n, x: n.tile(x, 0), ((3,),)),
    "repeat": (lambda n, x: n.repeat(x, 2), ((2, 2),)),
    "repeat axis": (lambda n, x: n.repeat(x, 3, axis=-2), ((2, 3),)),
    "repeat each": (lambda n, x: n.repeat(x, [2, 0, 1], axis=1), ((2, 3),)),
    "repeat none": (lambda n, x: n.repeat(x, 0), ((2,),)),
    "flip": (lambda n, x: n.flip(x), ((2, 3),)),
    "flip axis": (lambda n, x: n.flip(x, -1), ((2, 3),)),
    "fliplr": (lambda n, x: n.fliplr(x), ((2, 3),)),
    "flipud": (lambda n, x: n.flipud(x), ((3,),)),
    "roll": (lambda n, x: n.roll(x, 2), ((2, 3),)),
    "roll axis": (lambda n, x: [n.roll(x, k, -1) for k in (0, 1, -1, 3, 8)], ((2, 3),)),
    "roll axes": (lambda n, x: n.roll(x, (1, -5), axis=(0, 1)), ((2, 3),)),
    "roll broadcast": (lambda n, x: n.roll(x, 1, axis=(0, 0, 1)), ((4, 3),)),
    "rot90": (lambda n, x: [n.rot90(x, k) for k in (0, 1, 2, 3, -1)], ((2, 3),)),
    "rot90 axes": (lambda n, x: n.rot90(x, axes=(2, 0)), ((2, 2, 3),)),
    "pad": (lambda n, x: n.pad(x, ((1, 2), (0, 1))), ((2, 3),)),
    "pad 0-d": (lambda n, x: n.pad(x, 0), ((),)),
    "pad by axis": (lambda n, x: n.pad(x, {-1: (1, 2)}), ((2, 3),)),
    "pad constants": (lambda n, x: n.pad(x, 1, constant_values=((1, 2), (3, 4))), ((2, 3),)),
    "pad edge": (lambda n, x: n.pad(x, (2, 1), mode="edge"), ((2, 3),)),
    "pad reflect": (lambda n, x: n.pad(x, ((1, 0), (5, 2)), mode="reflect"), ((2, 3),)),
    "pad symmetric": (lambda n, x: n.pad(x, ((1,), (4,)), mode="symmetric"), ((2, 3),)),
    "pad wrap": (lambda n, x: n.pad(x, (2, 4), mode="wrap"), ((3,),)),
    "pad linear_ramp": (lambda n, x: n.pad(x, ((1, 3), (2, 0)), mode="linear_ramp", end_values=((1, 2), (3, 4))),
    ((2, 3),)),
    "pad mean": (lambda n, x: n.pad(x, 2, mode="mean", stat_length=((1, 2), (2, 9))), ((2, 3),)),
    "pad maximum": (lambda n, x: n.pad(x, 1, mode="maximum"), ((2, 3),)),
    "pad minimum": (lambda n, x: n.pad(x, 1, mode="minimum"), ((2, 3),)),
    "pad median": (lambda n, x: n.pad(x, 1, mode="median"), ((2, 3),)),
    "diag of a vector": (lambda n, x: n.diag(x, -1), ((3,),)),
    "diag of a matrix": (lambda n, x: n.diag(x, 1), ((3, 4),)),
    "diagonal": (lambda n, x: n.diagonal(x, -1, 2, 0), ((2, 3, 4),)),
    "diagonal empty": (lambda n, x: n.diagonal(x, 7), ((2, 3),)),
    "diagflat": (lambda n, x: n.diagflat(x, 1), ((2, 2),)),
    "tril": (lambda n, x: n.tril(x, -1), ((2, 3, 4),)),
    "tril of a vector": (lambda n, x: n.tril(x), ((3,),)),
    "triu": (lambda n, x: n.triu(x, 1), ((3, 4),)),
    "trace": (lambda n, x: x.trace(), ((3, 4),)),
    "trace axes": (lambda n, x: x.trace(1, axis1=-1, axis2=0), ((2, 3, 4),)),
    "kron": (lambda n, x, y: n.kron(x, y), ((2, 2), (3,))),
    "kron 0-d": (lambda n, x, y: n.kron(x, y), ((), (2, 3))),
    "atleast_1d": (lambda n, x, y: n.atleast_1d(x, y), ((), (2, 3))),
    "atleast_2d": (lambda n, x, y: n.atleast_2d(x, y), ((), (3,))),
    "atleast_3d": (lambda n, x, y, z: n.atleast_3d(x, y, z), ((), (3,), (2, 3))),
    "atleast_3d one": (lambda n, x: n.atleast_3d(x), ((2, 3),)),
    "meshgrid": (lambda n, x, y, z: n.meshgrid(x, y, z), ((2,), (3,), ())),
    "meshgrid sparse": (lambda n, x, y: n.meshgrid(x, y, indexing="ij", sparse=True), ((2,), (3,))),
    "meshgrid one": (lambda n, x: n.meshgrid(x), ((2,),)),
    "copy": (lambda n, x: n.copy(x), ((2, 3),)),
    "astype": (lambda n, x: n.astype(x, np.float64), ((2, 3),)),
}  # fmt: skip

LATER = {"pad by axis": needs_numpy(2, 4)}
every_case = pytest.mark.parametrize("case", [pytest.param(case, marks=LATER.get(case, ())) for case in CASES])
rng = np.random.default_rng(0)


def arguments(shapes: tuple) -> list[np.ndarray]:
    return [np.array(rng.normal(size=s)) for s in shapes]


def outputs(result: Any) -> list:
    return list(result) if isinstance(result, list | tuple) else [result]


def gradient_of(leaf: Tensor) -> Tensor:
    assert leaf.grad is not None
    return leaf.grad


def loss(outs: list) -> Any:
    """A number that depends on every entry in its own way, and not linearly."""
    total: Any = 0.0
    for k, out in enumerate(outs):
        weights = np.cos(np.arange(out.size) + k).reshape(out.shape)
        total = total + sum_(multiply(weights, sin(out)))
    return total


def gradients(f: Any, arrays: list, create_graph: bool = False) -> tuple[list[Tensor], list[Tensor]]:
    leaves = [tensor(a, requires_grad=True) for a in arrays]
    loss(outputs(f(wg, *leaves))).backward(create_graph=create_graph)
    return leaves, [gradient_of(leaf) for leaf in leaves]


def differences(f: Any, arrays: list[np.ndarray], step: float = 1e-6) -> list[np.ndarray]:
    """Central differences of a scalar function of several arrays."""
    result = []
    for a in arrays:
        d = np.zeros_like(a)
        for i in np.ndindex(a.shape):
            original = a[i]
            a[i] = original + step
            above = f(*arrays)
            a[i] = original - step
            d[i] = (above - f(*arrays)) / (2 * step)
            a[i] = original
        result.append(d)
    return result


@every_case
def test_value_is_numpys(case: str) -> None:
    f, shapes = CASES[case]
    arrays = arguments(shapes)
    expected = outputs(f(np, *arrays))
    tracked = [tensor(a, requires_grad=True) for a in arrays]
    for results, kind in (
        (f(wg, *arrays), np.ndarray | np.generic),
        (f(wg, *tracked), Tensor),
        (f(np, *tracked), Tensor),
    ):
        for result, e in zip(outputs(results), expected, strict=True):
            assert isinstance(result, kind)
            assert result.shape == e.shape
            assert result.dtype == e.dtype
            np.testing.assert_allclose(result.value if isinstance(result, Tensor) else result, e, rtol=1e-15)


@every_case
def test_gradient(case: str) -> None:
    f, shapes = CASES[case]
    arrays = arguments(shapes)
    _, grads = gradients(f, arrays)
    numeric = differences(lambda *a: loss(outputs(f(np, *a))), arrays)
    for g, d, a in zip(grads, numeric, arrays, strict=True):
        assert g.shape == a.shape
        np.testing.assert_allclose(g.value, d, atol=1e-8)


@every_case
def test_second_order(case: str) -> None:
    f, shapes = CASES[case]
    arrays = arguments(shapes)
    directions = arguments(shapes)

    def along(grads: list) -> Any:
        return sum((np.sum(v * g.value) for v, g in zip(directions, grads, strict=True)), 0.0)

    leaves, grads = gradients(f, arrays, create_graph=True)
    numeric = differences(lambda *a: along(gradients(f, list(a))[1]), arrays)
    for leaf in leaves:
        leaf.grad = None
    total: Any = 0.0
    for v, g in zip(directions, grads, strict=True):
        total = total + sum_(multiply(v, g))
    total.backward()
    for leaf, d in zip(leaves, numeric, strict=True):
        np.testing.assert_allclose(gradient_of(leaf).value, d, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
@pytest.mark.parametrize(
    "case", ["reshape F", "concatenate", "stack", "split", "tile", "roll", "pad", "pad linear_ramp", "diagonal"]
)
def test_dtype_stays(case: str, dtype: Any) -> None:
    f, shapes = CASES[case]
    leaves = [tensor(a.astype(dtype), requires_grad=True) for a in arguments(shapes)]
    outs = outputs(f(wg, *leaves))
    assert {out.dtype for out in outs} == {np.dtype(dtype)}
    for out in outs:
        out.backward(np.ones(out.shape, dtype), retain_graph=True)
    assert {gradient_of(leaf).dtype for leaf in leaves} == {np.dtype(dtype)}


def test_roll_is_numpys_for_every_layout_and_argument() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for array in (x, np.asfortranarray(x), x[:, ::-1, ::2], x[:, :0], np.broadcast_to(x[:1], x.shape)):
        cases: list[tuple[Any, Any]] = [(1, 0), (-1, 1), (7, -1), (np.int64(2), 1), (0, 0), ((1, 2), (0, 1))]
        for shift, axis in cases:
            out = wg.roll(array, shift, axis)
            expected = np.roll(array, shift, axis)
            np.testing.assert_array_equal(out, expected)
            assert out.strides == expected.strides
    with pytest.raises(np.exceptions.AxisError):
        wg.roll(x, 1, 3)


def test_astype_between_kinds() -> None:
    x = tensor([1.5, -2.5], requires_grad=True)
    casting.astype(x, np.float32).backward(np.array([1, 2], np.float32))
    assert gradient_of(x).dtype == np.float64
    assert gradient_of(x).tolist() == [1.0, 2.0]
    x.grad = None
    casting.astype(x, complex).backward(np.array([1 + 5j, 2j]))
    assert gradient_of(x).tolist() == [1.0, 0.0]
    for dtype in (int, bool):
        assert not casting.astype(x, dtype).requires_grad
    assert casting.astype(x, int).value.tolist() == [1, -2]
    assert casting.astype(x, float) is not x


def test_mixed_dtypes_get_their_own_gradients() -> None:
    x, y = tensor(np.ones(2, np.float32), requires_grad=True), tensor(np.ones(3), requires_grad=True)
    joined = rearranging.concatenate([x, y])
    assert joined.dtype == np.float64
    joined.backward(np.arange(5.0))
    assert (gradient_of(x).dtype, gradient_of(y).dtype) == (np.float32, np.float64)
    assert gradient_of(y).tolist() == [2.0, 3.0, 4.0]


def test_integer_values_pad_as_in_numpy() -> None:
    a = np.array([[1, 4, 8], [2, 2, 9]])
    for mode in ("mean", "median", "linear_ramp", "maximum"):
        padded = joining.pad(tensor(a), 2, mode=mode)
        assert padded.dtype == a.dtype
        assert padded.tolist() == np.pad(a, 2, mode=mode).tolist()


def test_filled_alike() -> None:
    x = tensor(np.ones((2, 3), np.float32), requires_grad=True)
    for name, args in (("zeros_like", ()), ("ones_like", ()), ("full_like", (7,))):
        for options in ({}, {"dtype": int}, {"shape": (4,)}):
            for namespace in (np, wg):
                result, expected = (
                    getattr(namespace, name)(x, *args, **options),
                    getattr(np, name)(x.value, *args, **options),
                )
                assert isinstance(result, Tensor)
                assert not result.requires_grad
                assert result.dtype == expected.dtype
                np.testing.assert_array_equal(result.value, expected)
            assert isinstance(getattr(wg, name)(x.value, *args), np.ndarray)
    assert joining.empty_like(x).shape == (2, 3)
    fill = tensor(3.0, requires_grad=True)
    sum_(joining.full_like(x, fill)).backward()
    assert gradient_of(fill).item() == 6.0
    assert x.grad is None


def test_list_of_values_is_an_operand() -> None:
    x, y = tensor(1.0, requires_grad=True), tensor(2.0, requires_grad=True)
    reshaping.reshape([[x, y], [3.0, x]], (4,)).backward(np.array([1.0, 2.0, 3.0, 4.0]))
    assert (gradient_of(x).item(), gradient_of(y).item()) == (5.0, 2.0)
    assert as_operand([x, y]).shape == (2,)


def test_split_is_one_node() -> None:
    """The pieces come back together in one concatenation, not in one array of zeros for each."""
    x = tensor(np.arange(6.0), requires_grad=True)
    pieces = splitting.split(x, 3)
    assert len({id(piece.grad_fn) for piece in pieces}) == 1
    pieces[2].backward(np.array([1.0, 2.0]))
    assert gradient_of(x).tolist() == [0, 0, 0, 0, 1, 2]


def test_concatenate_casts_by_the_rule() -> None:
    x = tensor(np.ones(2), requires_grad=True)
    assert rearranging.concatenate([x, x], dtype=np.float32).dtype == np.float32
    assert joining.stack([x, x], dtype=np.float32).dtype == np.float32
    with pytest.raises(TypeError, match="Cannot cast float64 to int64"):
        rearranging.concatenate([x, x], dtype=np.int64)
    with pytest.raises(TypeError, match="out="):
        np.stack([x, x], out=np.zeros((2, 2)))


ERRORS: dict[str, tuple[Any, tuple]] = {
    "size": (lambda n, x: n.reshape(x, (4, 2)), ((2, 3),)),
    "two unknown": (lambda n, x: n.reshape(x, (-1, -1)), ((2, 3),)),
    "no unknown fits": (lambda n, x: n.reshape(x, (4, -1)), ((2, 3),)),
    "unknown beside zero": (lambda n, x: n.reshape(x, (0, -1)), ((0, 3),)),
    "squeeze": (lambda n, x: n.squeeze(x, 0), ((2, 1),)),
    "expand_dims": (lambda n, x: n.expand_dims(x, 5), ((2,),)),
    "axes": (lambda n, x: n.transpose(x, (0,)), ((2, 3),)),
    "repeated axes": (lambda n, x: n.transpose(x, (0, 0)), ((2, 3),)),
    "matrix_transpose": (lambda n, x: n.matrix_transpose(x), ((2,),)),
    "moveaxis": (lambda n, x: n.moveaxis(x, (0, 1), 0), ((2, 3),)),
    "broadcast_to": (lambda n, x: n.broadcast_to(x, (3,)), ((2,),)),
    "broadcast_arrays": (lambda n, x, y: n.broadcast_arrays(x, y), ((2,), (3,))),
    "concatenate nothing": (lambda n, x: n.concatenate([]), ((2,),)),
    "concatenate 0-d": (lambda n, x: n.concatenate([x]), ((),)),
    "concatenate shapes": (lambda n, x, y: n.concatenate([x, y]), ((2, 2), (2, 3))),
    "stack nothing": (lambda n, x: n.stack([]), ((2,),)),
    "stack shapes": (lambda n, x, y: n.stack([x, y]), ((2,), (3,))),
    "split": (lambda n, x: n.split(x, 2), ((3,),)),
    "sections": (lambda n, x: n.array_split(x, 0), ((3,),)),
    "hsplit": (lambda n, x: n.hsplit(x, 1), ((),)),
    "vsplit": (lambda n, x: n.vsplit(x, 1), ((2,),)),
    "dsplit": (lambda n, x: n.dsplit(x, 1), ((2, 2),)),
    "tile": (lambda n, x: n.tile(x, -1), ((2,),)),
    "repeat": (lambda n, x: n.repeat(x, -1), ((2,),)),
    "repeat each": (lambda n, x: n.repeat(x, [1, 2, 3]), ((2,),)),
    "fliplr": (lambda n, x: n.fliplr(x), ((2,),)),
    "flipud": (lambda n, x: n.flipud(x), ((),)),
    "rot90": (lambda n, x: n.rot90(x, axes=(0, 0)), ((2, 2),)),
    "rot90 axes": (lambda n, x: n.rot90(x, axes=(0, 1, 2)), ((2, 2, 2),)),
    "diagonal": (lambda n, x: n.diagonal(x), ((2,),)),
    "diag": (lambda n, x: n.diag(x), ((2, 2, 2),)),
    "pad mode": (lambda n, x: n.pad(x, 1, mode="unheard of"), ((2,),)),
    "pad option": (lambda n, x: n.pad(x, 1, mode="edge", stat_length=1), ((2,),)),
    "pad negative": (lambda n, x: n.pad(x, -1), ((2,),)),
    "pad fraction": (lambda n, x: n.pad(x, 0.5), ((2,),)),
    "pad empty": (lambda n, x: n.pad(x, 1, mode="edge"), ((0,),)),
    "pad empty with means": (lambda n, x: n.pad(x, 1, mode="mean"), ((2, 0),)),
    "pad empty with a ramp": (lambda n, x: n.pad(x, 1, mode="linear_ramp"), ((0, 2),)),
    "meshgrid": (lambda n, x: n.meshgrid(x, indexing="yx"), ((2,),)),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_error_is_of_numpys_kind(case: str) -> None:
    f, shapes = ERRORS[case]
    arrays = arguments(shapes)
    with pytest.raises(Exception) as numpys:  # noqa: PT011  # of the same kind as NumPy's
        f(np, *arrays)
    for values in (arrays, [tensor(a, requires_grad=True) for a in arrays]):
        with pytest.raises((ValueError, TypeError)) as ours:
            f(wg, *values)
        assert isinstance(ours.value, ValueError | TypeError)
        assert isinstance(numpys.value, TypeError) == isinstance(ours.value, TypeError)


def test_what_has_no_derivative_says_so() -> None:
    x = tensor(np.ones(3), requires_grad=True)
    with pytest.raises(NotImplementedError, match="reflect_type='odd'"):
        joining.pad(x, 1, mode="reflect", reflect_type="odd")
    with pytest.raises(NotImplementedError, match="function as mode"):
        joining.pad(x, 1, mode=lambda *_: None)
    with pytest.raises(ValueError, match="order='K' depends on how"):
        reshaping.ravel(x, "K")


def test_copy_does_not_alias() -> None:
    a = np.ones(2)
    b = casting.copy(a)
    b[0] = 5.0
    assert a[0] == 1.0
    assert not np.shares_memory(reshaping.reshape(a, (2, 1), copy=True), a)
    with pytest.raises(ValueError, match="copy"):
        reshaping.reshape(np.ones((2, 3)).T, 6, copy=False)
