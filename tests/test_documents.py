"""Every code block of README and docs runs, every docstring example is true, and no link leads nowhere."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import popbandits

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def modules() -> list[str]:
    found = pkgutil.walk_packages(popbandits.__path__, "popbandits.")
    return [module.name for module in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_blocks_of_a_page_run_from_top_to_bottom(page: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("name", modules())
def test_docstring_examples_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
