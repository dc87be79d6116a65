from pathlib import Path
from typing import Any

import pytest

from tests.faults._control import finish, told


@pytest.fixture(scope="session", name="undisturbed")
def _undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a run that nothing happened to decided."""
    return told(finish(tmp_path_factory.mktemp("undisturbed") / "run"))


@pytest.fixture(name="wish")
def _wish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ask the Faulty model for faults."""
    folder = tmp_path / "faults"
    folder.mkdir()
    monkeypatch.setenv("POPBANDITS_TEST_FAULTS", str(folder))

    def ask(*names: str) -> None:
        for name in names:
            (folder / name).touch()

    return ask
