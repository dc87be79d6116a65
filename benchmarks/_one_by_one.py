"""One population of a trainable, its agents trained one after the other in this process: for what cannot be mapped."""

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._lockstep import Judged, key_of
from popbandits._errors import TrainableError
from popbandits._types import Hparams
from popbandits.population import Population, Strategy
from popbandits.space import Space


def train_one(
    trainable: Any, strategy: Strategy, seed: int, *, size: int, intervals: int, space: Space, constants: Hparams
) -> Judged:
    """Train a population and judge the weights that reported the best score.

    Args:
        trainable: a class with `step`, `save`, `load`, `reseed` and `judge`.
        strategy, seed, size, intervals, space: of the population.
        constants: what `step` is given beside the hparams.
    """
    population = Population(space, strategy, size=size, intervals=intervals, seed=seed)
    agents: dict[int, Any] = {}
    best, curve = -np.inf, []
    with tempfile.TemporaryDirectory(prefix="popbandits-real-") as name:
        folder = Path(name)
        decision = population.start()
        while population.training:
            top = -np.inf
            for donor in {action.source for action in decision.trained if action.source not in (None, action.agent)}:
                _saved(agents[donor or 0], folder / f"donor-{donor}")
            for action in decision.trained:
                interval = population.training[action.agent].interval
                if action.source is None:
                    agents[action.agent] = trainable(key_of(seed, "weights", interval, action.agent))
                elif action.source != action.agent:
                    agents[action.agent].load(folder / f"donor-{action.source}")
                    agents[action.agent].reseed(key_of(seed, "copy", interval, action.agent))
                try:
                    found = agents[action.agent].step({**action.hparams, **constants})
                except TrainableError:  # diverged: it ranks last and is replaced, as in a run
                    found = {"score": math.nan}
                score = found["score"]
                decision = population.tell(action.agent, score, score_error=found.get("score_error")) or decision
                if score > best:
                    best = score
                    _saved(agents[action.agent], folder / "best")
                top = max(top, score if math.isfinite(score) else -math.inf)
            curve.append(top)
        if not math.isfinite(best):
            return Judged(math.nan, math.nan, tuple(curve))
        judge = trainable(seed)
        judge.load(folder / "best")
        judged = judge.judge(key_of(seed, "judge"))
    return Judged(judged.score, judged.error, tuple(curve))


def _saved(agent: Any, path: Path) -> None:
    path.mkdir(exist_ok=True)
    agent.save(path)
