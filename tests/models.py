"""Trainables for tests, importable by workers. Faults are asked for by files in the folder POPBANDITS_TEST_FAULTS."""

import contextlib
import os
import re
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import popbandits as pb

SPACE = pb.Space({"lr": pb.Float(1e-3, 1.0, log=True), "kind": pb.Choice("a", "b"), "n": pb.Int(1, 4)})


class Model:
    """Deterministic, with random state of its own that a checkpoint must carry."""

    space = SPACE

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.w = 1.0 + self.rng.random()

    def step(self, hparams: Any) -> Any:
        self.w *= 1.0 - 0.3 * hparams["lr"] * (1.0 if hparams["kind"] == "a" else 0.8) * hparams["n"] / 4
        self.noise = float(self.rng.standard_normal())
        return {"score": -self.w + 0.01 * self.noise, "w": self.w}

    def save(self, path: Path) -> None:
        state = self.rng.bit_generator.state["state"]
        (path / "state").write_text(f"{self.w!r} {state['state']} {state['inc']}")

    def load(self, path: Path) -> None:
        w, state, inc = (path / "state").read_text().split()
        self.w = float(w)
        whole: Any = self.rng.bit_generator.state
        whole["state"] = {"state": int(state), "inc": int(inc)}
        self.rng.bit_generator.state = whole


_NOTHING = object()


class Faulty(Model):
    """Does what the files in the fault folder ask for, once for each file: `step-raise-1`, `save-kill-1`, …"""

    def step(self, hparams: Any) -> Any:
        wished = _faults("step")
        return super().step(hparams) if wished is _NOTHING else wished

    def save(self, path: Path) -> None:
        super().save(path)
        _faults("save")

    def load(self, path: Path) -> None:
        _faults("load")
        super().load(path)


def _faults(method: str) -> Any:
    folder = Path(os.environ["POPBANDITS_TEST_FAULTS"])
    for wish in sorted(folder.glob(f"{method}-*")):
        try:
            wish.unlink()  # whoever removes it does it
        except FileNotFoundError:
            continue
        what = wish.name.split("-")[1]
        if what == "raise":
            raise ValueError("asked for\nin two lines")
        if what == "kill":
            os.kill(os.getpid(), 9)
        if what == "hang":
            time.sleep(3600)
        if what == "memory":
            raise MemoryError
        return {"none": None, "text": "1.0", "list": [1.0], "empty": {}, "nan": float("nan")}[what]
    return _NOTHING


class Slow(Model):
    """Takes its time, so that a test can interrupt it."""

    def step(self, hparams: Any) -> Any:
        time.sleep(0.05)
        return super().step(hparams)


class MinusZero(Model):
    def step(self, hparams: Any) -> Any:
        return -0.0


class NotANumber(Model):
    def step(self, hparams: Any) -> Any:
        return float("nan")


class AlwaysFails(Model):
    def step(self, hparams: Any) -> Any:
        raise RuntimeError("this never works")


class Forgetful(Model):
    """Does not save its random state."""

    def save(self, path: Path) -> None:
        (path / "state").write_text(repr(self.w))

    def load(self, path: Path) -> None:
        self.w = float((path / "state").read_text())


class Stubborn(Model):
    """Says that it trains with a learning rate of its own."""

    def hparams_in_effect(self) -> dict[str, Any]:
        return {"lr": 0.123}


class Greedy(Model):
    """Takes its hparams out of the dict it was given."""

    def step(self, hparams: Any) -> Any:
        return super().step({name: hparams.pop(name) for name in list(hparams)})


class Parent(Model):
    """Starts a child that outlives a step, and says who it is."""

    def step(self, hparams: Any) -> Any:
        child = subprocess.Popen(["sleep", "1000"])
        (Path(os.environ["POPBANDITS_TEST_FAULTS"]) / f"child-{child.pid}").touch()
        time.sleep(0.1)
        return super().step(hparams)


