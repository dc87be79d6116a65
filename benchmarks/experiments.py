"""Everything that takes days, in the order in which it tells most: what is missing is made, one cell after another.

    make experiments                                  on two cores, niced to the lowest
    python -m benchmarks.experiments run --workers 1  on one
    python -m benchmarks.experiments list             what is missing
    python -m benchmarks.experiments run real fashion only jobs that have all of these words

A job is one cell of the bench of real training, of the study or of the paper's experiments, in a process of its own.
It can be killed at any time: what it has written stays, and the next call goes on from there. Several calls share the
work, since each job is locked while somebody is at it. `make tables` brings the documentation up to date.
"""

import argparse
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from benchmarks import study
from benchmarks._ceilings import has_ceiling
from benchmarks._choosing import QUADRATICS, is_chosen, train_variant
from benchmarks._real_cells import read_cell
from benchmarks._real_tasks import CEILINGS, CORNER, STRATEGIES, TASKS
from benchmarks._watch import work_of
from benchmarks.variants import VARIANTS
from popbandits.paper import EXPERIMENTS, METHODS, Cell, is_done, run_cell

NOTES = Path("runs/experiments")
RESULTS, RUNS = Path("results"), Path("runs/paper")
LOWEST = 19
_LOOK, _PATIENCE = 5.0, 180.0  # seconds between two looks at a job, and for which it may stand still
_STUCK = -1000
_TRIES = 3  # of a job that stands still
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Job:
    """One cell: the kind of it, and its words on the command line."""

    kind: str
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """A name for its lock and its notes; the same for jobs that make the same file."""
        if self.kind == "study":
            table, problem, strategy = self.words
            return f"study-{study.path_of(study.TABLES[table].size, problem, strategy).stem}"
        return "-".join((self.kind, *self.words)).replace(":", ".").replace(" ", "_")

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""
        if self.kind == "ceilings":
            return has_ceiling(self.words[0])
        if self.kind == "real":
            task, method, size, seeds = self.words
            return len(read_cell(task, method, int(size)).judged) >= int(seeds)
        if self.kind == "choosing":
            return is_chosen(*self.words)
        if self.kind == "study":
            table, problem, strategy = self.words
            return study.is_done(study.TABLES[table], problem, strategy)
        return is_done(self.cell, RESULTS)

    @property
    def ready(self) -> bool:
        """Whether what it needs is there: a ceiling is trained when it has been found."""
        return self.kind != "real" or self.words[1] not in CEILINGS or has_ceiling(self.words[0])

    @property
    def cell(self) -> Cell:
        """The cell of one of the paper's experiments."""
        experiment, task, size, method, seed, scale = self.words
        return Cell(experiment, task, int(size), method, int(seed), float(scale))

    def run(self) -> None:
        """Make it, here and now."""
        from benchmarks import real
        from popbandits.run import Processes

        if self.kind == "ceilings":
            real.find_ceilings(self.words[0])
        elif self.kind == "real":
            task, method, size, seeds = self.words
            print(f"{task} {method}: {real.run_cell(task, method, int(size), int(seeds)).summary()}")
        elif self.kind == "choosing":
            print(f"{' '.join(self.words)}: {train_variant(*self.words):.4g}")
        elif self.kind == "study":
            table, problem, strategy = self.words
            study.RESULTS.mkdir(parents=True, exist_ok=True)
            study.run_cell(map, study.TABLES[table], problem, strategy, study.TABLES[table].seeds)
        else:
            deadline = max(60.0, self.cell.interval / EXPERIMENTS[self.cell.experiment].slowest)
            where = Processes(workers=1, deadline=10 * deadline)  # ten times: others may have the processor
            done = run_cell(self.cell, where, runs=RUNS, results=RESULTS)
            print(f"{self.cell.name}: judged {done.judged}, best {done.best:.1f}, {done.seconds:.0f} s")


def jobs() -> Iterator[Job]:
    """Yield every job once, most telling first."""
    seen: set[str] = set()
    for job in _in_order():
        if job.name not in seen:
            seen.add(job.name)
            yield job


def _in_order() -> Iterator[Job]:
    mapped = ("mountain-car", "acrobot", "pendulum", "fashion", "text")
    for task in mapped:
        yield from _real(task, [*STRATEGIES, CORNER])
    yield from _study("bite", "quadratics", "bite-eight", "quadratics-eight")
    for variant in VARIANTS:
        for task in (*QUADRATICS, *mapped):
            yield Job("choosing", (task, variant))
    for task in mapped:
        yield Job("ceilings", (task,))
        yield from _real(task, CEILINGS)
    baselines = ("asha", "pbt", "rs", "pb2-paper", "uniform")
    yield from _real("lunar-lander", [*STRATEGIES, CORNER])
    for task in ("LunarLanderContinuous", "BipedalWalker"):
        yield from _paper("table1", task, 4, baselines, 10)
    for task in ("LunarLanderContinuous", "BipedalWalker"):
        yield from _paper("table1", task, 4, ("pb2",), 10)
    for task in ("Hopper", "InvertedDoublePendulum"):
        yield from _paper("table1", task, 4, (*baselines, "pb2"), 10)
    yield from _paper("table1", "LunarLanderContinuous", 4, ("pb2",), 25)  # of which 5 to 24 have decided nothing
    yield from _paper("robustness", "BipedalWalker", 4, ("pbt", "rs", "pb2-paper", "pb2"), 10)
    yield from _paper("cifar10", "CIFAR10", 4, ("rs", "pbt", "pb2-paper", "pb2"), 1, 0.05)
    for task in ("Breakout", "SpaceInvaders"):
        yield from _paper("impala", task, 4, ("rs", "pbt", "pb2-paper", "pb2"), 1, 0.1)
    for task in ("LunarLanderContinuous", "BipedalWalker"):
        yield from _paper("table1", task, 4, ("bo",), 10)
        yield from _paper("table1", task, 8, (*baselines, "pb2"), 10)
    yield from _paper("scaling", "BipedalWalker", 16, ("pbt", "pb2-paper", "pb2"), 3)
    yield from _study(*(name for name in study.TABLES if not name.startswith(("bite", "quadratics"))))


