"""A strategy of a user's own: trained with, resumed, verified, and refused where it could not be kept."""

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import popbandits as pb
from popbandits.cli._app import app
from popbandits.run import verify
from popbandits.strategies import Beliefs, Decision, Elsewhere, Stop, View, keep, near, spent, start_at_random
from tests import models
from tests.drive import Interrupt

SOURCE = (Path(__file__).parent.parent.parent / "docs/write-a-strategy.md").read_text()
PATIENT = SOURCE.partition('```python title="patient.py"\n')[2].partition("```")[0]


@dataclass(frozen=True)
class Stays:
    """Every agent goes on; the options are there to be kept."""

    names: tuple[str, ...] = ()
    other: Any = None

    def start(self, view: View) -> Decision:
        return start_at_random(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        return Decision(tuple(Stop(agent) if spent(view, agent) else keep(view, agent) for agent in due))


class NoDataclass:
    start, decide = Stays.start, Stays.decide


class Stubborn(Stays):
    def __init__(self) -> None:
        super().__init__(())


def tune(folder: Path, strategy: Any, **given: Any) -> pb.Run:
    options: dict[str, Any] = {"population": 4, "intervals": 6, "executor": pb.Inline()} | given
    return pb.tune(models.Model, models.SPACE, strategy=strategy, directory=folder, **options)


def test_it_is_interrupted_resumed_and_verified_like_ours(tmp_path: Path) -> None:
    (tmp_path / "patient.py").write_text(PATIENT)
    strategy = pb.strategies.make_strategy(f"{tmp_path}/patient.py:Patient", every=2)
    with pytest.raises(KeyboardInterrupt):
        tune(tmp_path / "run", strategy, callbacks=[Interrupt(10)])
    run = pb.resume(tmp_path / "run", executor=pb.Inline())
    assert run.finished
    assert [finding.text for finding in verify(run.directory) if not finding.ok] == []
    assert run.settings.strategy == Elsewhere(f"{tmp_path}/patient.py:Patient", {"every": 2, "spread": 0.1})
    assert run.lineage, "it has copied"


def test_looking_at_a_run_imports_nothing_and_resuming_it_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "patient.py").write_text(PATIENT)
    strategy = pb.strategies.make_strategy(f"{tmp_path}/patient.py:Patient")
    with pytest.raises(KeyboardInterrupt):
        tune(tmp_path / "run", strategy, callbacks=[Interrupt(5)])
    (tmp_path / "patient.py").unlink()
    del sys.modules["_popbandits_patient"]
    run = pb.load(tmp_path / "run")
    assert run.status()["reports"] == len(run.history) > 0
    assert str(run.settings.strategy) == "Patient(every=3, spread=0.1)"
    with pytest.raises(pb.OptionError, match=r"there is no file .*patient\.py"):
        pb.resume(tmp_path / "run", executor=pb.Inline())


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (NoDataclass(), "NoDataclass is no dataclass"),
        (Stubborn(), "Stubborn cannot be made from its options"),
        (Stays(other=object()), "as JSON, but those of .*Stays are not"),
        (Stays(other=float("nan")), "as JSON, but those of .*Stays are not"),
        (Stays(names=("a", "b")), r"names=\('a', 'b'\) of .*Stays comes back as \['a', 'b'\]"),
    ],
    ids=["no dataclass", "stubborn", "object", "nan", "tuple"],
)
def test_one_that_cannot_be_kept_is_refused_before_there_is_a_folder(tmp_path: Path, strategy: Any, words: str) -> None:
    with pytest.raises(pb.OptionError, match=words):
        tune(tmp_path / "run", strategy)
    assert not (tmp_path / "run").exists()


