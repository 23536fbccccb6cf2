"""Run programs written for a peer, on the peer or on the layer of its name, from the same source text.

A program is a file of `programs/<peer>/` that imports the peer and ends with a dict `results` of numbers and arrays.
`python tests/compat/run_programs.py torch` prints the results of all programs on the layer as JSON, with `--peer` those
of the peer itself. `--store` writes the results of the peer to `results/torch.json`, for machines without it.
"""

from __future__ import annotations

import argparse
import json
import runpy
import subprocess
import sys
import traceback
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def programs(peer: str) -> list[Path]:
    return sorted((HERE / "programs" / peer).glob("*.py"))


def stored_results(peer: str) -> dict[str, Any]:
    """The results of the peer, as they were stored."""
    return json.loads((HERE / "results" / f"{peer}.json").read_text())


def is_installed(peer: str) -> bool:
    """Whether a peer is installed as a distribution: a folder of tests may have its name."""
    try:
        distribution(peer)
    except PackageNotFoundError:
        return False
    return True


def to_plain(value: Any) -> Any:
    """Numbers and arrays of any system as what JSON can hold: nested lists; complex numbers as pairs."""
    import numpy as np

    if isinstance(value, dict):
        return {str(key): to_plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(part) for part in value]
    if isinstance(value, str | bool | type(None)):
        return value
    value = np.asarray(value.detach() if hasattr(value, "detach") else value)
    return np.stack([value.real, value.imag], -1).tolist() if value.dtype.kind == "c" else value.tolist()


def run_here(peer: str, paths: list[Path]) -> dict[str, Any]:
    """The results of programs, by name; what one raised is its result."""
    found: dict[str, Any] = {}
    for path in paths:
        try:
            found[path.stem] = to_plain(runpy.run_path(str(path))["results"])
        except Exception:
            found[path.stem] = {"error": traceback.format_exc()}
    return found


def run_in_process(peer: str, on_peer: bool, names: list[str] | None = None) -> dict[str, Any]:
    """The results of programs in a process of their own, by name."""
    command = [sys.executable, __file__, peer, *(["--peer"] if on_peer else []), "--only", *(names or [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer")
    parser.add_argument("--peer", dest="on_peer", action="store_true")
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    if not (options.on_peer or options.store):
        from wengert.compat import install

        install(options.peer)
    paths = [path for path in programs(options.peer) if not options.only or path.stem in options.only]
    found = run_here(options.peer, paths)
    if options.store:
        rows = [f"{json.dumps(name)}: {json.dumps(results)}" for name, results in found.items()]
        (HERE / "results" / f"{options.peer}.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")
    else:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
