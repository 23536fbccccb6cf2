"""The text of C files: what a reader finds in them, names, errors, and other compilers."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.export.c_source.loading import FLAGS, compile_graphs, needs_compiler, write_graph

import wengert as wg
from wengert.export.front_door import export, load_exported
from wengert.export.refusals import ExportError


def text_of(f, *args, name="program"):
    return write_graph(wg.trace(f, *args), name).source.text


def residual(x, y):
    r = np.sin(x) - y
    return wg.sum(r**2)


def test_a_file_says_what_it_computes_and_where_that_was_written():
    text = text_of(residual, np.ones(4), np.ones(4))
    line = residual.__code__.co_firstlineno + 1
    assert f"test_c_source.py:{line}: r = np.sin(x) - y" in text
    assert "r = sin(x) - y" in text
    assert "const double r = sin(x[i]) - y[i];" in text
    assert "  x       in   4, float64" in text
    assert "cannot fail" in text


def test_loops_stay_loops():
    text = text_of(lambda a, b: a @ b, np.ones((3, 4)), np.ones((4, 5)))
    loops = re.findall(r"for \(int (\w) = 0; \1 < (\d+); \+\+\1\)", text)
    assert loops == [("i", "3"), ("j", "5"), ("k", "4")]
    assert "sum += a[4 * i + k] * b[5 * k + j];" in text


def test_nothing_is_allocated_and_nothing_is_global():
    text = text_of(wg.grad(residual), np.ones(4), np.ones(4))
    assert re.findall(r"#include <(.*)>", text) == ["math.h", "stdint.h"]
    assert "alloc" not in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    assert not re.findall(r"^(?:static )?(?!static const)\w+ \w+(?:\[\d*\])?(?: =.*)?;$", text, re.MULTILINE)


def test_the_same_program_is_the_same_text():
    assert text_of(residual, np.ones(4), np.ones(4)) == text_of(residual, np.ones(4), np.ones(4))


def test_comments_cannot_end_early():
    text = text_of(lambda x: x * 2.0, np.ones(3))  # a comment with */ and /* and \u00b5
    assert text.isascii()
    assert "* /" in text
    assert "/ *" in text


def test_a_failure_is_listed_where_it_can_happen():
    text = text_of(lambda x, i: x[i], np.ones(4), np.arange(2))
    assert "an index is outside of its array" in text
    assert "singular" not in text


@needs_compiler
def test_names_of_users_do_not_clash():
    def f(i, sum, work, exp, t1, maximum):
        j = i * sum
        double = np.exp(j) + work
        return np.maximum(double, exp) + t1 * maximum, wg.sum(double)

    args = [np.full(3, float(k)) for k in range(1, 7)]
    graph = wg.trace(f, *args)
    for found, expected in zip(compile_graphs({"clash": graph})["clash"](*args), f(*args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_all_operations_without_a_form_are_in_one_error():
    def f(x):
        y = wg.special.j0(x)
        return np.fft.rfft(y), np.linalg.eigvalsh(np.outer(x, x))

    with pytest.raises(ExportError) as error:
        text_of(f, np.ones(4))
    message, first = str(error.value), f.__code__.co_firstlineno
    for name in ("j0", "rfft", "eigh"):
        assert name in message
    assert f"test_c_source.py:{first + 1}" in message
    assert f"test_c_source.py:{first + 2}" in message


def test_dtypes_without_a_form():
    with pytest.raises(ExportError, match="complex128"):
        text_of(lambda z: z * 2.0, np.ones(3, complex))


def test_a_loop_of_unknown_length_keeps_no_values():
    def f(x):
        return wg.while_loop(lambda y: y < 10.0, lambda y: y * x, x)

    with pytest.raises(ExportError, match="loop"):
        text_of(wg.grad(f), 2.0)


def test_a_name_that_the_file_needs():
    with pytest.raises(ValueError, match="maximum"):
        text_of(residual, np.ones(2), np.ones(2), name="maximum")


@needs_compiler
def test_deep_programs():
    rng = np.random.default_rng(2)
    choices, factors = rng.integers(0, 4, 600), rng.uniform(0.1, 1.0, 600)

    def f(x):
        y = x * 1.0
        for choice, c in zip(choices, factors, strict=True):
            y = [np.sin, np.cos, lambda y, c=c: y * c + x, lambda y: np.roll(y, 1)][choice](y)
        return y

    x = rng.normal(size=9)
    (found,) = compile_graphs({"deep": wg.trace(f, x)})["deep"](x)
    np.testing.assert_allclose(found, f(x), rtol=1e-10)


def test_comments_of_cases_are_short():
    text = text_of(wg.hessian(residual), np.ones(3), np.ones(3))
    assert max(map(len, text.split("\n"))) <= 140


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_compilers(compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler} on this machine")
    (tmp_path / "f.c").write_text(text_of(wg.value_and_grad(residual), np.ones(4), np.ones(4), name="f"))
    subprocess.run([compiler, *FLAGS, "-c", "f.c"], cwd=tmp_path, check=True)


@needs_compiler
def test_export_by_the_front_door(tmp_path):
    x, y = np.linspace(0.0, 1.0, 5), np.ones(5)
    made = export(wg.value_and_grad(residual), x, y, path=tmp_path, name="residual", format="c")
    assert {file.suffix for file in made.files} == {".c", ".h", ".json"}
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    command = ["gcc" if shutil.which("gcc") else "clang", *flags, "residual_example.c", "residual.c", "-lm"]
    subprocess.run([*command, "-o", "example"], cwd=tmp_path, check=True)
    printed = subprocess.run(["./example"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    value, gradient = wg.value_and_grad(residual)(x, y)
    numbers = [float(line.split(" = ")[1]) for line in printed.split("\n") if line]
    np.testing.assert_allclose(numbers, [value, *gradient], rtol=1e-14)
    shared = [*command[:1], "-shared", "-fPIC", "residual.c", "-o", "residual.so", "-lm"]
    subprocess.run(shared, cwd=tmp_path, check=True)
    loaded = load_exported(Path(tmp_path) / "residual.so")
    np.testing.assert_allclose(loaded(x, y)[1], gradient, rtol=1e-14)


def test_the_page_shows_what_is_written(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "export_c.md").read_text()
    program, function = [
        re.search(rf"^```{kind}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1] for kind in ("python", "c")
    ]
    (tmp_path / "model.py").write_text(program)
    text = runpy.run_path(str(tmp_path / "model.py"))["text"]
    assert text.endswith(f"\n{function}")
