"""Operations that move elements without changing them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.graph.aspects.elementwise import whole_part
from wengert.graph.ir import Operation
from wengert.graph.mathematics import Expression, Writer, expression
from wengert.graph.notation import ATOM, TRANSPARENT, notation, write_literal
from wengert.graph.python_source import SourceWriter, python_call, template
from wengert.graph.sympy import same_number, sympy_form
from wengert.ops.indexing.key import Index
from wengert.ops.shape import casting, joining, rearranging, reshaping

notation.enter(TRANSPARENT, casting._copy, casting._astype, reshaping._broadcast_to)


@expression(reshaping._transpose)
def write_transpose(writer: Writer, node: Operation) -> Expression:
    """A superscript T for matrices, else a call."""
    x = writer.known[node.args[0]]
    if node.params["axes"] == (1, 0):
        return Expression(writer.style.transpose(writer.within(x, ATOM)))
    return x if x.is_number else writer.call(writer.style.operator("transpose"), [writer.with_sign(x)], node)


@expression(reshaping._expand_dims)
def write_new_axes(writer: Writer, node: Operation) -> Expression:
    """New axes in front are what broadcasting gives anyway; others are shown as `x[:, None]`."""
    x, axis = node.args[0], node.params["axis"]
    if not x.ndim or writer.known[x].is_number or sorted(axis) == list(range(len(axis))):
        return writer.known[x]
    key = Index(tuple([None if i in axis else slice(None) for i in range(node.ndim)]))
    return Expression(writer.style.index(writer.within(writer.known[x], ATOM), key, []))


@python_call(reshaping._transpose)
def call_transpose(writer: SourceWriter, node: Operation) -> str:
    """`x.T` for matrices, else a call."""
    if node.params["axes"] == (1, 0):
        return f"{writer.enclose(node.args[0])}.T"
    return f"np.transpose({writer.texts[node.args[0]][0]}, {node.params['axes']})"


@python_call(casting._astype, casting._astype_discrete)
def call_astype(writer: SourceWriter, node: Operation) -> str:
    """`x.astype(dtype)`."""
    return f"{writer.array(node.args[0])}.astype({write_literal(node.params['dtype'])})"


@python_call(joining._pad)
def call_pad(writer: SourceWriter, node: Operation) -> str:
    """A call of `np.pad`, which takes no empty widths."""
    return template("np.pad({0}, {pad_width})" if node.params["pad_width"] else "np.array({0})")(writer, node)


python_call.enter(template("np.reshape({0}, {shape})"), reshaping._reshape)
python_call.enter(template("np.expand_dims({0}, {axis})"), reshaping._expand_dims)
python_call.enter(template("np.broadcast_to({0}, {shape})"), reshaping._broadcast_to)
python_call.enter(template("wg.stop_gradient({0})"), casting._stop_gradient)
python_call.enter(template("np.concatenate([{all}], axis={axis})"), rearranging._concatenate)
python_call.enter(template("np.stack([{all}], axis={axis})"), joining._stack)
python_call.enter(template("np.split({0}, {bounds}, axis={axis})"), rearranging._split)
python_call.enter(template("np.unstack({0}, axis={axis})"), joining._unstack)
python_call.enter(template("np.roll({0}, shift={shift}, axis={axis})"), rearranging._roll)
python_call.enter(template("np.diagonal({0}, {offset}, {axis1}, {axis2})"), rearranging._diagonal)
python_call.enter(template("np.full_like({0}, {1}, dtype={dtype}, order={order}, shape={shape})"), joining._full_like)


@sympy_form(casting._astype_discrete)
def sympy_discrete(sympy: Any, x: Any, dtype: np.dtype) -> Any:
    """A number as a boolean, or rounded towards zero."""
    return sympy.Ne(x, 0) if dtype.kind == "b" else whole_part(sympy, x)


sympy_form.enter(
    same_number,
    casting._copy,
    casting._astype,
    reshaping._reshape,
    reshaping._expand_dims,
    reshaping._broadcast_to,
    casting._stop_gradient,
    reshaping._transpose,
    rearranging._flip,
    rearranging._roll,
)
