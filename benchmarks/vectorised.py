"""A population in one compiled call, against worker processes and against a loop written by hand without any engine.

python -m benchmarks.vectorised
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import popbandits as pb
from benchmarks._speed import keep

AGENTS, INTERVALS = 16, 20
MANY = 64
PPO_AGENTS, PPO_INTERVALS = 8, 10


def command(executor: str, trainable: str) -> float:
    """Return the seconds that a whole program takes, from its start to its end."""
    code = (
        "import popbandits as pb; from benchmarks import _network\n"
        f"pb.tune(_network.{trainable}, _network.SPACE, population={AGENTS}, intervals={INTERVALS}, strategy=pb.PBT(),"
        f" executor={executor}, directory={tempfile.mkdtemp()!r} + '/run', progress=False)"
    )
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


class Clock(pb.Callback):
    """When each interval was in the log."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_entry(self, entry: Any) -> None:
        if isinstance(getattr(entry, "agent", None), int) and entry.agent == 0:
            self.times.append(time.perf_counter())


def deciding() -> float:
    """Return the seconds that random search takes to decide for 64 agents."""
    population = pb.Population({"x": (0.0, 1.0)}, pb.RandomSearch(), size=MANY, intervals=100)
    population.start()
    for agent in range(MANY):
        population.tell(agent, 0.5)
    view, due = population.view(), tuple(range(MANY))
    times = []
    for _ in range(50):
        began = time.perf_counter()
        population.strategy.decide(view, due)
        times.append(time.perf_counter() - began)
    return median(times)


def overhead(every: int) -> tuple[float, float]:
    """Return the milliseconds of an interval of 64 agents that learn nothing, without the decision, and of saving."""

    def init(seed: int) -> Any:
        return {"w": np.full(1000, seed % 7, np.float32)}

    clock = Clock()
    run = pb.tune(
        pb.functional(init, lambda state, hparams: (state, hparams["x"])),
        {"x": (0.0, 1.0)},
        strategy=pb.RandomSearch(),
        population=MANY,
        intervals=100,
        executor=pb.Vectorised(checkpoint_every=every),
        directory=tempfile.mkdtemp() + "/run",
        callbacks=[clock],
        progress=False,
    )
    between = np.diff(clock.times)[5:]
    saving = median(entry.seconds.save for entry in run.reports[5 * MANY :: MANY])
    return 1000 * (float(np.median(between)) - deciding()), 1000 * saving


def ppo() -> tuple[float, float]:
    """Return environment steps a second of PPO on Pendulum: with the engine, and in a loop written by hand."""
    import jax
    import jax.numpy as jnp

    from popbandits.workloads import ppo_jax
    from popbandits.workloads.vectorised import as_functional

    learner = ppo_jax.learner("Pendulum-v1")
    steps = PPO_AGENTS * ppo_jax.ENVIRONMENTS * ppo_jax.STEPS * ppo_jax.ROLLOUTS
    clock = Clock()
    pb.tune(
        as_functional(learner),
        learner.space,
        population=PPO_AGENTS,
        intervals=PPO_INTERVALS,
        executor=pb.Vectorised(),
        directory=tempfile.mkdtemp() + "/run",
        callbacks=[clock],
        progress=False,
    )
    ours = steps / float(np.median(np.diff(clock.times)[1:]))
    state = jax.lax.map(learner.init, jax.random.split(jax.random.key(0), PPO_AGENTS))
    hparams = {"lr": 1e-3, "clip": 0.2, "entropy_cost": 1e-3, "discount": 0.97, "gae_lambda": 0.95}
    columns = {name: jnp.full(PPO_AGENTS, value) for name, value in hparams.items()}
    loop, times = jax.jit(jax.vmap(learner.step)), []
    for _ in range(PPO_INTERVALS):
        state, metrics = loop(state, columns)
        np.asarray(metrics["score"])
        times.append(time.perf_counter())
    return ours, steps / float(np.median(np.diff(times)[1:]))


if __name__ == "__main__":
    Path("results/speed").mkdir(parents=True, exist_ok=True)
    mapped, workers = command("pb.Vectorised()", "Mapped"), command("pb.Processes()", "Alone")
    print(f"{AGENTS} agents x {INTERVALS} intervals of a small network, from command to exit: "
          f"Vectorised {mapped:.1f} s, Processes {workers:.1f} s: {workers / mapped:.1f}x")  # fmt: skip
    what = f"{AGENTS} agents x {INTERVALS} intervals of a small network, from command to exit: `Vectorised`"
    keep(what, f"{mapped:.1f} s", f"{workers:.1f} s (`Processes`)", f"{workers / mapped:.1f}x")
    off, _ = overhead(1000)
    on, saving = overhead(1)
    print(f"the engine adds {off:.2f} ms to an interval of {MANY} agents without checkpoints, "
          f"and {on:.2f} ms with, of which {saving:.2f} ms is writing")  # fmt: skip
    keep(f"what `Vectorised` adds to an interval of {MANY} agents, checkpoints off", f"{off:.1f} ms")
    keep("the same with a checkpoint every interval", f"{on:.1f} ms, of which {saving:.1f} ms is writing")
    engine, hand = ppo()
    print(f"PPO on Pendulum, {PPO_AGENTS} agents: {engine:,.0f} steps a second with the engine, {hand:,.0f} in a loop "
          f"written by hand: {engine / hand:.2f}")  # fmt: skip
    keep(
        f"PPO on Pendulum, {PPO_AGENTS} agents in one call, steps a second",
        f"{engine:,.0f}",
        f"{hand:,.0f} (a vmapped loop by hand)",
        f"{engine / hand:.2f}x",
    )
