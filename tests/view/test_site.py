"""The documentation as a site: built as `make docs` does, complete, and read in real Chromium."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from tests.view.conftest import ROOT, SHOTS
from tests.view.test_accessibility import WITHOUT_AXE, serious

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_in_it(site: Path) -> None:
    wanted = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert wanted <= {page.stem for page in site.glob("*.html")}
    nav = (ROOT / "mkdocs.yml").read_text()
    assert all(f"{name}.md" in nav for name in wanted)


def test_the_reference_has_every_public_name(site: Path) -> None:
    text = (site / "api.html").read_text()
    told = set(re.findall(r'<span class="doc doc-object-name [^"]*">([^<]+)</span>', text))
    assert set(pb.__all__) <= told


def test_a_page_is_read_and_searched_without_a_server(page: Any, site: Path) -> None:
    for name in ("index", "api", "study"):
        page.goto((site / f"{name}.html").as_uri())
        assert page.locator("h1").count() == 1
        page.screenshot(path=SHOTS / f"site-{name}.png")
    page.get_by_label("Search").fill("squared-exponential overlap kernel")
    page.get_by_role("link", name="In formulas").click()
    assert page.url.endswith("algorithm.html#in-formulas")
    page.set_viewport_size({"width": 360, "height": 740})
    for file in sorted(site.glob("*.html")):
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), file.name
    page.screenshot(path=SHOTS / "site-phone.png")


@WITHOUT_AXE
@pytest.mark.parametrize("name", ["index", "space", "api"])
def test_nothing_serious_bars_the_way(looking: Any, site: Path, name: str) -> None:
    looking.goto((site / f"{name}.html").as_uri())
    assert serious(looking) == []
