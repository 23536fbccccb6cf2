"""Processes that run parts, and the watch over them: memory after each round, ends, and hangs."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import time
from multiprocessing.connection import Connection

from tools.soak.part import Part, Round

SECONDS_TO_DUMP = 2.0
"""What a process that hangs is given to print its stacks."""


def work(kind: type[Part], connection: Connection) -> None:
    """The loop of a worker: a number of seconds arrives, and a round and its memory go back."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    part = kind()
    connection.send(resident_bytes())
    while (seconds := connection.recv()) is not None:
        found = part.run(seconds)
        connection.send((found, resident_bytes()))


def resident_bytes() -> int:
    """The memory of this process that is not swapped."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Worker:
    """A part in a process of its own, and what it has shown so far."""

    def __init__(self, kind: type[Part], limit: float):
        self.kind, self.limit = kind, limit
        self.done, self.hangs, self.ends = 0, 0, 0
        self.memory: list[tuple[int, int]] = []
        """Items done, and bytes: at the start, and after each round of the present process."""
        self.wrong: list[str] = []
        self.process: multiprocessing.process.BaseProcess | None = None

    @property
    def name(self) -> str:
        return self.kind.__name__

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=work, args=(self.kind, other))
        self.process.start()
        other.close()
        self.memory = []
        if (found := self.answer(self.limit)) is not None:
            self.memory = [(0, found)]

    def round(self, seconds: float) -> None:
        """Run the part for some seconds; a process that ends or hangs counts, and a new one takes its place."""
        if self.process is None:
            self.start()
        if self.process is None:
            return
        self.connection.send(seconds)
        answer = self.answer(seconds + self.limit)
        if answer is None:
            return
        found: Round = answer[0]
        self.done += found.done
        self.memory.append((self.memory[-1][0] + found.done, answer[1]))
        self.wrong += found.wrong
        if message := self.growth():
            self.wrong.append(message)

    def answer(self, limit: float) -> object:
        """What the process sends, or nothing if it has ended or hangs."""
        try:
            if self.connection.poll(limit):
                return self.connection.recv()
            self.hangs += 1
            self.wrong.append(f"no answer for {limit:.0f} seconds; stacks are above")
        except (EOFError, ConnectionError):
            self.ends += 1
            self.process.join(SECONDS_TO_DUMP)
            self.wrong.append(f"the process ended with status {self.process.exitcode}")
        self.kill()
        return None

    def kill(self) -> None:
        """End the process, which prints its stacks if it is still there."""
        if self.process.is_alive():
            os.kill(self.process.pid, signal.SIGUSR1)
            time.sleep(SECONDS_TO_DUMP)
            self.process.kill()
        self.process.join()
        self.process = None

    def growth(self) -> str | None:
        """More memory than the part may take after its first round."""
        (before, first), (now, last) = self.memory[1], self.memory[-1]
        allowed = self.kind.slack_bytes + self.kind.bytes_per_item * (now - before)
        if last - first <= allowed:
            return None
        return f"{(last - first) / 1e6:.0f} MB more after {now - before} {self.kind.unit}; {allowed / 1e6:.0f} allowed"

    def stop(self) -> None:
        if self.process is not None:
            self.connection.send(None)
            self.process.join(self.limit)
            if self.process.is_alive():
                self.hangs += 1
                self.wrong.append("it does not end")
                self.kill()


def table(workers: list[Worker]) -> str:
    """What all parts did."""
    lines = ["| part | done | memory at the start and after each round, MB | wrong | hangs | ends |"]
    lines += ["|---|---|---|---|---|---|"]
    for worker in workers:
        memory = " ".join(f"{nbytes / 1e6:.0f}" for _, nbytes in worker.memory)
        done = f"{worker.done} {worker.kind.unit}"
        lines.append(f"| {worker.name} | {done} | {memory} | {len(worker.wrong)} | {worker.hangs} | {worker.ends} |")
    return "\n".join(lines)


def soak(kinds: list[type[Part]], minutes: float, rounds: int, limit: float) -> list[Worker]:
    """Run parts in turn, each in some rounds."""
    workers = [Worker(kind, limit) for kind in kinds]
    for _ in range(rounds):
        for worker in workers:
            known = len(worker.wrong)
            worker.round(60 * minutes / rounds / len(workers))
            for message in worker.wrong[known:]:
                print(f"{worker.name}: {message}", flush=True)
        print(f"\n{table(workers)}", file=sys.stderr, flush=True)
    for worker in workers:
        worker.stop()
    return workers
