"""How long a report and each figure take: 16 agents x 200 intervals under PB2, and 1,000 x 100 under PBT.

python -m benchmarks.report
"""

import tempfile
import time
from pathlib import Path

import numpy as np

import popbandits as pb
from benchmarks._speed import keep
from popbandits.population import Decision, Population, Strategy
from popbandits.problems.trainables import MovingPeakAgent
from popbandits.run import DecisionEntry, Details, ReportEntry, Run, Seconds, Settings, Target
from popbandits.run._log import Log
from popbandits.view import report
from popbandits.view.figures import FIGURES


def made(folder: Path, strategy: Strategy, size: int, intervals: int) -> Run:
    """Return a run whose log holds what a population was told and decided; no weights were trained."""
    space = MovingPeakAgent.space
    settings = Settings(Target.of(MovingPeakAgent), space, strategy, size, intervals, 0, True, "score", "max", 0)
    folder.mkdir(parents=True)
    log = Log.create(folder, settings.to_json() | {"version": pb.__version__})
    rng = np.random.default_rng(0)
    population = Population(space, strategy, size=size, intervals=intervals, seed=0)
    totals: dict[int, float] = {}
    decision: Decision | None = population.start()
    while decision is not None:
        log.add(DecisionEntry(decision, {}))
        before, made = dict(totals), None
        for action in decision.trained:
            x = population.training[action.agent].point
            gain = float(np.exp(-4 * ((x - 0.4) ** 2).sum()))
            totals[action.agent] = (0.0 if action.source is None else before[action.source]) + gain
            score = totals[action.agent] + 0.1 * float(rng.standard_normal())
            interval = population.training[action.agent].interval
            details = Details({"score": score}, seconds=Seconds(0.0, 1.0, 0.1))
            log.add(ReportEntry(action.agent, interval, score, details=details))
            made = population.tell(action.agent, score)
        decision = made
    log.commit()
    log.close()
    return Run(folder)


def timed(what: str, run: Run) -> None:
    """Print the seconds of each figure and of the report, from a run that was just opened."""
    print(f"{what}:")
    for name, draw in FIGURES.items():
        opened = Run(run.directory)
        _ = opened.history
        begun = time.perf_counter()
        draw(opened)
        print(f"  {name}: {time.perf_counter() - begun:.2f} s")
    begun = time.perf_counter()
    page = report(Run(run.directory))
    taken = f"{time.perf_counter() - begun:.2f} s, {len(page.encode()) / 1e6:.1f} MB"
    print(f"  report, with opening the run: {taken}")
    keep(f"the HTML report of a run of {what}", taken)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as there:
        timed("16 agents and 200 intervals under PB2", made(Path(there) / "small", pb.PB2(window=200), 16, 200))
        timed("1,000 agents and 100 intervals under PBT", made(Path(there) / "large", pb.PBT(), 1000, 100))
