"""The dashboard and the report in real Chromium, driven by Playwright. Screenshots are written to build/screenshots."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from popbandits.view import report
from tests import models
from tests.view.test_dashboard import served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SHOTS = Path(__file__).parent.parent.parent / "build" / "screenshots"
HOSTILE = "</script><img src=x onerror=window.hacked=1><b>bold</b>"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

if CHROMIUM is None and os.environ.get("CI") != "true":
    pytest.skip("Chromium is not installed; on Debian and Ubuntu: apt-get install chromium", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


class Hostile(models.Model):
    """Fails at times, and calls things by names that would act if they were taken for HTML."""

    def step(self, hparams: Any) -> Any:
        if hparams["lr"] > 0.5:
            raise ValueError(HOSTILE)
        return {HOSTILE: super().step({"lr": hparams["lr"], "kind": "a", "n": 4})["score"]}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


@pytest.fixture(scope="module")
def address(shelf: Path) -> Iterator[str]:
    with served(str(shelf), "--port", "0") as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
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


def test_the_list_leads_to_a_run_with_its_figures(page: Any, address: str) -> None:
    page.goto(address)
    page.get_by_role("link", name="calm").click()
    page.wait_for_selector("[data-figure=timeline] .main-svg")
    shown = page.locator("figure:not([hidden])").count()
    assert shown == 7
    assert "24 of 24 intervals" in page.locator("#page").inner_text()
    page.screenshot(path=SHOTS / "run.png", full_page=True)


def test_hostile_texts_are_shown_as_text(page: Any, address: str) -> None:
    page.goto(f"{address}#hostile")
    page.wait_for_selector("[data-figure=timeline] .main-svg")
    text = page.locator("#page").inner_text()
    assert "<b>bold</b>" in text
    assert page.locator("#page b").count() == 0
    page.locator("summary").first.click()
    assert "ValueError" in page.locator("pre").first.inner_text()
    page.screenshot(path=SHOTS / "hostile.png", full_page=True)


def test_a_run_is_followed_while_it_trains(page: Any, address: str, shelf: Path) -> None:
    code = (
        "import popbandits as pb; from tests import models\n"
        f"pb.tune(models.Slow, models.SPACE, population=4, intervals=40, executor=pb.Inline(),"
        f" directory={str(shelf / 'live')!r})"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parent.parent.parent) as training:
        try:
            for _ in range(200):
                if (shelf / "live" / "run.sqlite").exists():
                    break
                page.wait_for_timeout(50)
            page.goto(f"{address}#live")
            first = reports_beyond(page, 0)
            assert reports_beyond(page, first) > first
        finally:
            training.terminate()


def reports_beyond(page: Any, n: int) -> int:
    """The number of reports that the page shows, once it is more than n."""
    for _ in range(200):
        shown = int(page.locator("#page").get_attribute("data-reports") or 0)
        if shown > n:
            return shown
        page.wait_for_timeout(50)
    raise AssertionError(f"the page still shows {n} reports")


def test_the_keyboard_is_enough(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("table")
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "calm":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-figure=curves] .main-svg")
    assert page.evaluate("location.hash") == "#calm"


def test_a_phone_and_the_dark(browser: Any, address: str) -> None:
    wanted: dict[str, dict[str, Any]] = {
        "phone": {"viewport": {"width": 360, "height": 740}},
        "dark": {"viewport": {"width": 1100, "height": 900}, "color_scheme": "dark"},
    }
    for name, options in wanted.items():
        page = browser.new_page(**options)
        page.goto(f"{address}#calm")
        page.wait_for_selector("[data-figure=timeline] .main-svg")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.screenshot(path=SHOTS / f"{name}.png", full_page=True)
        if name == "dark":
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(23, 23, 27)"
        page.close()


def test_a_run_that_is_not_there_is_told(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}#nothing")
    assert page.get_by_role("alert").inner_text() == "This cannot be shown: there is no such run"
    page.close()


@pytest.mark.parametrize("name", ["calm", "hostile"])
def test_the_report_opens_from_a_file(page: Any, shelf: Path, tmp_path: Path, name: str) -> None:
    file = tmp_path / "report.html"
    file.write_text(report(pb.load(shelf / name)))
    page.goto(file.as_uri())
    page.wait_for_selector("#timeline .main-svg")
    assert page.locator(".plot .main-svg").count() >= 7
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot(path=SHOTS / f"report-{name}.png", full_page=True)
