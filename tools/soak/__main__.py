"""`python -m tools.soak --minutes 60`: the parts of a soak in turn; exit status 1 if anything is wrong."""

from __future__ import annotations

import argparse
import os
import sys

from tools.soak.parts import PARTS
from tools.soak.workers import soak, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long, all parts together (60)")
    parser.add_argument("--rounds", type=int, default=4, help="how often each part has its turn (4)")
    parser.add_argument("--limit", type=float, default=240.0, help="seconds after its time when a part hangs (240)")
    parser.add_argument("--parts", nargs="*", choices=[part.__name__ for part in PARTS], help="some parts only")
    chosen = parser.parse_args()
    os.environ.setdefault("WENGERT_CACHE_DIR", "off")
    kinds = [part for part in PARTS if not chosen.parts or part.__name__ in chosen.parts]
    workers = soak(kinds, chosen.minutes, chosen.rounds, chosen.limit)
    print(f"\n{table(workers)}")
    return 1 if any(worker.wrong for worker in workers) else 0


if __name__ == "__main__":
    sys.exit(main())