class Detaches(Model):
    """Starts a child in a session of its own, which no signal to the worker's group reaches, and says who it is."""

    def step(self, hparams: Any) -> Any:
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        (Path(os.environ["POPBANDITS_TEST_FAULTS"]) / f"child-{child.pid}").touch()
        time.sleep(0.1)
        return super().step(hparams)


class WritesEverywhere(Faulty):
    """When asked to, writes into every descriptor that there is."""

    def step(self, hparams: Any) -> Any:
        for wished in Path(os.environ["POPBANDITS_TEST_FAULTS"]).glob("stray-*"):
            wished.unlink()
            for descriptor in range(3, 64):
                with contextlib.suppress(OSError):
                    os.write(descriptor, wished.name.partition("-")[2].encode())
        return super().step(hparams)


class ForksAndDies(Faulty):
    """When asked to, forks a child that holds all its pipes, and dies."""

    def step(self, hparams: Any) -> Any:
        if list(Path(os.environ["POPBANDITS_TEST_FAULTS"]).glob("step-kill-*")) and os.fork() == 0:
            time.sleep(5)
            os._exit(0)
        return super().step(hparams)


class NeverLetsGo(Model):
    """Holds the interpreter for longer than any test, and says that it has begun."""

    def step(self, hparams: Any) -> Any:
        (Path(os.environ["POPBANDITS_TEST_FAULTS"]) / f"holds-{os.getpid()}").touch()
        re.fullmatch("(a+)+b", "a" * 60)
        return super().step(hparams)


class DiesIdle(Model):
    """Dies a little after it has reported, once."""

    def save(self, path: Path) -> None:
        super().save(path)
        wish = Path(os.environ["POPBANDITS_TEST_FAULTS"]) / "idle"
        if wish.exists():
            wish.unlink()
            threading.Timer(0.15, os._exit, [1]).start()


class OneBadAgent(Model):
    """Agents whose first weights are above the middle never get through a step."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.bad = self.w > 1.6

    def step(self, hparams: Any) -> Any:
        if self.bad:
            raise RuntimeError("always this one")
        time.sleep(0.2)
        return super().step(hparams)

    def load(self, path: Path) -> None:
        super().load(path)
        self.bad = False


class Infinite(Model):
    def step(self, hparams: Any) -> Any:
        score = super().step(hparams)["score"]
        return float("inf") if self.w > 1.5 else score


class KeepsItsRate(Model):
    """Trains with the first learning rate it was given, whatever comes later."""

    first: float | None = None

    def step(self, hparams: Any) -> Any:
        self.first = self.first or hparams["lr"]
        return super().step(dict(hparams) | {"lr": self.first, "n": 4, "kind": "a"})

    def save(self, path: Path) -> None:
        super().save(path)
        (path / "first").write_text(repr(self.first))

    def load(self, path: Path) -> None:
        super().load(path)
        self.first = float((path / "first").read_text())


class OwnManifest(Model):
    def save(self, path: Path) -> None:
        super().save(path)
        (path / "manifest.json").write_text("{}")


class NoSeed(Model):
    def __init__(self) -> None:
        super().__init__(0)


class NoLoad:
    def __init__(self, seed: int) -> None: ...
    def step(self, hparams: Any) -> float:
        return 0.0

    def save(self, path: Path) -> None: ...


def init(seed: int) -> Any:
    return {"w": np.full(3, 1.0 + seed % 7), "steps": 0, "pair": (np.float32(2.0), [None, "x"])}


def step(state: Any, hparams: Any) -> Any:
    w = state["w"] * (1 - 0.3 * hparams["lr"])
    return state | {"w": w, "steps": state["steps"] + 1}, {"score": -float(w.sum())}


FUNCTIONAL = pb.functional(init, step)


class Reseedable(Model):
    """Says how sure its score is, and draws numbers of its own when it is a copy."""

    def step(self, hparams: Any) -> Any:
        return super().step(hparams) | {"score_error": 0.01, "noise": self.noise}

    def reseed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
