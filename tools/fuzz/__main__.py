"""`python -m tools.fuzz`: random programs in every mode; exit status 1 if any two modes differ."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

from tools.fuzz.large import limit_memory
from tools.fuzz.work import results


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=200, help="how many (200)")
    parser.add_argument("--seed", type=int, default=0, help="programs are functions of this and their number (0)")
    parser.add_argument("--only", type=int, help="the program with this number, printed in any case")
    parser.add_argument("--start", type=int, default=0, help="the number of the first one (0)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--without", default="", help="families of statements to leave out, e.g. captured,integers")
    parser.add_argument("--state", action="store_true", help="programs that assign to the tensors that they capture")
    kinds = {
        "machines": "programs of gathers and scatters, on shrunken machines",
        "schedules": "programs with random decisions about their loops",
        "large": "programs with 10^4 to 10^6 elements an array, on threads",
    }
    for name, what in kinds.items():
        parser.add_argument(f"--{name}", action="store_const", dest="kind", const=name, help=what)
    parser.add_argument("--no-shrink", action="store_true", help="print failing programs as they are")
    return parser.parse_args()


def main() -> int:
    os.environ.setdefault("WENGERT_CACHE_DIR", "off")
    chosen = options()
    if chosen.kind == "large":
        limit_memory()
    begin, done, failed, counts = time.monotonic(), 0, 0, Counter[str]()
    for index, some, program, differences in results(chosen):
        done += 1
        counts += some
        if differences:
            failed += 1
            print(f"\n{'=' * 20} program {index}\n{program.script(differences[0].check)}")
            for difference in differences:
                print(
                    f"# {difference.check}:\n" + "".join(f"#   {line}\n" for line in difference.message.splitlines()),
                    flush=True,
                )
        elif program:
            print(program.script("no difference"))
        seconds = time.monotonic() - begin
        if done % 50 == 0:
            print(
                f"{done} programs, {failed} with differences, {counts['comparisons']} comparisons, {seconds:.0f} s",
                file=sys.stderr,
                flush=True,
            )
        if seconds > 60 * chosen.minutes:
            break
    print(f"\n{done} programs, {failed} with differences, in {time.monotonic() - begin:.0f} s")
    for name, count in sorted(counts.items()):
        print(f"  {count:8d}  {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