def _real(task: str, methods: list[str] | tuple[str, ...], size: int = 4) -> Iterator[Job]:
    for method in methods:
        yield Job("real", (task, method, str(size), str(TASKS[task].seeds)))


def _paper(
    experiment: str, task: str, size: int, methods: tuple[str, ...], seeds: int, scale: float = 1.0
) -> Iterator[Job]:
    assert set(methods) <= set(METHODS)
    for seed in range(seeds):
        for method in methods:
            yield Job("paper", (experiment, task, str(size), method, str(seed), f"{scale:g}"))


def _study(*tables: str) -> Iterator[Job]:
    for table in tables:
        found = study.TABLES[table]
        for problem in found.problems:
            for strategy in found.strategies:
                if study.has(problem, strategy):
                    yield Job("study", (table, problem, strategy))


class Crew:
    """Workers that take the next job that nobody is at, each in a process that anything may interrupt."""

    def __init__(self, workers: int, words: frozenset[str]) -> None:
        self._workers = workers
        self._words = words
        self._stopping = threading.Event()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._tried: set[str] = set()
        self._stuck: Counter[str] = Counter()
        self._guard, self._starting = threading.Lock(), threading.RLock()  # a signal may come while one is starting

    def run(self) -> None:
        """Work until nothing is missing, or a signal ends it."""
        NOTES.mkdir(parents=True, exist_ok=True)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self.stop())
        threads = [threading.Thread(target=self._work) for _ in range(self._workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():  # a join without a limit would not hear signals
                thread.join(0.5)

    def stop(self) -> None:
        """End the jobs at hand; what they have written stays."""
        self._stopping.set()
        with self._starting:
            for process in self._processes:
                process.terminate()

    def _work(self) -> None:
        while not self._stopping.is_set():
            taken, waiting = self._take()
            if taken is not None:
                job, lock = taken
                with lock:
                    self._make(job, lock)
            elif waiting:
                self._stopping.wait(5)  # for what another worker is about to finish
            else:
                return

    def _take(self) -> tuple[tuple[Job, IO[str]] | None, bool]:
        """Return the first job that can be made and that nobody is at, with its lock held; and whether some wait."""
        waiting = False
        with self._guard:
            for job in jobs():
                if job.name in self._tried or not self._words <= {job.kind, *job.words} or job.done:
                    continue
                if not job.ready:
                    waiting |= bool(self._processes)
                    continue
                lock = (NOTES / f"{job.name}.lock").open("w")
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    lock.close()
                    continue
                self._tried.add(job.name)
                return (job, lock), waiting
        return None, waiting

    def _make(self, job: Job, lock: IO[str]) -> None:
        safe = ["-P"] if sys.flags.safe_path else []
        command = [sys.executable, *safe, "-m", "benchmarks.experiments", "one", job.kind, *job.words]
        began = time.monotonic()
        notes = NOTES / f"{job.name}.log"
        with notes.open("w") as out:
            with self._starting:
                if self._stopping.is_set():
                    return
                process = subprocess.Popen(
                    command,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env=os.environ | ONE_THREAD,
                    start_new_session=True,
                    pass_fds=(lock.fileno(),),  # the lock lives as long as the job, should this process be killed
                )
                self._processes.add(process)
            code = self._watched(process)
            with self._starting:
                self._processes.discard(process)
        if code == _STUCK:
            self._stuck[job.name] += 1
        if code == _STUCK and self._stuck[job.name] < _TRIES:
            self._tried.discard(job.name)  # what it has written stays; the next worker goes on from there
        lines = notes.read_text().strip().splitlines()
        said = lines[-1] if lines else ""
        result = said if code == 0 else f"failed, see {notes}: {said}"
        if code < 0:
            result = "stood still and was ended" if code == _STUCK else f"interrupted ({code})"
        print(f"{job.name}: {result} ({time.monotonic() - began:.0f} s)", flush=True)

    def _watched(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for a job to end; end it when every thread of it has slept, without a moment's work, for minutes."""
        before, still = work_of(process.pid), 0.0
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(_LOOK)
            now = work_of(process.pid)
            still = 0.0 if now.busy or now.ticks != before.ticks else still + _LOOK
            before = now
            if still >= _PATIENCE:
                process.kill()
                process.wait()
                return _STUCK


def _give_way() -> None:
    """Take only what others leave of the processor."""
    os.nice(LOWEST)
    # Linux shares the processor among sessions first, and a job has a session of its own: nice alone would not do.
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(LOWEST))


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "list", "one"])
    parser.add_argument("words", nargs="*", help="with one: a job, as list prints it; with run: what jobs must have")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    if given.command == "one":
        _give_way()
        Job(given.words[0], tuple(given.words[1:])).run()
    elif given.command == "run":
        Crew(given.workers, frozenset(given.words)).run()
    else:
        every = list(jobs())
        missing = [job for job in every if not job.done]
        for job in missing:
            print(job.kind, *(f"'{word}'" if " " in word else word for word in job.words))
        print(f"{len(missing)} of {len(every)} jobs are missing")


if __name__ == "__main__":
    main()
