"""What is released: the wheel and the sdist, in environments that have what an extra asks for and nothing else."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import popbandits as pb

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
USES = {
    "cli": "from popbandits.cli import main; import sys; sys.argv = ['popbandits', '--help']; main()",
    "view": "import popbandits.view, popbandits.view.dashboard",
    "png": "import popbandits.view, kaleido",
    "rl": "import popbandits.workloads.cnn, popbandits.workloads.ppo",
    "gymnax": "import popbandits.workloads.ppo_jax",
    "ray": "import popbandits.integrations.ray_tune",
    "sb3": "import popbandits.integrations.sb3",
    "lightning": "import popbandits.integrations.lightning",
    "transformers": "import popbandits.integrations.transformers",
    "tracking": "from popbandits.integrations import mlflow, tensorboard, wandb",
}
"""What every extra is for."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the sdist, the wheel made from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def environment(folder: Path, wheel: Path, extra: str | None) -> Path:
    """Return the interpreter of a new environment: the wheel, and links to what it and one extra ask for."""
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (metadata,) = site.glob("popbandits-*.dist-info")
    own = importlib.metadata.Distribution.at(metadata).requires or []
    for name in needed(own, {extra} if extra else set(), set(), own):
        distribution = importlib.metadata.distribution(name)
        for file in {path.parts[0] for path in distribution.files or () if path.parts[0] not in ("..", "__pycache__")}:
            there = Path(str(distribution.locate_file(file)))
            if there.exists() and not (site / file).exists():
                (site / file).symlink_to(there)
    return folder / "bin" / "python"


def needed(requires: list[str], extras: set[str], seen: set[str], own: list[str]) -> Iterator[str]:
    """Yield what one asks for with some extras, and what that asks for in turn; `own` is what the wheel asks for."""
    for text in requires:
        asked = Requirement(text)
        wanted = asked.marker is None or any(asked.marker.evaluate({"extra": extra}) for extra in {"", *extras})
        key = f"{asked.name}[{','.join(sorted(asked.extras))}]"
        if not wanted or key in seen:
            continue
        seen.add(key)
        if asked.name == "popbandits":
            yield from needed(own, asked.extras, seen, own)
            continue
        yield asked.name
        yield from needed(importlib.metadata.requires(asked.name) or [], asked.extras, seen, own)


def test_the_version_is_in_one_place(built: Path) -> None:
    assert "version" in PROJECT["dynamic"]
    assert f"popbandits-{pb.__version__}-py3-none-any.whl" in {file.name for file in built.iterdir()}


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"popbandits", f"popbandits-{pb.__version__}.dist-info"}
    assert {"popbandits/py.typed", "popbandits/view/dashboard/static/index.html"} <= set(names)


def test_the_first_example_runs_from_the_wheel_alone(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    python = environment(tmp_path / "env", wheel, None)
    example = re.search(r'```python title="quadratic.py"\n(.*?)```', (ROOT / "README.md").read_text(), re.DOTALL)
    assert example is not None
    (tmp_path / "quadratic.py").write_text(example[1])
    done = subprocess.run([python, "-I", "quadratic.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "'lr'" in done.stdout


@pytest.mark.parametrize("extra", USES)
def test_an_extra_alone_is_enough(built: Path, tmp_path: Path, extra: str) -> None:
    (wheel,) = built.glob("*.whl")
    python = environment(tmp_path / "env", wheel, extra)
    done = subprocess.run([python, "-I", "-c", USES[extra]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_every_extra_is_tried_and_all_has_them_all() -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(USES) == set(extras) - {"all", "demo", "dev", "bench"}
    (everything,) = (Requirement(text) for text in extras["all"])
    assert everything.extras == set(USES)
