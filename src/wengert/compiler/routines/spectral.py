"""Eigenvalues, singular values and least squares by LAPACK, from the matrices that NumPy gives it: the same vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compiler.routines.factorizations import integers, matrix_bytes
from wengert.compiler.routines.lapack import MatrixProblem, MatrixRoutine, are_factorable, best_sizes
from wengert.compiler.simd.lanes import Lanes
from wengert.graph.ir import Operation


def real_size(dtype: np.dtype) -> int:
    """The bytes of a real number of a dtype."""
    return dtype.itemsize // (2 if dtype.kind == "c" else 1)


def work_bytes(dtype: np.dtype, sizes: dict[str, int]) -> dict[str, int]:
    """The bytes of workspaces of these sizes."""
    units = {"work": dtype.itemsize, "rwork": real_size(dtype), "iwork": integers(1)}
    return {name: size * units[name] for name, size in sizes.items()}


# Hermitian matrices


def eigh_sizes(node: Operation) -> dict[str, int]:
    """The workspaces that syevd asks for."""
    n, dtype = node.args[0].shape[-1], node.args[0].dtype
    works = [x for name in ("work", "rwork", "iwork")[:: 1 if dtype.kind == "c" else 2] for x in (name, -1)]
    return best_sizes("syevd", dtype, "V", node.params["UPLO"], n, None, n, None, *works, None)


def eigh_blocks(node: Operation) -> dict[str, int]:
    """The vectors by columns, the values, and workspaces."""
    n, dtype = node.args[0].shape[-1], node.args[0].dtype
    return {"vectors": matrix_bytes(node), "values": n * real_size(dtype)} | work_bytes(dtype, eigh_sizes(node))


def solve_eigh(p: MatrixProblem) -> None:
    """The eigenvalues in the first row, the vectors below."""
    n, out, vectors = p.node.shape[-1], p.result(), p.blocks["vectors"]
    works = [x for name, size in eigh_sizes(p.node).items() for x in (p.blocks[name], size)]
    p.read_columns(vectors, 0)
    p.lapack("syevd", "V", p.node.params["UPLO"], n, vectors, n, p.blocks["values"], *works, p.info)
    p.require_success()
    write_real(p, out, p.blocks["values"], n)
    p.transpose(p.at(out, n), vectors, n, n)


def write_real(p: MatrixProblem, target: Lanes, source: Lanes, count: int) -> None:
    """Copy real numbers to elements of the matrices' dtype."""
    code, real = p.code, p.element.real
    if p.element.parts == 1:
        p.copy(target, source, count)
        return
    p.clear(target, count)
    with code.loop(0, count) as i:
        code.store(code.load(code.offset(source, i, real), real), p.at(target, i))


EIGH = MatrixRoutine(solve_eigh, blocks=eigh_blocks, work=lambda node: 4 * node.args[0].shape[-1] ** 3, name="syevd")


# Singular values


def svd_call(node: Operation) -> tuple[str, int, int, int, int]:
    """The letter for the vectors that are wanted; the rows, columns, and the numbers of vectors."""
    rows, columns = node.args[0].shape[-2:]
    is_full = node.params["full_matrices"]
    k = min(rows, columns)
    return "A" if is_full else "S", rows, columns, rows if is_full else k, columns if is_full else k


def svd_sizes(node: Operation) -> dict[str, int]:
    """The workspaces of gesdd."""
    job, rows, columns, left, right = svd_call(node)
    dtype, k = node.args[0].dtype, min(rows, columns)
    shapes = (rows, columns, None, rows, None, None, rows, None, right)
    lists = (None, None) if dtype.kind == "c" else (None,)
    found = best_sizes("gesdd", dtype, job, *shapes, "work", -1, *lists, None)
    longest = max(5 * k + 7, 2 * max(rows, columns) + 2 * k + 1)
    return found | ({"rwork": k * longest} if dtype.kind == "c" else {}) | {"iwork": 8 * k}


def svd_blocks(node: Operation) -> dict[str, int]:
    """The matrix, both kinds of vectors, the values, and workspaces."""
    _, rows, columns, left, right = svd_call(node)
    dtype = node.args[0].dtype
    vectors = {"left": rows * left * dtype.itemsize, "right": columns * right * dtype.itemsize}
    values = {"values": min(rows, columns) * real_size(dtype)}
    return {"matrix": matrix_bytes(node)} | vectors | values | work_bytes(dtype, svd_sizes(node))


