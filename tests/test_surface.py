"""What users may rely on: the names, what an import brings in, and a map that is true."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

import popbandits as pb
from tests.private_imports import PrivateContract

ROOT = Path(__file__).parent.parent

SURFACE = {
    *("Space", "Float", "Int", "Choice"),
    *("Population", "Report", "Train", "Stop", "Decision"),
    *("PB2", "PBT", "RandomSearch", "ASHA", "BayesOpt"),
    *("PopbanditsError", "SpaceError", "BoundsError", "ChoiceError", "HparamsError", "OptionError"),
    *("ReportError", "UnknownAgentError", "OutOfTurnError", "ScoreError"),
    *("TrainableError", "DataError", "TrainingFailedError", "RunError", "StorageError"),
    *("Trainable", "functional", "check_trainable", "Callback"),
    *("tune", "resume", "load", "load_state", "replay", "Run", "Inline", "Processes", "Ray", "Vectorised"),
}


def test_the_public_surface_is_frozen() -> None:
    assert set(pb.__all__) == SURFACE


def test_every_error_is_a_popbandits_error_and_stands_in_the_tree() -> None:
    errors = [getattr(pb, name) for name in pb.__all__ if name.endswith("Error")]
    tree = Path(sys.modules["popbandits._errors"].__file__ or "").read_text().split('"""')[1]
    for error in errors:
        assert issubclass(error, pb.PopbanditsError)
        assert error.__name__ in tree


def test_importing_brings_in_numpy_and_nothing_else() -> None:
    code = "import sys, popbandits; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    foreign = {name for name in loaded if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert foreign <= {"popbandits", "numpy", "cython_runtime"}


def test_the_map_lists_the_layers_that_are_enforced() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    names = [name.split(".")[1] for line in contract for name in line.split(" | ")]
    text = (ROOT / "ARCHITECTURE.md").read_text()
    drawn = re.search(r"```text\nsrc/popbandits/\n(.*?)```", text, re.DOTALL)
    assert drawn is not None
    listed = [re.sub(r"/$|\.py$", "", line.split()[0]) for line in drawn[1].splitlines() if re.match(r"  \w", line)]
    assert listed == names[::-1]
    existing = {path.stem for path in (ROOT / "src/popbandits").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert set(listed) == existing - {"__init__", "__pycache__", "py"}


@pytest.mark.parametrize("path", sorted((ROOT / "src").rglob("*.py")), ids=lambda path: path.name)
def test_a_file_says_what_it_is_and_is_short(path: Path) -> None:
    text = path.read_text()
    assert text.startswith('"""')
    assert text.count("\n") <= 350


def test_the_contract_on_private_modules_notices_an_import_from_outside() -> None:
    graph = grimp.build_graph("popbandits")
    contract = PrivateContract(name="private", session_options={}, contract_options={})
    assert contract.check(graph, verbose=False).kept
    graph.add_import(importer="popbandits.view", imported="popbandits.run._log")
    graph.add_import(importer="popbandits.run._run", imported="popbandits.run._log")
    check = contract.check(graph, verbose=False)
    assert check.metadata["found"] == ["popbandits.view imports popbandits.run._log"]
