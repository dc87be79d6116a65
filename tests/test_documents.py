"""Every code block of README and docs runs, every docstring example is true, and no link leads nowhere."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import popbandits
from benchmarks import tables
from tests.documents import KINDS, ROOT, blocks, check_inline, run_page

PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
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


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.name)
def test_tables_are_those_of_the_results(page: Path) -> None:
    """`make tables` brings them up to date."""
    assert tables.updated(page.read_text()) == page.read_text()


def test_every_table_is_on_some_page() -> None:
    pages = "".join(page.read_text() for page in tables.PAGES)
    assert all(f"<!-- results: {name} -->" in pages for name in tables.GENERATORS)