def solve_svd(p: MatrixProblem) -> None:
    """U, one row of singular values and V, one above the other, the narrower ones filled up with zeros."""
    job, rows, columns, left, right = svd_call(p.node)
    k, width, sizes, out = min(rows, columns), p.node.shape[-1], svd_sizes(p.node), p.result()
    lists = [p.blocks[name] for name in ("rwork", "iwork") if name in sizes]
    p.read_columns(p.blocks["matrix"], 0)
    p.lapack(
        "gesdd",
        *(job, rows, columns, p.blocks["matrix"], rows, p.blocks["values"]),
        *(p.blocks["left"], rows, p.blocks["right"], right),
        *(p.blocks["work"], sizes["work"]),
        *(*lists, p.info),
    )
    p.require_success()
    p.clear(out, p.node.shape[-2] * width)
    p.transpose(out, p.blocks["left"], left, rows, width, rows)
    write_real(p, p.at(out, rows * width), p.blocks["values"], k)
    below = p.at(out, (rows + 1) * width)
    with p.code.loop(0, columns) as i:
        write_conjugate(p, p.at(below, i * width), p.at(p.blocks["right"], i * right), right)


def write_conjugate(p: MatrixProblem, target: Lanes, source: Lanes, count: int) -> None:
    """Copy the conjugates of elements."""
    code, real = p.code, p.element.real
    if p.element.parts == 1:
        p.copy(target, source, count)
        return
    with code.loop(0, count) as i:
        for part in (0, 1):
            value = code.load(code.offset(source, i * 2 + part, real), real)
            code.store(-value if part else value, code.offset(target, i * 2 + part, real))


SVD = MatrixRoutine(
    solve_svd,
    blocks=svd_blocks,
    work=lambda node: 8 * max(node.args[0].shape[-2:]) * min(node.args[0].shape[-2:]) ** 2,
    name="gesdd",
)


# Least squares


def least_squares_sizes(node: Operation) -> dict[str, int]:
    """The workspaces of gelsd; it takes the limit of the rank as an address."""
    (rows, columns), sides, dtype = node.args[0].shape, node.shape[-1], node.args[0].dtype
    lists = ("rwork", "iwork") if dtype.kind == "c" else ("iwork",)
    shapes: tuple[Any, ...] = (rows, columns, sides, None, rows, None, max(rows, columns), None, None, None)
    return best_sizes("gelsd", dtype, *shapes, "work", -1, *lists, None)


def least_squares_blocks(node: Operation) -> dict[str, int]:
    """The matrix, the right-hand sides and solutions, the singular values, and workspaces."""
    (rows, columns), sides, dtype = node.args[0].shape, node.shape[-1], node.args[0].dtype
    solutions = max(rows, columns) * sides * dtype.itemsize
    values = min(rows, columns) * real_size(dtype)
    matrices = {"matrix": matrix_bytes(node), "solutions": solutions, "values": values}
    return matrices | work_bytes(dtype, least_squares_sizes(node))


def solve_least_squares(p: MatrixProblem) -> None:
    """The solution of least squares by singular values."""
    (rows, columns), sides = p.node.args[0].shape, p.node.shape[-1]
    code, sizes, longest = p.code, least_squares_sizes(p.node), max(rows, columns)
    rcond = p.node.params["rcond"]
    limit = float(np.finfo(p.node.dtype).eps) * longest if rcond is None else rcond
    p.read_columns(p.blocks["matrix"], 0)
    p.clear(p.blocks["solutions"], longest * sides)
    p.read_columns(p.blocks["solutions"], 1, longest)
    p.lapack(
        "gelsd",
        *(rows, columns, sides, p.blocks["matrix"], rows, p.blocks["solutions"], longest, p.blocks["values"]),
        *(code.number(p.element.real, limit), p.integer_variable(), p.blocks["work"], sizes["work"]),
        *[p.blocks[name] for name in ("rwork", "iwork") if name in sizes],
        p.info,
    )
    p.require_success()
    p.transpose(p.result(), p.blocks["solutions"], sides, columns, sides, longest)


LEAST_SQUARES = MatrixRoutine(
    solve_least_squares,
    is_for=lambda node: are_factorable(node) and node.args[0].ndim == node.args[1].ndim == 2,
    blocks=least_squares_blocks,
    name="gelsd",
)
