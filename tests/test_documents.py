"""Every code block of README and docs runs, every docstring example is true, and no link leads nowhere."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from benchmarks.study import show

import popbandits
from popbandits.cli._paper import _summary
from popbandits.paper import read_results
from tests.documents import KINDS, ROOT, blocks, check_inline, run_page

PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
ON_RAY = ("ray.md", "coming-from-ray-tune.md")


def modules() -> list[str]:
    found = pkgutil.walk_packages(popbandits.__path__, "popbandits.")
    return [module.name for module in found]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.xdist_group("ray")] if page.name in ON_RAY else [])
        for page in PAGES
        if any(block.kind != "text" for block in blocks(page))
    ],
)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    run_page(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page: Path) -> None:
    assert {block.kind for block in blocks(page)} <= set(KINDS)
    assert page.read_text().count("\n```") == 2 * len(blocks(page))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_spoken_of_are_there(page: Path) -> None:
    check_inline(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("name", modules())
def test_docstring_examples_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_the_studys_tables_are_those_of_its_results() -> None:
    page = (ROOT / "docs" / "study.md").read_text()
    for line in show():
        assert line in page


@pytest.mark.parametrize(("page", "after"), [("README.md", None), ("docs/paper.md", None), ("docs/paper.md", 10)])
def test_the_tables_of_real_training_are_those_of_the_results(page: str, after: int | None) -> None:
    found = [r for r in read_results(ROOT / "results") if r.cell.experiment == "table1" and r.cell.scale == 1]
    assert found
    text = (ROOT / page).read_text()
    for key in {(r.cell.task, r.cell.population, r.cell.method) for r in found}:
        own = [r for r in found if (r.cell.task, r.cell.population, r.cell.method) == key]
        assert _summary(own, 0, after) in text, f"{page} is not what `popbandits paper show` prints of {key}"
