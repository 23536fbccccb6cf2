"""Names that users of other systems guess are in Wengert, or raise an error that names Wengert's way."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fresh_python import run_python

import wengert
from wengert.core.absent import PEERS, advice, ways, why_absent
from wengert.core.foreign_keywords import KEYWORDS

wg: Any = wengert  # a type checker finds these mistakes, too
FOLDER = Path(__file__).parent
DOCS = FOLDER.parents[1] / "docs"

GUESSED = {
    title: names.split()
    for title, names in re.findall(
        r"^# (\S+)\n(.*?)(?=^# |\Z)", (FOLDER / "guessed_names.txt").read_text(), re.M | re.S
    )
}
"""By the namespace of the other system; so the test needs none of them."""

X = np.array([[3.0, 1.0, 2.0], [0.5, 4.0, -1.0]])


def place_of(namespace):
    return next((place for place, peers in PEERS.items() if namespace in peers), "wengert.fft")


def owner(place):
    return wg.ones((2, 2)) if place == "values" else import_module(place)


@pytest.mark.parametrize("namespace", GUESSED)
def test_each_is_here_or_leads_home(namespace):
    place = place_of(namespace)
    here = owner(place)
    for name in GUESSED[namespace]:
        try:
            getattr(here, name)
        except AttributeError as error:
            message = str(error)
            told = advice(place, name) or why_absent(f"np.{name}") or why_absent(f"np.ndarray.{name}")
            assert told, name
            assert told in message, name
            assert name in message, name


def test_at_least_256_names_of_pytorch_are_guessed():
    assert sum(len(names) for namespace, names in GUESSED.items() if namespace.startswith("torch")) >= 256


@pytest.mark.parametrize("namespace", [peer for peers in PEERS.values() for peer in peers])
def test_what_the_table_names_exists(namespace):
    """Each `wg.name` in the advice is a name of Wengert, and each method of `x` and `rng` is one."""
    x, rng = wg.ones((2, 2)), wg.random.default_rng(0)
    for name, way in ways(namespace).items():
        for path in re.findall(r"\b(?:wg|x|rng)(?:\.[A-Za-z_]\w*)+", way):
            found = {"wg": wg, "x": x, "rng": rng}[path.partition(".")[0]]
            for part in path.split(".")[1:]:
                assert hasattr(found, part), (name, path)
                found = getattr(found, part)


@pytest.mark.parametrize("namespace", [peer for peers in PEERS.values() for peer in peers])
def test_the_table_has_only_names_that_are_absent(namespace):
    here = owner(place_of(namespace))
    methods = ways("torch.Tensor") if namespace == "torch" else {}  # functions and methods share groups
    assert not [name for name in ways(namespace) if hasattr(here, name) and name not in methods]


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda x: x.sum(dim=0), r"sum\(\) .*'dim'.*Use axis\."),
        (lambda x: wg.mean(x, dim=0, keepdim=True), r"mean\(\) .*'dim'.*Use axis\."),
        (lambda x: x.max(1, keepdim=True), r"max\(\) .*'keepdim'.*Use keepdims\."),
        (lambda x: wg.stack([x, x], dim=1), r"stack\(\) .*'dim'.*Use axis\."),
        (lambda x: wg.special.softmax(x, dim=-1), r"softmax\(\) .*'dim'.*Use axis\."),
        (lambda x: wg.flip(x, dims=(0,)), r"flip\(\) .*'dims'.*Use axis\."),
        (lambda x: x.std(unbiased=True), r"std\(\) .*'unbiased'.*ddof=1"),
        (lambda x: wg.zeros(3, 4), r"zeros\(\) takes the shape as one argument.*wg\.zeros\(\(3, 4\)\)"),
        (lambda x: wg.ones(2, 3, 4), r"ones\(\) takes the shape as one argument.*wg\.ones\(\(2, 3, 4\)\)"),
        (lambda x: wg.zeros((3, 4), layout=None), r"zeros\(\) .*'layout'.*arrays are dense"),
        (lambda x: x.flatten(1), r"flatten\(1\).*x\.reshape\(len\(x\), -1\)"),
        (lambda x: x.size(0), r"x\.size is the number of elements.*x\.size\(0\), write x\.shape\[0\]"),
        (
            lambda x: wg.vmap(lambda row: row.size())(x),
            r"x\.size is the number of elements.*instead of x\.size\(\), x\.shape",
        ),
        (lambda x: wg.grad(lambda y: y.sum() / y.size(-1))(x), r"x\.size is the number of elements"),
        (lambda x: wg.compile(lambda y: y * y.size(0))(x), r"x\.size is the number of elements"),
        (lambda x: wg.vmap(np.sin, in_dims=0), r"vmap\(\) .*'in_dims'.*Use in_axes\."),
        (lambda x: wg.grad(np.sum, argnum=0), r"grad\(\) .*'argnum'.*Use argnums\."),
        (lambda x: wg.compile(np.sum, fullgraph=True), r"compile\(\) .*'fullgraph'.*as a whole"),
        (lambda x: wg.tensor(X, pin_memory=True), r"tensor\(\) .*'pin_memory'.*pinned"),
        (lambda x: x.sum(axes=0), r"sum\(\) got an unexpected keyword argument 'axes', at .*\.py:\d+\.$"),
    ],
)
def test_foreign_keywords_and_arguments(call, advice):
    with pytest.raises(TypeError, match=advice) as raised:
        call(wg.tensor(X))
    assert "test_guessed_names.py" in str(raised.value)


def test_size_is_a_plain_integer():
    x = wg.ones(3, dtype=np.float32)
    assert type(x.size) is int
    assert getattr(x, "size").bit_length() == 2  # noqa: B009  # read by a call, and its own attribute called
    assert x.size.bit_length() == 2
    assert (np.float32(1) / x.size).dtype == np.float32


def test_devices_of_the_standard_are_accepted():
    assert wg.zeros(2, device="cpu").device == "cpu"
    assert wg.tensor([1.0], device="cpu").shape == (1,)
    for make in (partial(wg.tensor, X), partial(wg.asarray, X), partial(wg.zeros, 2)):
        with pytest.raises(ValueError, match="There is no device 'mps'"):
            make(device="mps")


def test_advice_is_not_against_keywords_that_work():
    functions = [getattr(wg, name) for name in wg.__all__ if inspect.isfunction(getattr(wg, name))]
    advising = [p for p in (inspect.signature(f, follow_wrapped=False).parameters for f in functions) if "foreign" in p]
    assert len(advising) > 30
    for parameters in advising:
        assert KEYWORDS.keys() & parameters.keys() <= {"device"}, parameters


@pytest.mark.parametrize("line", ["from wengert import jit", "from wengert.nn import Softmax2d"])
def test_from_imports_keep_the_advice(line):
    with pytest.raises(ImportError, match=r"cannot import name '\w+' from 'wengert\S*'\. For torch\.\S+, use wg\."):
        exec(line)


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("wg.cat", r"use wg\.concatenate\(xs, axis=0\)\."),
        ("wg.tensor(1.0).sin", r"use wg\.sin\(x\)\."),
        ("wg.sine", r"Did you mean: 'sin\w*'\?"),
    ],
)
def test_python_suggests_similar_names_only_where_there_is_no_advice(line, ends):
    done = run_python(f"import wengert as wg\n{line}", check=False)
    assert re.search(rf"{ends}$", done.stderr.strip()), done.stderr


def test_names_of_values_are_no_attributes_of_their_class():
    assert not hasattr(wg.Tensor, "unsqueeze")
    assert "unsqueeze" not in dir(wg.tensor(1.0))

    class Named(wengert.Tensor):
        """A user's own tensor, which may have any attribute."""

        view = "mine"

    assert Named(np.ones(2)).view == "mine"


def test_the_page_of_names_is_up_to_date():
    code = "import coming_from; print(coming_from.page(), end='')"
    page = subprocess.run([sys.executable, "-c", code], cwd=DOCS, capture_output=True, text=True, check=True).stdout
    assert (DOCS / "coming_from.md").read_text() == page, "run `python docs/coming_from.py`"
