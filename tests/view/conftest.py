"""Real Chromium, driven by Playwright, and runs to look at. Screenshots are written to build/screenshots."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from tests import models
from tests.view.test_dashboard import served

ROOT = Path(__file__).parent.parent.parent
SHOTS = ROOT / "build" / "screenshots"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HOSTILE = "</script><img src=x onerror=window.hacked=1><b>bold</b>"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Hostile(models.Model):
    """Fails at times, and calls things by names that would act if they were taken for HTML."""

    def step(self, hparams: Any) -> Any:
        if hparams["lr"] > 0.5:
            raise ValueError(HOSTILE)
        return {HOSTILE: super().step({"lr": hparams["lr"], "kind": "a", "n": 4})["score"]}


@pytest.fixture(scope="session")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    pb.tune(models.Model, models.SPACE, population=4, intervals=6, executor=pb.Inline(), directory=folder / "calm")
    space = {"lr": pb.Float(0.01, 1.0), HOSTILE: pb.Choice(HOSTILE, "b")}
    pb.tune(
        Hostile,
        space,
        population=4,
        intervals=4,
        metric=HOSTILE,
        retries=0,
        executor=pb.Inline(),
        directory=folder / "hostile",
    )
    return folder


@pytest.fixture(scope="session")
def address(looked_at: Path) -> Iterator[str]:
    with served(str(looked_at), "--port", "0") as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if CHROMIUM is None and os.environ.get("CI") != "true":
        pytest.skip("Chromium is not installed; on Debian and Ubuntu: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    SHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page of which no console message, error or foreign request is accepted."""
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if _foreign(request.url) else None)
    yield page
    assert said == []
    assert page.evaluate("window.hacked") is None
    page.close()


def _foreign(url: str) -> bool:
    return not re.match(r"http://127\.0\.0\.1:|file:|data:|blob:", url)


@pytest.fixture(params=["light", "dark"])
def looking(request: pytest.FixtureRequest, browser: Any) -> Iterator[Any]:
    """A page in the light, and one in the dark."""
    page = browser.new_page(viewport={"width": 1100, "height": 900}, color_scheme=request.param)
    yield page
    page.close()
