"""The examples of training run, shortened, and are as good as the documentation says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("sklearn")

EXAMPLES = Path(__file__).parent.parent / "examples" / "training"
CHECKS = {
    "digits_cnn": lambda found: found["accuracy"] >= 0.97,
    "digits_mlp": lambda found: found["accuracy"] >= 0.98,
    "digits_vae": lambda found: found["bound"] < 25.6 < found["first"],
    "heat_equation": lambda found: found["error"] < 0.03,
    "levenberg_marquardt": lambda found: found["difference"] < 1e-7 and found["certified"] < 1e-9,
    "logistic_regression": lambda found: found["difference"] < 1e-6 and found["accuracy"] > 0.98,
    "mackey_glass_lstm": lambda found: found["error"] < 0.1,
    "sonnet_transformer": lambda found: found["bits"] < 0.9 * found["entropy"],
}


@pytest.mark.parametrize("name", CHECKS)
def test_example(name, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    has_matplotlib = importlib.util.find_spec("matplotlib") is not None
    found = module.main(str(tmp_path / "picture.png") if has_matplotlib else None, short=True)
    assert CHECKS[name](found), found
    assert capsys.readouterr().out
    assert not has_matplotlib or (tmp_path / "picture.png").stat().st_size > 5000


def test_every_example_is_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == CHECKS.keys()
