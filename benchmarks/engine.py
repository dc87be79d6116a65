"""What the engine costs: a whole run beside Ray Tune's PB2, the log, large populations, resume, copies."""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import popbandits as pb
from benchmarks._speed import keep
from popbandits.population import Decision, Train
from popbandits.problems.trainables import MovingPeakAgent
from popbandits.run import DecisionEntry, Details, ReportEntry, Settings, Target
from popbandits.run._executor import Assignment, Done, Task
from popbandits.run._log import Log
from popbandits.run._loop import CHECKPOINTS, Controller
from popbandits.run._train import Trainer

SPACE = {"lr": pb.Float(1e-5, 1e-1, log=True)}


class Nothing:
    """A trainable that does nothing, and saves and loads it."""

    space = pb.Space(SPACE)

    def __init__(self, seed: int) -> None:
        self.steps = seed % 3

    def step(self, hparams: Any) -> float:
        self.steps += 1
        return self.steps + float(hparams["lr"])

    def save(self, path: Path) -> None:
        (path / "steps").write_text(str(self.steps))

    def load(self, path: Path) -> None:
        self.steps = int((path / "steps").read_text())


class Heavy(Nothing):
    """A trainable with 100 MB of weights."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.weights = np.zeros(100_000_000 // 8)

    def save(self, path: Path) -> None:
        super().save(path)
        np.save(path / "weights.npy", self.weights)

    def load(self, path: Path) -> None:
        super().load(path)
        self.weights = np.load(path / "weights.npy")


@contextmanager
def folder() -> Iterator[Path]:
    """Yield a folder on the disk of this checkout: a temporary file system would make durability free."""
    path = Path(tempfile.mkdtemp(prefix=".bench-", dir=Path.cwd()))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def timed(command: list[str]) -> float:
    """Return how long a command takes."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def whole_run(with_ray: bool) -> None:
    """Print the time of 4 agents x 20 intervals that do nothing, from command to exit."""
    python = sys.executable
    imports = median(timed([python, "-c", "import numpy, scipy.linalg"]) for _ in range(5))
    taken = []
    for _ in range(5):
        with folder() as path:
            target = "benchmarks.engine:Nothing"
            taken.append(timed([python, "-c", CLI, "run", target, "--dir", str(path / "run"), "-q"]))
    ours = median(taken)
    print(f"4 agents x 20 intervals, every report durable, a checkpoint each: {ours:.2f} s from command to exit")
    print(f"import numpy, scipy.linalg: {imports:.2f} s; 3 x that + 2 s = {3 * imports + 2:.2f} s")
    if with_ray:
        for option in ("", "--reuse-actors"):
            peer = timed([python, "-m", "benchmarks.ray_tune_run", *option.split()])
            print(f"the same with Ray Tune's PB2 {option or 'as it comes'}: {peer:.1f} s, {peer / ours:.0f}x")
            who = "Ray Tune's PB2 with `reuse_actors`" if option else "Ray Tune's PB2"
            what = f"a whole run of 4 agents and 20 intervals whose training does nothing, against {who}"
            keep(what, f"{ours:.2f} s", f"{peer:.0f} s", f"{peer / ours:.0f}x")


CLI = "from popbandits.cli import main; main()"


def long_log(path: Path, agents: int, intervals: int) -> tuple[Settings, float]:
    """Write the log of a long run; return its settings and the seconds it took."""
    (path / CHECKPOINTS).mkdir(parents=True)
    settings = Settings(Target.of(MovingPeakAgent), MovingPeakAgent.space, pb.PB2(), agents, intervals + 1)
    log = Log.create(path, settings.to_json())
    rng = np.random.default_rng(0)
    hparams = [settings.space.sample(rng) for _ in range(agents)]
    start = time.perf_counter()
    for interval in range(1, intervals + 1):
        actions = (Train(a, hparams[a], None if interval == 1 else a) for a in range(agents))
        log.add(DecisionEntry(Decision(tuple(actions)), {}))
        for agent in range(agents if interval < intervals else 0):
            score = float(rng.random() * interval)
            log.add(ReportEntry(agent, interval, score, details=Details({"score": 1.0})))
        log.commit()
    seconds = time.perf_counter() - start
    log.close()
    return settings, seconds


