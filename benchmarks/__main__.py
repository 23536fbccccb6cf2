"""Command line: `python -m benchmarks [--workload chain mlp] [--peers torch] [--size small] [--json FILE] [--markdown
FILE]`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import tables
from benchmarks.agreement import DisagreementError
from benchmarks.eager_figures import EAGER, EAGER_PEER, WARM, eager_figures, is_eager
from benchmarks.family_tables import family_figures, family_tables
from benchmarks.gpu.report import report_gpu
from benchmarks.peaks import peak_figures
from benchmarks.reports import CONTROL_REPORTS, REPORTS, Figure
from benchmarks.reports.derivatives import draw_helmholtz
from benchmarks.reports.family_calls import first_call_figures
from benchmarks.runner import Measurement, measure
from benchmarks.systems import PEERS, named
from benchmarks.workload import FAMILIES, Workload
from benchmarks.workloads import (
    COMPILED_WORKLOADS,
    CONTROL_WORKLOADS,
    EVERY_WORKLOAD,
    FRESH_WORKLOADS,
    TRAINING_WORKLOADS,
)


def slug(family: str) -> str:
    """The name of a family on the command line."""
    return family.replace(" ", "-")


def members(families: Sequence[str]) -> dict[str, Workload]:
    """The workloads of some families, by their names on the command line; of all families if there are none."""
    found = {name: w for name, w in EVERY_WORKLOAD.items() if w.family is not None}
    return {name: w for name, w in found.items() if not families or slug(str(w.family)) in families}


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        "python -m benchmarks", description="Time Wengert beside other systems; the ratio is the result."
    )
    p.add_argument("--workload", nargs="+", choices=EVERY_WORKLOAD, default=[], help="only these workloads")
    p.add_argument("--compiled", action="store_true", help="the workloads of compiled functions")
    p.add_argument("--control", action="store_true", help="the workloads with loops, and the reports on them")
    p.add_argument("--training", action="store_true", help="training steps, eager and compiled")
    p.add_argument("--fresh", action="store_true", help="programs that no mechanism was made for")
    p.add_argument(
        "--families",
        nargs="*",
        choices=[slug(family) for family in FAMILIES],
        help="the workloads of these families, or of all: ratios to the best peer, and the machine's peaks",
    )
    p.add_argument(
        "--roofline",
        action="store_true",
        help="the compiled workloads, alone: the time that each must take at the least over the time that it takes",
    )
    p.add_argument(
        "--cost",
        action="store_true",
        help="the compiled workloads, alone: the time that the compiler's cost predicts, beside the measured time",
    )
    p.add_argument(
        "--eager", action="store_true", help="all workloads that PyTorch has too, in eager code: ratios to PyTorch's"
    )
    p.add_argument(
        "--distributed",
        type=int,
        nargs="?",
        const=20_000_000,
        metavar="ROWS",
        help="sums over shards on two workers, alone: beside dask-glm, scaling, overhead",
    )
    p.add_argument("--gpu", action="store_true", help="the problems of GPUs, beside JAX and PyTorch")
    p.add_argument("--first-calls", action="store_true", help="first calls of the workloads, beside JAX's")
    p.add_argument(
        "--peers",
        nargs="*",
        choices=PEERS,
        default=PEERS,
        help="the systems to compare with; those not installed are left out",
    )
    p.add_argument(
        "--size",
        nargs="+",
        choices=("small", "medium", "large"),
        default=("small", "medium", "large"),
        help="only these sizes",
    )
    p.add_argument(
        "--rounds", type=int, default=9, metavar="N", help="turns that each system has; the best one counts (default 9)"
    )
    for name, report in REPORTS.items():
        p.add_argument(
            f"--{name}",
            dest="reports",
            action="append_const",
            const=name,
            help=f"report: {(report.__doc__ or '').rstrip('.')}",
        )
    p.add_argument(
        "--accuracy",
        action="store_true",
        help="survey the vector functions beside mpmath and NumPy, alone (needs mpmath)",
    )
    p.add_argument("--all", action="store_true", help="all workloads and all reports")
    p.add_argument("--json", type=Path, metavar="FILE", help="write machine, versions, times, ratios and figures")
    p.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the report on the Helmholtz free energy (needs matplotlib)"
    )
    p.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables between the marks of this page")
    return p


def report_accuracy(options: argparse.Namespace) -> None:
    """Show the accuracy of the vector functions, and write it on a page."""
    from benchmarks.reports.accuracy import accuracy_table, write_page

    table = accuracy_table()
    tables.show(table)
    if options.markdown:
        write_page(options.markdown, table)


def report_roofline(options: argparse.Namespace) -> None:
    """Show the share of the roofline that compiled workloads reach, and write it on a page."""
    from benchmarks import roofline

    rates, rows = roofline.machine_rates(), []
    for name in [name for name in chosen_workloads(options, ()) if name in roofline.PROGRAMS]:
        for size in EVERY_WORKLOAD[name].sizes:
            if size in options.size:
                print(f"{name} ({size}) ...", file=sys.stderr)
                rows.append(roofline.measure_row(name, size, rates, options.rounds))
    figures = {"roofline": roofline.roofline_figures(rows), "rates": roofline.rate_figures(rates)}
    made = [roofline.roofline_table(rows), tables.figure_table("Rates of the machine", figures["rates"])]
    for table in made:
        tables.show(table)
    if options.json:
        options.json.write_text(json.dumps(tables.record([], figures), indent=2) + "\n")
    if options.markdown:
        tables.write_markdown(options.markdown, [], made, roofline.READING)


def report_predictions(options: argparse.Namespace) -> None:
    """Show the times that the compiler predicts for compiled workloads, and write them on a page."""
    from benchmarks import predictions

    rows = []
    for name in predictions.predictable(chosen_workloads(options, ())):
        for size in EVERY_WORKLOAD[name].sizes:
            if size in options.size:
                print(f"{name} ({size}) ...", file=sys.stderr)
                row = predictions.measure_prediction(name, size, options.rounds)
                rows += [] if row is None else [row]
    made = predictions.prediction_tables(rows)
    for table in made:
        tables.show(table)
    if options.json:
        figures = {"predictions": predictions.prediction_figures(rows)}
        options.json.write_text(json.dumps(tables.record([], figures), indent=2) + "\n")
    if options.markdown:
        tables.write_markdown(options.markdown, [], made, predictions.READING)


def report_distributed(options: argparse.Namespace) -> None:
    """Show what sums over shards cost on a cluster of processes, and write it on a page."""
    from benchmarks.reports.distributed import distributed_figures

    figures = {"distributed": distributed_figures(options.distributed)}
    table = tables.figure_table("Sums over shards", figures["distributed"])
    tables.show(table)
    if options.json:
        options.json.write_text(json.dumps(tables.record([], figures), indent=2) + "\n")
    if options.markdown:
        tables.write_markdown(options.markdown, [], [table])


def measure_workloads(names: Sequence[str], options: argparse.Namespace) -> list[Measurement]:
    """Measure each workload in those of its sizes that the options ask for."""
    measurements = []
    for name in names:
        for size in EVERY_WORKLOAD[name].sizes:
            if size in options.size:
                print(f"{name} ({size}) ...", file=sys.stderr)
                peers, subject, warm = ([EAGER_PEER], EAGER, WARM) if options.eager else (options.peers, None, 0.0)
                measurements.append(
                    measure(EVERY_WORKLOAD[name], size, peers, options.rounds, subject=subject, warm=warm)
                )
    return measurements


def chosen_workloads(options: argparse.Namespace, reports: Sequence[str]) -> list[str]:
    """The names of the workloads that the options ask for: all, if they ask for no report either."""
    groups = {
        **(COMPILED_WORKLOADS if options.compiled else {}),
        **(CONTROL_WORKLOADS if options.control else {}),
        **(TRAINING_WORKLOADS if options.training else {}),
        **(FRESH_WORKLOADS if options.fresh else {}),
        **(members(options.families) if options.families is not None else {}),
    }
    workloads = options.workload + [name for name in groups if name not in options.workload]
    chosen = workloads if workloads or (reports and not options.all) else list(EVERY_WORKLOAD)
    return list(filter(is_eager, chosen)) if options.eager else chosen


def measure_figures(
    measurements: Sequence[Measurement], workloads: Sequence[str], reports: Sequence[str], options: argparse.Namespace
) -> dict[str, list[Figure]]:
    """The figures of the reports, by their titles."""
    figures = {name: REPORTS[name]() for name in reports}
    if options.families is not None:
        figures |= {"families": family_figures(measurements), "peaks": peak_figures()}
    if options.eager:
        figures["eager"] = eager_figures(measurements)
    if options.first_calls:
        figures["first calls"] = first_call_figures(workloads, options.size)
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    for is_asked, report in (
        (options.accuracy, report_accuracy),
        (options.roofline, report_roofline),
        (options.cost, report_predictions),
        (options.distributed, report_distributed),
        (options.gpu, lambda options: report_gpu([], json_file=options.json)),
    ):
        if is_asked:
            report(options)
            return 0
    reports = list(REPORTS) if options.all else options.reports or (list(CONTROL_REPORTS) if options.control else [])
    workloads = chosen_workloads(options, reports)
    for name in options.peers:
        if not named(name).installed:
            print(f"{named(name).title} is not installed and is left out; {named(name).remedy}.")
    try:
        measurements = measure_workloads(workloads, options)
    except DisagreementError as error:
        print(f"{error} Nothing of this workload was timed.", file=sys.stderr)
        return 1
    figures = measure_figures(measurements, workloads, reports, options)
    made = family_tables(measurements) if options.families is not None else []
    made += tables.tables(measurements, figures)
    for table in made:
        tables.show(table)
    if options.json:
        options.json.write_text(json.dumps(tables.record(measurements, figures), indent=2) + "\n")
    if options.plot:
        draw_helmholtz(options.plot)
    if options.markdown:
        tables.write_markdown(options.markdown, measurements, made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
