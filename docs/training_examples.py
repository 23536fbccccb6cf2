"""Run the examples of training in full: write their pictures to `docs/training/`, and print the table of their results.

`python docs/training_examples.py`, or with the names of some examples. The table is in `docs/training.md`.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from time import process_time
from typing import Any

ROOT = Path(__file__).parent.parent
SEEDS = (0, 1, 2)
ROWS = {
    "digits_mlp": ("digits, two layers", "accuracy on a held-out fifth", lambda r: f"{r['accuracy']:.1%}"),
    "digits_cnn": ("digits, convolutional network", "accuracy on a held-out fifth", lambda r: f"{r['accuracy']:.1%}"),
    "digits_vae": ("digits, variational autoencoder", "negative bound, held-out", lambda r: f"{r['bound']:.2f} nats"),
    "sonnet_transformer": ("sonnets, transformer", "bits per character", lambda r: f"{r['bits']:.2f}"),
    "mackey_glass_lstm": ("Mackey-Glass series, LSTM", "error of the next element", lambda r: f"{r['error']:.2%}"),
    "heat_equation": ("heat equation, physics-informed", "largest error", lambda r: f"{r['error']:.1e}"),
    "logistic_regression": ("tumours, L-BFGS", "difference to scikit-learn", lambda r: f"{r['difference']:.0e}"),
    "levenberg_marquardt": ("Misra1a, Levenberg-Marquardt", "difference to NIST", lambda r: f"{r['certified']:.0e}"),
}
WITHOUT_SEED = ("logistic_regression", "levenberg_marquardt")


def load_example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / "training" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(name: str) -> str:
    """A line of the table; the picture is that of the first seed."""
    title, measure, show = ROWS[name]
    example = load_example(name)
    picture = str(ROOT / "docs" / "training" / f"{name}.png")
    began = process_time()
    if name in WITHOUT_SEED:
        results = [show(example.main(picture))]
    else:
        results = [show(example.main(picture if seed == SEEDS[0] else None, seed=seed)) for seed in SEEDS]
    seconds = (process_time() - began) / len(results)
    duration = f"{seconds:.0f} s" if seconds >= 0.5 else "< 1 s"
    return f"| [{title}](../examples/training/{name}.py) | {measure} | {', '.join(results)} | {duration} |"


if __name__ == "__main__":
    (ROOT / "docs" / "training").mkdir(exist_ok=True)
    lines = [row(name) for name in sys.argv[1:] or ROWS]
    print(f"| example | measure | result, seeds {', '.join(map(str, SEEDS))} | processor time |\n|---|---|---|---|")
    print("\n".join(lines))
