"""Running generated programs by Node.js."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from wengert.explain.live.runtime import runtime

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None, reason="The numbers of the page are checked by Node.js: apt install nodejs"
)
READ = "(x) => x === null ? null : Array.isArray(x) ? x.map(String) : String(x)"


def run_programs(
    programs: Sequence[str],
    points: Sequence[Sequence[Sequence[Any]]],
    library: str = "",
    read: Callable[[Any], Any] | None = None,
) -> list[Any]:
    """The results of each program at each of its points: one list of outputs for each, as floats or lists of them.

    `library` is more JavaScript that programs call, and `read` reads their outputs in another way.
    """
    assert NODE is not None
    script = (
        f"{runtime()}\n{library}\nconst programs = [{','.join(programs)}];\nconst points = {json.dumps(points)};\n"
        f"const read = {READ};\n"
        "console.log(JSON.stringify(programs.map((f, k) => points[k].map((x) => f(...x).map(read)))));"
    )
    done = subprocess.run([NODE, "-"], input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [[[(read or to_number)(out) for out in outs] for outs in program] for program in json.loads(done.stdout)]


def to_number(text: Any) -> Any:
    """A float, a list of floats, or None."""
    if isinstance(text, list):
        return [to_number(part) for part in text]
    return None if text is None else float(text.replace("Infinity", "inf"))


def assert_same(found: Any, expected: Any, what: str) -> None:
    """Equal to 1e-12, relatively; to 1e-13 where the number is a difference of much larger ones."""
    np.testing.assert_allclose(
        np.ravel(np.asarray(found, float)), np.ravel(np.asarray(expected, float)), rtol=1e-12, atol=1e-13, err_msg=what
    )
