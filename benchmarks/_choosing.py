"""The choice of PB2's parts: every variant on every mapped task, on seeds that no table of results uses.

The ill-conditioned quadratic of the study is such a task, too, with 4 and with 8 agents.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks._files import write_whole
from benchmarks._real_tasks import TASKS
from benchmarks._statistics import improvement_estimate, mean_estimate
from benchmarks.variants import VARIANTS
from popbandits._types import Floats
from popbandits.paper import REVISIONS
from popbandits.population import Strategy
from popbandits.problems import BITING, Simulated, run_family

FOLDER = Path("results/real/choosing")
FIRST, SEEDS, SIZE = 1000, 48, 4
_CHUNK = 12
QUADRATICS = {"quadratic": 4, "quadratic-8": 8}
"""The quadratic by its names here, and how many agents train on it."""
MAPPED = tuple(name for name, task in TASKS.items() if task.trainable is None)
CHOSEN_ON = (*MAPPED, *QUADRATICS)
"""What the choice is made on."""
_OTHERS = {"uniform": "uniform", "paper": "pb2-paper"}
_QUADRATIC_FIRST, _QUADRATIC_SEEDS = 2000, 40


def _file(task: str, variant: str) -> Path:
    return FOLDER / f"{task}-{variant.replace(' ', '_')}.json"


def _kept(task: str, variant: str) -> Floats | None:
    """Return what the runs of a variant are worth; None when there are none of this revision."""
    if not _file(task, variant).exists():
        return None
    body = json.loads(_file(task, variant).read_text())
    return np.array(body["judged"], dtype=float) if body["revision"] == _revision(variant) else None


def _revision(variant: str) -> int:
    """Return the revision of what a variant is made of: PB2's, but for those that are other methods."""
    return REVISIONS.get(_OTHERS.get(variant, "pb2"), 1)


def choose(tasks: list[str]) -> None:
    """Train every variant that a task lacks, most telling first, and keep what its runs are worth."""
    for variant in VARIANTS:
        for task in tasks:
            if not is_chosen(task, variant):
                print(f"{task} {variant}: {train_variant(task, variant):.4g}", flush=True)


def is_chosen(task: str, variant: str) -> bool:
    """Return whether a variant has been trained on a task."""
    return _kept(task, variant) is not None


def train_variant(task: str, variant: str) -> float:
    """Train a variant on a task, keep what its runs are worth, and return the mean of that."""
    if task in QUADRATICS:
        runs = [run.score for run in quadratic_runs(VARIANTS[variant], QUADRATICS[task])]
    else:
        # Few at a time: all at once would not fit into the caches, which on text takes four times as long.
        chunks = [range(FIRST + i, FIRST + i + _CHUNK) for i in range(0, SEEDS, _CHUNK)]
        trained = [TASKS[task].train(VARIANTS[variant], chunk, SIZE, None) for chunk in chunks]
        runs = [outcome.judged for outcomes in trained for outcome in outcomes]
    judged = [round(run, 4) for run in runs]
    write_whole(_file(task, variant), json.dumps({"revision": _revision(variant), "judged": judged}))
    return float(np.nanmean(judged))


def quadratic_runs(strategy: Callable[[], Strategy], size: int) -> Iterator[Simulated]:
    """Train populations on the ill-conditioned quadratic, with the seeds that choices are made on."""
    family = BITING["ill-conditioned"]
    for seed in range(_QUADRATIC_FIRST, _QUADRATIC_FIRST + _QUADRATIC_SEEDS):
        run = run_family(family, strategy(), size=size, intervals=20, seed=seed)
        assert run is not None  # this problem suits every strategy
        yield run


def show_choosing() -> Iterator[str]:
    """Yield what each variant is worth beside PB2, as Markdown."""
    found = {(task, v): _kept(task, v) for task in CHOSEN_ON for v in VARIANTS}
    tasks = [task for task in CHOSEN_ON if found[task, "pb2"] is not None]
    if not tasks:
        yield "There are no results yet; `make experiments` makes them."
        return
    yield "| variant | " + " | ".join(tasks) + " | P(PB2 beats it), all tasks |"
    yield "|---" * (len(tasks) + 2) + "|"
    for variant in VARIANTS:
        if all(found[task, variant] is None for task in tasks):
            continue
        pairs = {}
        texts = []
        for task in tasks:
            runs, ours = found[task, variant], found[task, "pb2"]
            texts.append("" if runs is None else f"{mean_estimate(_ranked(runs)).value:.4g}")
            if runs is not None and ours is not None and variant != "pb2":
                pairs[task] = (_ranked(ours), _ranked(runs))
        together = improvement_estimate(pairs) if pairs else None
        last = "" if together is None else f"{together.value:.2f} [{together.low:.2f}, {together.high:.2f}]"
        yield f"| {variant} | " + " | ".join(texts) + f" | {last} |"


def _ranked(runs: Floats) -> Floats:
    """Return runs as they are compared: weights that diverged are worse than any others."""
    return np.where(np.isfinite(runs), runs, -np.inf)
