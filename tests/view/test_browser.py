"""The dashboard and the report in real Chromium."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import popbandits as pb
from popbandits.view import report
from popbandits.view.figures import FIGURES
from tests.view.conftest import ROOT, SHOTS
from tests.view.test_dashboard import COMMAND

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def test_the_list_leads_to_a_run_with_its_figures(page: Any, address: str) -> None:
    page.goto(address)
    page.get_by_role("link", name="calm").click()
    page.wait_for_selector("[data-figure=timeline] .main-svg")
    shown = page.locator("figure:not([hidden])").count()
    assert shown == 7
    assert "24 of 24 intervals" in page.locator("#page").inner_text()
    page.screenshot(path=SHOTS / "run.png", full_page=True)


def test_the_token_does_not_stay_in_the_address(page: Any, address: str) -> None:
    page.goto(f"{address}?token=secret#calm")
    page.wait_for_selector("[data-figure=timeline] .main-svg")
    assert page.url == f"{address}#calm"


def test_hostile_texts_are_shown_as_text(page: Any, address: str) -> None:
    page.goto(f"{address}#hostile")
    page.wait_for_selector("[data-figure=timeline] .main-svg")
    text = page.locator("#page").inner_text()
    assert "<b>bold</b>" in text
    assert page.locator("#page b").count() == 0
    page.locator("summary").first.click()
    assert "ValueError" in page.locator("pre").first.inner_text()
    with page.expect_response("**/figures/*"):  # asked for after the list of failures is written again
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    assert "ValueError" in page.locator("pre").first.inner_text(), "bringing the page up to date folded it"
    page.screenshot(path=SHOTS / "hostile.png", full_page=True)


def test_a_run_is_followed_while_it_trains(page: Any, address: str, looked_at: Path) -> None:
    code = (
        "import popbandits as pb; from tests import models\n"
        f"pb.tune(models.Slow, models.SPACE, population=4, intervals=4000, executor=pb.Inline(),"
        f" directory={str(looked_at / 'live')!r})"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as training:
        try:
            for _ in range(200):
                if (looked_at / "live" / "run.sqlite").exists():
                    break
                page.wait_for_timeout(50)
            page.goto(f"{address}#live")
            first = reports_beyond(page, 0)
            assert reports_beyond(page, first) > first
            # A page that nobody sees asks for nothing, and catches up when it is looked at.
            page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            asleep = int(page.locator("#page").get_attribute("data-reports"))
            while len(pb.load(looked_at / "live").history) < asleep + 20:
                page.wait_for_timeout(100)
            assert asked == []
            page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
            assert reports_beyond(page, asleep + 19) > asleep
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
    assert (
        page.get_by_role("alert").filter(has_text="cannot be shown").inner_text()
        == "This cannot be shown: there is no such run"
    )
    page.close()


@pytest.mark.parametrize("name", ["calm", "hostile"])
def test_the_report_opens_from_a_file(page: Any, looked_at: Path, tmp_path: Path, name: str) -> None:
    file = tmp_path / "report.html"
    file.write_text(report(pb.load(looked_at / name)))
    page.goto(file.as_uri())
    page.wait_for_selector("#timeline .main-svg")
    assert page.locator(".plot .main-svg").count() >= 7
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot(path=SHOTS / f"report-{name}.png", full_page=True)


def test_figures_are_written_as_png(browser: Any, looked_at: Path, tmp_path: Path) -> None:
    arguments = ["report", str(looked_at / "hostile"), "--png", str(tmp_path / "figures")]
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 1 + len(FIGURES)
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names == sorted(f"{name}.png" for name in FIGURES)
    for path in (tmp_path / "figures").iterdir():
        with Image.open(path) as image:
            assert image.width == 1800
            assert len(set(image.convert("L").resize((90, 42)).tobytes())) > 8, "nothing is drawn on it"


@pytest.mark.parametrize(
    ("missing", "told"), [("kaleido", "pip install 'popbandits[png]'"), ("a browser", "apt-get install chromium")]
)
def test_what_png_files_lack_is_told(browser: Any, looked_at: Path, tmp_path: Path, missing: str, told: str) -> None:
    arguments = ["popbandits", "report", str(looked_at / "calm"), "--png", str(tmp_path / "figures")]
    code = f"import sys, os; sys.argv = {arguments!r}\n"
    code += (
        "os.environ['BROWSER_PATH'] = '/nowhere'\n" if missing == "a browser" else f"sys.modules[{missing!r}] = None\n"
    )
    code += "from popbandits.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