def the_log() -> None:
    """Print durable reports a second, and how fast a run with 100,000 reports is resumed."""
    with folder() as path:
        _, seconds = long_log(path / "short", 64, 100)
        print(f"\ndurable reports a second, committed 64 at a time: {64 * 99 / seconds:,.0f}")
        keep("reports that the log makes durable in a second, 64 in a commit", f"{64 * 99 / seconds:,.0f}")
        settings, _ = long_log(path / "long", 100, 1001)
        start = time.perf_counter()
        log = Log.open(path / "long", write=True)
        log.check()
        controller = Controller(path / "long", settings, log, [])
        seconds = time.perf_counter() - start
        reports = len(controller.population.history)
        print(f"resume of a run with {reports:,} reports, to its first action: {seconds:.2f} s")
        keep(f"resuming a run that has {reports:,} reports", f"{seconds:.2f} s")
        log.close()


def controller_time() -> None:
    """Print the controller's own time for a report, 64 agents trained inline with PBT."""
    with folder() as path:
        start, before = time.perf_counter(), time.process_time()
        run = pb.tune(
            Nothing, SPACE, population=64, intervals=10, strategy=pb.PBT(), executor=pb.Inline(), directory=path / "run"
        )
        reports = len(run.history)
        print(
            f"\n64 agents: {1e3 * (time.process_time() - before) / reports:.2f} ms of processor time a report, ", end=""
        )
        print(f"{1e3 * (time.perf_counter() - start) / reports:.2f} ms in all (with training and checkpoints)")


class Watch(pb.Callback):
    """Memory and descriptors of the controller, interval by interval."""

    def __init__(self, agents: int) -> None:
        self.agents, self.reports = agents, 0
        self.seen: list[tuple[float, int]] = []

    def on_entry(self, entry: Any) -> None:
        """Look once an interval."""
        self.reports += isinstance(entry, ReportEntry)
        if isinstance(entry, DecisionEntry) and self.reports:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            self.seen.append((pages * 4096 / 1e6, len(os.listdir("/proc/self/fd"))))


def many_agents() -> None:
    """Print how 1,000 agents fare on two workers."""
    with folder() as path:
        watch = Watch(1000)
        start = time.perf_counter()
        run = pb.tune(
            Nothing,
            SPACE,
            population=1000,
            intervals=10,
            strategy=pb.PBT(),
            executor=pb.Processes(workers=2),
            directory=path / "run",
            callbacks=[watch],
        )
        seconds = time.perf_counter() - start
    pace = len(run.history) / seconds
    print(f"\n1,000 agents x 10 intervals on 2 workers: {seconds:.0f} s, {pace:.0f} reports a second")
    first, last = watch.seen[1], watch.seen[-1]
    keep("1,000 agents for 10 intervals under PBT on two workers", f"{seconds:.0f} s, {last[0]:.0f} MB of memory")
    print(
        f"memory {first[0]:.0f} MB after interval 2, {last[0]:.0f} MB at the end; descriptors {first[1]} and {last[1]}"
    )


def copies() -> None:
    """Print what a copy of 100 MB costs, beside the load of an agent that goes on after a resume."""
    with folder() as path:
        run = pb.tune(
            Heavy, SPACE, population=2, intervals=8, strategy=pb.PBT(), executor=pb.Inline(), directory=path / "run"
        )
        loads: dict[bool, list[float]] = {True: [], False: []}
        for report, donor, agent in zip(run.reports, run.history.donor, run.history.agent, strict=True):
            if donor not in (-1, agent):
                loads[True].append(report.seconds.load)
        for report in run.reports[-2:] * 4:
            loads[False].append(_load(path / "run", str(report.checkpoint)))
    copy, load = median(loads[True]), median(loads[False])
    print(
        f"\na copy step of 100 MB: {1e3 * copy:.0f} ms; loading the same again: {1e3 * load:.0f} ms, {copy / load:.2f}x"
    )
    keep("copying another agent's checkpoint of 100 MB", f"{1e3 * copy:.0f} ms; a plain load takes {1e3 * load:.0f} ms")


def _load(run: Path, name: str) -> float:
    settings = pb.load(run).settings
    assignment = Assignment(settings.target, run / CHECKPOINTS, "score", 2)
    trainer = Trainer(assignment, Heavy, room=0)
    outcome = trainer.train(Task(0, 1, 1, {"lr": 0.1}, name, "again", 0))
    assert isinstance(outcome, Done)
    return outcome.seconds[0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out Ray Tune and the 1,000 agents")
    arguments = parser.parse_args()
    whole_run(not arguments.quick)
    the_log()
    controller_time()
    copies()
    if not arguments.quick:
        many_agents()
