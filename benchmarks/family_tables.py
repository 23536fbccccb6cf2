"""The result of a family of workloads: Wengert's time over that of the best peer, and their median."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks import peaks
from benchmarks.reports.figure import Figure
from benchmarks.runner import Measurement
from benchmarks.systems import named
from benchmarks.tables import Table, quantity
from benchmarks.workload import FAMILIES
from benchmarks.workloads import EVERY_WORKLOAD

RIVALS = ("jax", "diffrax", "torch", "torch compiled", "numba")
"""The systems that Wengert is measured by; what is written by hand in NumPy or C is no system."""

MOST, NEAR, MEDIAN = 1.0, 0.67, 0.5
"""The largest ratio of a row, the ratio above which one asks what limits it, and the largest median of a family."""


def by_family(measurements: Sequence[Measurement]) -> dict[str, list[Measurement]]:
    """The measurements of each family that were compared with a peer."""
    compared = [m for m in measurements if EVERY_WORKLOAD[m.workload].family and set(RIVALS) & set(m.seconds)]
    groups = {family: [m for m in compared if EVERY_WORKLOAD[m.workload].family == family] for family in FAMILIES}
    return {family: group for family, group in groups.items() if group}


def best_peer(m: Measurement) -> str:
    return min((name for name in RIVALS if name in m.seconds), key=m.seconds.__getitem__)


def family_table(family: str, measurements: Sequence[Measurement]) -> Table:
    """A row per workload and size, and their median."""
    rows = []
    for m in measurements:
        peer = best_peer(m)
        rows.append(
            [
                m.workload,
                f"{EVERY_WORKLOAD[m.workload].sizes[m.size]:,}".replace(",", " "),
                quantity(m.seconds[m.subject], "s"),
                f"{named(peer).title}, {quantity(m.seconds[peer], 's')}",
                f"{m.ratio(peer):.2f}",
                share_of_peak(m),
                mark(m.ratio(peer)),
            ]
        )
    middle = median(m.ratio(best_peer(m)) for m in measurements)
    rows.append(["median", "", "", "", f"{middle:.2f}", "", "not met" if middle > MEDIAN else ""])
    columns = ["workload", "size", "Wengert", "best peer", "ratio", "share of peak", "mark"]
    return Table(f"{family.capitalize()}: Wengert's time / the best peer's", columns, rows)


def mark(ratio: float) -> str:
    """How a row stands.

    >>> mark(0.5), mark(0.7), mark(1.2)
    ('', 'above 0.67', 'not met')
    """
    return "not met" if ratio > MOST else f"above {NEAR}" if ratio > NEAR else ""


def share_of_peak(m: Measurement) -> str:
    """What the workload must read, write and compute at the least, in a second, over what the machine can.

    Bytes count against reading as many of them again and again, so that those that a cache holds are measured by it.
    """
    workload, shares = EVERY_WORKLOAD[m.workload], []
    size, seconds = workload.sizes[m.size], m.seconds[m.subject]
    if workload.traffic is not None:
        size_in_bytes = workload.traffic(size)
        shares.append(f"{size_in_bytes / seconds / peaks.read_bandwidth(int(size_in_bytes)):.0%} of bytes")
    if workload.flops is not None:
        shares.append(f"{workload.flops(size) / seconds / peaks.peaks().fma:.0%} of flops")
    return ", ".join(shares)


def family_figures(measurements: Sequence[Measurement]) -> list[Figure]:
    """The median and the largest ratio of each family."""
    figures = []
    for family, group in by_family(measurements).items():
        ratios = [m.ratio(best_peer(m)) for m in group]
        figures += [
            Figure(f"{family}: median of {len(ratios)} ratios to the best peer", median(ratios), target=MEDIAN),
            Figure(f"{family}: largest ratio to the best peer", max(ratios), target=MOST),
        ]
    return figures


def family_tables(measurements: Sequence[Measurement]) -> list[Table]:
    return [family_table(family, group) for family, group in by_family(measurements).items()]
