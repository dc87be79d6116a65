"""A whole population in one compiled call: compiled once, durable, the same on several devices, one sentence if not."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popbandits as pb
from popbandits.run import verify
from tests import models

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

ROOT = Path(__file__).parent.parent.parent
SPACE = {"lr": pb.Float(0.01, 0.5, log=True), "n": pb.Int(1, 4), "kind": pb.Choice("a", "b"), "net": {"depth": 3}}
TRACED: list[int] = []
pytestmark = pytest.mark.filterwarnings("ignore:step does not use the Choice")  # most steps here are about other things


def init(seed: int) -> dict[str, Any]:
    key = jax.random.key(seed)
    return {"w": 1.0 + jax.random.uniform(key, (3,)), "key": jax.random.key_data(key), "steps": 0}


def step(state: Any, hparams: Any) -> Any:
    TRACED.append(1)
    assert hparams["net"]["depth"] == 3, "a constant is a constant"
    key, now = jax.random.split(jax.random.wrap_key_data(state["key"]))
    rate = hparams["lr"] * hparams["n"] / 4 * jnp.where(hparams["kind"] == 0, 1.0, 0.5)
    w = state["w"] * (1 - rate) + 0.01 * jax.random.normal(now, (3,))
    score = -jnp.abs(w).sum()
    return {"w": w, "key": jax.random.key_data(key), "steps": state["steps"] + 1}, {"score": score, "rate": rate}


def reseed(state: Any, seed: Any) -> Any:
    return state | {"key": jax.random.key_data(jax.random.key(seed))}


Agent = pb.functional(init, step, reseed)


def tuned(folder: Path, trainable: Any = Agent, every: int = 1, **options: Any) -> pb.Run:
    given: dict[str, Any] = {"population": 4, "intervals": 9, "progress": False} | options
    return pb.tune(trainable, SPACE, executor=pb.Vectorised(checkpoint_every=every), directory=folder, **given)


def sound(folder: Path) -> bool:
    return [finding.text for finding in verify(folder) if not finding.ok] == []


def test_hparams_and_copies_compile_nothing(tmp_path: Path) -> None:
    TRACED.clear()
    run = tuned(tmp_path / "run")
    assert len(run.lineage) > 2
    assert len({str(run.history.hparams(row)) for row in range(len(run.history))}) > 5
    assert len(TRACED) == 1, "step was traced, and so compiled, once"
    assert sound(tmp_path / "run")


def test_each_agent_trains_with_its_own_hparams_from_its_own_weights(tmp_path: Path) -> None:
    """The same agents one by one, from the same seeds, reach the same scores until somebody copies."""
    run = tuned(tmp_path / "run", strategy=pb.RandomSearch(), intervals=3)
    history = run.history
    rates = run.columns()["rate"]
    for row in range(len(history)):
        hparams = history.hparams(row)
        expected = hparams["lr"] * hparams["n"] / 4 * (1.0 if hparams["kind"] == "a" else 0.5)
        assert rates[row] == pytest.approx(expected, rel=1e-5)
    assert len(set(history.score.tolist())) == len(history), "no two agents are twins"


@pytest.mark.parametrize("strategy", [pb.PB2(), pb.PBT(), pb.ASHA(), pb.BayesOpt()])
def test_every_strategy_trains_its_budget(tmp_path: Path, strategy: Any) -> None:
    run = tuned(tmp_path / "run", strategy=strategy)
    assert len(run.history) == 36
    assert sound(tmp_path / "run")


def test_a_resume_without_an_executor_writes_as_seldom_as_before(tmp_path: Path) -> None:
    tuned(tmp_path / "run", every=3, intervals=6)
    run = pb.resume(tmp_path / "run", intervals=12, progress=False)
    written = {int(str(entry.checkpoint).split("-")[2]) for entry in run.reports if entry.checkpoint is not None}
    assert written == {3, 6, 9, 12}


def test_a_class_is_refused_before_there_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(pb.TrainableError, match=r"Vectorised\(\) trains what popbandits.functional"):
        tuned(tmp_path / "run", trainable=models.Model)
    assert not (tmp_path / "run").exists()


def test_a_damaged_checkpoint_is_put_aside_and_what_it_held_is_trained_again(tmp_path: Path) -> None:
    for name in ("whole", "run"):
        tuned(tmp_path / name, every=2, intervals=6)
    newest = tmp_path / "run" / "checkpoints" / "all-interval-000006-1"
    (next(path for path in newest.iterdir() if path.name != "manifest.json")).write_bytes(b"")
    executor = pb.Vectorised(checkpoint_every=2)
    whole = pb.resume(tmp_path / "whole", intervals=9, executor=executor, progress=False)
    with pytest.warns(UserWarning, match="all-interval-000006-1 is damaged: .*; what it held is trained again"):
        run = pb.resume(tmp_path / "run", intervals=9, executor=executor, progress=False)
    assert run.history.score.tolist() == whole.history.score.tolist()
    assert any("is damaged" in note for note in run.status()["notes"])
    assert [path.name for path in newest.parent.glob(".damaged-*")] == [".damaged-all-interval-000006-1"]
    assert sound(tmp_path / "run")


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("stop", [1, 6])
def test_interrupted_and_resumed_it_is_the_same_run(tmp_path: Path, every: int, stop: int) -> None:
    whole = tuned(tmp_path / "whole", every=every)

    class Enough(pb.Callback):
        def on_entry(self, entry: Any) -> None:
            if (getattr(entry, "interval", 0), getattr(entry, "agent", 1)) == (stop, 0):
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        tuned(tmp_path / "run", every=every, callbacks=[Enough()])
    run = pb.resume(tmp_path / "run", executor=pb.Vectorised(checkpoint_every=every), progress=False)
    assert run.history.score.tolist() == whole.history.score.tolist()
    assert [entry.checkpoint for entry in run.reports] == [entry.checkpoint for entry in whole.reports]
    states = [pb.load_state(each.best.checkpoint) for each in (run, whole) if each.best.checkpoint is not None]
    if len(states) == 2:
        assert states[0]["w"].tolist() == states[1]["w"].tolist()
    assert sound(tmp_path / "run")


@pytest.mark.parametrize("point", ["before-commit:3", "published:6", "committed:4"])
def test_killed_anywhere_it_is_the_same_run(tmp_path: Path, point: str) -> None:
    whole = tuned(tmp_path / "whole", every=2)
    code = (
        "from pathlib import Path; from tests.run import test_vectorised as t\n"
        f"t.tuned(Path({str(tmp_path / 'run')!r}), every=2)"
    )
    environment = os.environ | {"POPBANDITS_FAILPOINT": point}
    killed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    run = pb.resume(tmp_path / "run", executor=pb.Vectorised(checkpoint_every=2), progress=False)
    assert run.history.score.tolist() == whole.history.score.tolist()
    assert sound(tmp_path / "run")


def test_the_best_state_can_be_opened(tmp_path: Path) -> None:
    run = tuned(tmp_path / "run")
    best = run.best
    assert best.checkpoint is not None
    state = pb.load_state(best.checkpoint, init(0))
    assert -np.abs(state["w"]).sum() == pytest.approx(best.score, rel=1e-5)
    assert state["steps"] == len(best.schedule)
    assert type(state["w"]).__module__.startswith("jax")
    with pytest.raises(pb.RunError, match="there is no state of a functional trainable"):
        pb.load_state(tmp_path / "nowhere")


def test_a_run_goes_on_where_it_was_begun_and_can_begin_where_another_ended(tmp_path: Path) -> None:
    run = tuned(tmp_path / "run")
    with pytest.raises(pb.RunError, match="resume it with executor=Vectorised"):
        pb.resume(tmp_path / "run", intervals=12, executor=pb.Inline(), progress=False)
    longer = pb.resume(tmp_path / "run", intervals=12, executor=pb.Vectorised(), progress=False)
    assert len(longer.history) == 48
    assert run.best.score <= longer.best.score


def test_agents_are_spread_over_devices_with_the_same_decisions(tmp_path: Path) -> None:
    alone = tuned(tmp_path / "alone")
    code = (
        "import jax; assert len(jax.devices()) == 4\n"
        "from pathlib import Path; from tests.run import test_vectorised as t\n"
        f"t.tuned(Path({str(tmp_path / 'spread')!r}))\n"
        "from popbandits.run._mapped import Mapped; import numpy as np\n"
        "mapped = Mapped(t.Agent, {}, 4); mapped.become(mapped.initial(dict(enumerate(range(4)))))\n"
        "hparams = {'lr': np.full(4, 0.1, np.float32), 'n': np.ones(4, np.int32), 'kind': np.zeros(4, np.int32)}\n"
        "hparams['net'] = {'depth': 3}\n"
        "for copies in ({}, {1: 0}, {2: 3}):\n"
        "    mapped.train(hparams, range(4), copies, dict.fromkeys(copies, 7))\n"
        "    mapped.replace(0, mapped.made(5))\n"
        "    kept = [leaf.addressable_shards[0].data.shape[0] for leaf in jax.tree.leaves(mapped._state)]\n"
        "    assert set(kept) == {1}, 'every device has one agent'\n"
        "assert mapped._interval._cache_size() == 1, 'compiled once'\n"
    )
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)
    spread = pb.load(tmp_path / "spread")
    assert [entry.checkpoint for entry in spread.reports] == [entry.checkpoint for entry in alone.reports]
    assert spread.lineage == alone.lineage
    assert spread.history.points.tolist() == alone.history.points.tolist()
    np.testing.assert_allclose(spread.history.score, alone.history.score, rtol=1e-5)


def branches(state: Any, hparams: Any) -> Any:
    return (state, 1.0) if hparams["lr"] > 0.1 else (state, 0.0)


def in_numpy(state: Any, hparams: Any) -> Any:
    return state, np.sqrt(hparams["lr"])


def grows(state: Any, hparams: Any) -> Any:
    return state | {"w": jnp.concatenate([state["w"], state["w"]])}, hparams["lr"]


def loses_a_part(state: Any, hparams: Any) -> Any:
    return {"w": state["w"]}, hparams["lr"]


def vector(state: Any, hparams: Any) -> Any:
    return state, state["w"]


def chooses_by_name(state: Any, hparams: Any) -> Any:
    return state, {"a": 1.0, "b": 2.0}[hparams["kind"]]


def asks_the_host(state: Any, hparams: Any) -> Any:
    return state, jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((), jnp.float32), hparams["lr"])


def tells_the_host(state: Any, hparams: Any) -> Any:
    jax.experimental.io_callback(print, None, hparams["lr"], ordered=True)
    return state, hparams["lr"]


def divides(state: Any, hparams: Any) -> Any:
    return state, hparams["lr"] * (1 // 0)


def says_nothing(state: Any, hparams: Any) -> Any:
    raise ValueError


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (asks_the_host, "leave calls of the host out of it"),
        (tells_the_host, "leave calls of the host out of it"),
        (divides, "step failed: ZeroDivisionError"),
        (says_nothing, "step cannot be mapped over agents: ValueError"),
        (lambda state, hparams: (state, hparams["lr"] * 1j), "a metric is a real number, but score is complex"),
        (branches, "step cannot be compiled: Attempted boolean conversion"),
        (in_numpy, "jnp in place of numpy"),
        (grows, "the state must keep its shapes"),
        (loses_a_part, "the state must keep its form"),
        (vector, r"a metric is one number, but score has the shape \(3,\)"),
        (chooses_by_name, "step cannot be mapped over agents: TypeError"),
        (lambda state, hparams: hparams["lr"], "it must return"),
    ],
)
def test_a_step_that_cannot_be_mapped_is_told_in_one_sentence(tmp_path: Path, bad: Any, said: str) -> None:
    with pytest.raises(pb.TrainableError, match=said) as raised:
        tuned(tmp_path / "run", pb.functional(init, bad))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (lambda seed: {"w": np.zeros(seed % 7 + 1)}, "init must make states of one form for all seeds"),
        (lambda seed: {"w": jnp.zeros((2**45,))}, "do not fit into the memory|init failed"),
        (lambda seed: {"w": [][seed]}, "init failed: IndexError"),
    ],
)
def test_an_init_that_cannot_be_mapped_is_told_in_one_sentence(tmp_path: Path, bad: Any, said: str) -> None:
    with pytest.raises(pb.TrainableError, match=said) as raised:
        tuned(tmp_path / "run", pb.functional(bad, step))
    assert "\n" not in str(raised.value)


def test_a_best_report_between_two_checkpoints_is_no_fault(tmp_path: Path) -> None:
    worse = pb.functional(
        lambda seed: {"t": jnp.float32(0)}, lambda state, hparams: ({"t": state["t"] + 1}, -state["t"])
    )
    run = tuned(tmp_path / "run", worse, every=3)
    assert (run.best.interval, run.best.checkpoint) == (1, None)
    assert sound(tmp_path / "run")
    with pytest.raises(pb.RunError, match="this report has no checkpoint"):
        pb.load_state(run.best.checkpoint)


def test_what_vectorised_cannot_do_is_refused(tmp_path: Path) -> None:
    from tests import models

    with pytest.raises(pb.TrainableError, match=r"trains what popbandits\.functional"):
        tuned(tmp_path / "class", models.Model)
    with pytest.raises(pb.OptionError, match="leave out sync=False"):
        tuned(tmp_path / "async", sync=False)
    assert not (tmp_path / "async").exists()
    with pytest.raises(pb.OptionError, match="checkpoint_every >= 1"):
        pb.Vectorised(checkpoint_every=0)
    keyed = pb.functional(lambda seed: {"key": jax.random.key(seed)}, step)
    with pytest.raises(pb.TrainableError, match="key_data"):
        tuned(tmp_path / "keyed", keyed)


@pytest.mark.slow
def test_ppo_of_the_bench_is_a_workload(tmp_path: Path) -> None:
    pytest.importorskip("gymnax")
    from popbandits.workloads import vectorised

    run = pb.tune(
        vectorised.Pendulum,
        vectorised.Pendulum.space,
        population=2,
        intervals=2,
        executor=pb.Vectorised(),
        directory=tmp_path / "run",
        progress=False,
    )
    assert run.columns()["score_error"][0] > 0
    assert sound(tmp_path / "run")


def test_executors_do_not_go_on_with_each_others_weights(tmp_path: Path) -> None:
    """Also before the first checkpoint, and whoever comes second."""

    class Enough(pb.Callback):
        def on_entry(self, entry: Any) -> None:
            if (getattr(entry, "interval", 0), getattr(entry, "agent", 1)) == (2, 0):
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        tuned(tmp_path / "mapped", every=100, callbacks=[Enough()])
    with pytest.raises(pb.RunError, match=r"was trained by Vectorised\(\)"):
        pb.resume(tmp_path / "mapped", executor=pb.Inline(), progress=False)
    alone = pb.functional(init, lambda state, hparams: (state, -float(np.abs(state["w"]).sum())))
    for sync, said in ((True, "was trained by another executor"), (False, "leave out sync=False")):
        folder = tmp_path / f"alone-{sync}"
        pb.tune(
            alone, SPACE, population=2, intervals=2, executor=pb.Inline(), directory=folder, progress=False, sync=sync
        )
        with pytest.raises(pb.PopbanditsError, match=said):
            pb.resume(folder, intervals=4, trainable=alone, executor=pb.Vectorised(), progress=False)


@pytest.mark.parametrize("strategy", [pb.PB2(), pb.ASHA(), pb.BayesOpt()])
def test_all_that_start_do_so_from_the_weights_given(tmp_path: Path, strategy: Any) -> None:
    given = pb.functional(lambda seed: init(seed) | {"w": jnp.zeros(3), "steps": 40}, step, reseed)
    first = tuned(tmp_path / "first", given, population=2, intervals=1)
    weights = first.best.checkpoint
    counted = pb.functional(init, counts, reseed)
    run = tuned(tmp_path / "run", counted, every=4, checkpoint=weights, strategy=strategy)
    ages = run.history.age.tolist()
    assert run.columns()["steps"] == [41 + age for age in ages]
    assert run.best.checkpoint is not None or strategy != pb.BayesOpt(), "the end is written, whoever trained last"


def counts(state: Any, hparams: Any) -> Any:
    after, metrics = step(state, hparams)
    return after, {"score": metrics["score"], "steps": after["steps"].astype(jnp.float32)}


def test_a_score_without_a_name_is_the_metric_that_was_asked_for(tmp_path: Path) -> None:
    plain = pb.functional(init, lambda state, hparams: (state, hparams["lr"]))
    run = tuned(tmp_path / "run", plain, metric="loss", mode="min", intervals=2)
    assert run.best.score == run.history.score.min()


def test_a_choice_that_is_compared_with_its_value_is_warned_of(tmp_path: Path) -> None:
    def by_value(state: Any, hparams: Any) -> Any:
        return state, -state["w"].sum() * (1.0 if hparams["kind"] == "a" else 0.0)

    with pytest.warns(UserWarning, match=r"does not use the Choice 'kind'.*compare it with 0, 1"):
        tuned(tmp_path / "run", pb.functional(init, by_value))


def test_a_replay_means_the_same_by_a_choice_as_the_run(tmp_path: Path) -> None:
    run = tuned(tmp_path / "run")
    again = pb.replay(run, seeds=2, directory=tmp_path / "again", progress=False)
    assert all("/" in str(entry.checkpoint) for entry in again.reports), "without a word it is trained as the run was"
    with pytest.raises(pb.RunError, match="the position of a Choice instead of its value"):
        pb.replay(run, seeds=2, executor=pb.Inline(), directory=tmp_path / "other", progress=False)
    assert not (tmp_path / "other").exists()


def test_a_resume_without_an_executor_goes_on_in_one_call(tmp_path: Path) -> None:
    tuned(tmp_path / "run", intervals=4)
    run = pb.resume(tmp_path / "run", intervals=6, progress=False)
    assert len(run.history) == 24
    assert sound(tmp_path / "run")
