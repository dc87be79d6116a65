"""What axe-core finds on our pages, in real Chromium: nothing serious, in the light and in the dark."""

import os
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from popbandits.view import comparison, report
from tests.view.conftest import ROOT

AXE = ROOT / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js"

WITHOUT_AXE = pytest.mark.skipif(
    not AXE.exists() and os.environ.get("CI") != "true",
    reason="axe-core is not installed; `make browser` does it where there is npm",
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("browser"),
    WITHOUT_AXE,
]


def serious(page: Any) -> list[str]:
    """Return what axe-core finds serious or critical: the rule and the first place."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    assert found["passes"], "axe has looked at nothing"
    return [
        f"{one['id']}: {one['nodes'][0]['html']}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("route", ["", "#calm", "#hostile"])
def test_the_dashboard(looking: Any, address: str, route: str) -> None:
    looking.goto(f"{address}{route}")
    looking.wait_for_selector("[data-figure=timeline] .main-svg" if route else "table")
    assert serious(looking) == []


def test_the_report(looking: Any, looked_at: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(report(pb.load(looked_at / "hostile")))
    looking.goto(file.as_uri())
    looking.wait_for_selector("#timeline .main-svg")
    assert serious(looking) == []


def test_a_comparison(looking: Any, looked_at: Path, tmp_path: Path) -> None:
    file = tmp_path / "compare.html"
    file.write_text(comparison([pb.load(looked_at / "calm")]))
    looking.goto(file.as_uri())
    looking.wait_for_selector(".main-svg")
    assert serious(looking) == []
