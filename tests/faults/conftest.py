"""What tests of faults share: a run that nothing happened to, wishes for faults, and the table of what was tried."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.faults import Table
from tests.faults._control import ROOT, finish, told

RESULTS = ROOT / "results" / "faults.json"


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


@pytest.fixture(name="tried")
def _tried(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Count how one of many faults that a test tries has ended."""
    found: dict[str, int] = {}  # a plain dict, since pytest-xdist sends no other
    request.node.user_properties.append(("outcomes", found))

    def count(outcome: str) -> None:
        found[outcome] = found.get(outcome, 0) + 1

    return count


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the report of a test carry the name of its fault, also from a worker of pytest-xdist."""
    for item in items:
        for mark in item.iter_markers("fault"):
            item.user_properties.append(("fault", mark.args[0]))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how often each fault was injected, and how that ended; keep it when all faults were injected."""
    table = Table.of(
        report for kind in ("passed", "failed", "skipped", "error") for report in terminalreporter.stats.get(kind, [])
    )
    if table.rows:
        terminalreporter.write_line("")
        for line in table.lines():
            terminalreporter.write_line(line)
        if os.environ.get("POPBANDITS_ALL_FAULTS"):
            table.write(RESULTS)