def test_one_that_was_defined_in_a_function_is_refused(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Inside(Stays):
        pass

    with pytest.raises(pb.OptionError, match="defined inside a function"):
        tune(tmp_path / "run", Inside())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--strategy", "nowhere:Class"], "there is no module 'nowhere'"),
        (
            ["--strategy", "tests.run.test_own_strategy:Nothing"],
            "no class of that name with a method `decide`",
        ),
        (["--strategy", "tests.run.test_own_strategy:Stays", "--option", "nmes=1"], "cannot be made with the options"),
        (["--strategy", "pbt", "--option", "quantil=0.1"], "did you mean 'quantile'"),
        (["--strategy", "pbt", "--option", "quantile"], "--option takes name=value, but got 'quantile'"),
        (["--strategy", "pb3"], "or module:Class, but got 'pb3'; did you mean 'pbt'?"),
    ],
)
def test_the_command_line_says_what_is_wrong(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(app, ["run", "mixed", "--dir", str(tmp_path / "run"), *arguments])
    assert done.exit_code != 0
    assert words in " ".join((done.output + str(done.exception)).split())
    assert not (tmp_path / "run").exists()


def test_options_of_ours_can_be_given_too(tmp_path: Path) -> None:
    given = ["--strategy", "pbt", "--option", "quantile=0.5", "--intervals", "2", "--executor", "inline", "-q"]
    done = CliRunner().invoke(app, ["run", "mixed", "--dir", str(tmp_path / "run"), *given])
    assert done.exit_code == 0, done.output
    assert pb.load(tmp_path / "run").settings.strategy == pb.PBT(quantile=0.5)


@dataclass(frozen=True)
class Stumbles(Stays):
    """Raises at its third decision, while a file is there."""

    mark: str = ""

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        if len(view.history) >= 8 and Path(self.mark).exists():
            raise ZeroDivisionError("asked for")
        return super().decide(view, due)


def test_one_that_raises_is_named_and_the_run_goes_on_once_it_is_mended(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    mark.touch()
    said = r"the strategy Stumbles could not decide: ZeroDivisionError: asked for \(test_own_strategy.py, line \d+"
    with pytest.raises(pb.RunError, match=said):
        tune(tmp_path / "run", Stumbles(names=[], mark=str(mark)))  # type: ignore[arg-type]
    assert len(pb.load(tmp_path / "run").history) == 8
    mark.unlink()
    assert pb.resume(tmp_path / "run", executor=pb.Inline()).finished


@pytest.mark.parametrize("spread", [0.0, 0.2])
def test_hparams_near_a_donors_are_near_in_every_coordinate_that_has_an_order(spread: float) -> None:
    population = pb.Population(models.SPACE, pb.RandomSearch(), size=2, intervals=9)
    population.start()
    for agent in (0, 1):
        population.tell(agent, float(agent))
    history = population.history
    view = View(population.space, 2, 9, 0, history, (0, 1), {}, {})
    for seed in range(30):
        point = population.space.encode(near(replace(view, seed=seed), 0, 1, spread))
        off = np.abs(point - history.points[0])[~population.space.is_choice]
        assert (off <= 5 * spread + 0.13).all(), "an Int of four values is rounded by up to an eighth"
        if spread == 0.0:
            assert np.allclose(point, history.points[0])


LISTED: Any = []  # names that come back from JSON as they were


@dataclass(frozen=True)
class Telling(Stays):
    """Says what it believes."""

    def beliefs(self, notes: Any, space: Any, size: int) -> Beliefs:
        return Beliefs(0.5, {}, 1.0, 0.1, None, size, size, 0, ("mine",))


def test_what_it_says_is_shown_where_it_is_in_memory_and_nothing_is_imported_elsewhere(tmp_path: Path) -> None:
    run = tune(tmp_path / "run", Telling(LISTED))
    assert run.beliefs is not None
    assert run.beliefs.warnings == ("mine",)
    code = f"import popbandits as pb, sys; print(pb.load({str(run.directory)!r}).beliefs, 'tests' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout == "None False\n"


@dataclass
class Changing:
    """Can be changed while a run goes on."""

    start, decide = Stays.start, Stays.decide


class Unready(Stays):
    start = None  # type: ignore[assignment]  # the very thing that is refused


class Vague(Stays):
    def decide(self, view: View, due: tuple[int, ...]) -> Any:
        return list(super().decide(view, due))


class Noting(Stays):
    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        return replace(super().decide(view, due), notes={"view": view})


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (Changing(), "Changing is a dataclass that can change; decorate it with"),
        (Unready(), "an instance with `start` and `decide`"),
        (Vague(LISTED), r"Vague could not decide: OptionError: a strategy returns a Decision, but Vague returned \["),
        (
            Noting(LISTED),
            "Noting could not decide: OptionError: the notes of a decision are plain JSON, but those of Noting",
        ),
    ],
    ids=["changing", "unready", "vague", "noting"],
)
def test_what_a_strategy_must_be_is_said_in_one_sentence(tmp_path: Path, strategy: Any, words: str) -> None:
    with pytest.raises(pb.PopbanditsError, match=words):
        tune(tmp_path / "run", strategy)
