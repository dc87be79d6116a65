"""The dashboard in real Chromium: first paint, how soon a report is seen, and what fifty open pages cost a run.

python -m benchmarks.dashboard [--pages 50] [--repeats 3]

The last is a ratio: the same run beside a dashboard that nobody looks at, and beside one that so many pages follow.
These pages are connections that follow the run's events and fetch after each what the page fetches, at the lowest
priority: fifty real ones would measure what Chromium takes for drawing, which is not the dashboard's cost.
"""

import argparse
import json
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import popbandits as pb
from benchmarks._speed import keep
from popbandits.view.figures import FIGURES

_POPBANDITS = [sys.executable, "-c", "import sys; sys.argv[0] = 'popbandits'; from popbandits.cli import main; main()"]
_TRAINABLE = '''
import time
import popbandits as pb

class Timed:
    """Trains by waiting a little, and tells when."""

    space = {"lr": pb.Float(1e-4, 1.0, log=True), "width": pb.Int(1, 64)}

    def __init__(self, seed):
        self.n = 0

    def step(self, hparams):
        self.n += 1
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            pass
        return {"score": self.n + hparams["lr"]}

    def save(self, path):
        (path / "n").write_text(str(self.n))

    def load(self, path):
        self.n = int((path / "n").read_text())
'''


@contextmanager
def _dashboard(folder: Path) -> Iterator[str]:
    command = [*_POPBANDITS, "dashboard", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)


@contextmanager
def _page() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser.new_page()
        browser.close()


def _training(folder: Path, name: str, seconds: float, intervals: int) -> subprocess.Popen[bytes]:
    file = folder / "timed.py"
    file.write_text(_TRAINABLE.replace("SECONDS", str(seconds)))
    options = ["--population", "4", "--intervals", str(intervals), "--workers", "1", "--dir", str(folder / name), "-q"]
    return subprocess.Popen([*_POPBANDITS, "run", f"{file}:Timed", *options], stdout=subprocess.DEVNULL)


def paint(address: str, run: str, page: Any) -> None:
    """Print when the list and a run are first painted, and when the run's texts and last figure are there."""
    for name, route in (("list", ""), ("run", f"#{run}")):
        page.goto("about:blank")
        page.goto(f"{address}{route}")
        page.wait_for_selector("#page table")
        texts = page.evaluate("performance.now()")
        first = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        line = f"{name}: first paint {first:.0f} ms, table {texts:.0f} ms"
        if route:
            page.wait_for_selector("[data-figure=timeline] .main-svg")
            line += f", all figures {page.evaluate('performance.now()'):.0f} ms"
        print(line, flush=True)
        keep(f"the dashboard's first paint, {name}", f"{first:.0f} ms")


def seen_after(folder: Path, address: str, page: Any) -> None:
    """Print how long after its commit a report is seen on the page, median and worst."""
    training = _training(folder, "watched", 0.5, 8)
    while not (folder / "watched" / "run.sqlite").exists():
        time.sleep(0.05)
    page.goto(f"{address}#watched")
    page.evaluate(
        """() => { window.shown = []; const page = document.getElementById("page");
        new MutationObserver(() => window.shown.push([Number(page.dataset.reports), Date.now() / 1000]))
          .observe(page, { attributes: true, attributeFilter: ["data-reports"] }); }"""
    )
    training.wait()
    page.wait_for_selector("#page[data-reports='32']")
    told = [entry.time for entry in pb.load(folder / "watched").reports]
    shown = [(int(n), at) for n, at in page.evaluate("window.shown") if n > 0]
    waits = [min(at for n, at in shown if n >= i + 1) - when for i, when in enumerate(told) if when > shown[0][1]]
    keep(
        "from a report's commit until the dashboard shows it",
        f"{statistics.median(waits):.2f} s (median), {max(waits):.2f} s at worst",
    )
    print(
        f"a report is seen after {statistics.median(waits):.2f} s (median of {len(waits)}), {max(waits):.2f} s at worst"
    )


def _follow(address: str, run: str, ended: threading.Event) -> None:
    """Do what a page does: follow the events, and fetch the details and every figure after each."""
    base = f"{address}api/runs/{run}"
    while not ended.is_set():
        try:
            with urllib.request.urlopen(f"{base}/events", timeout=20) as events:
                for line in events:
                    if ended.is_set():
                        return
                    if line.startswith(b"data:"):
                        for path in ("", *(f"/figures/{figure}" for figure in FIGURES)):
                            with urllib.request.urlopen(f"{base}{path}", timeout=20) as answer:
                                json.load(answer)
        except OSError:
            time.sleep(0.05)  # the run has not begun


_FOLLOWERS = """
import sys, threading, os
from benchmarks.dashboard import _follow
address, run, pages = sys.argv[1:]
os.nice(19)  # on a user's machine these are other machines, or a browser that nobody looks at
ended = threading.Event()
threads = [threading.Thread(target=_follow, args=(address, run, ended), daemon=True) for _ in range(int(pages))]
[thread.start() for thread in threads]
sys.stdin.read()
os._exit(0)
"""


def cost(folder: Path, address: str, pages: int, repeats: int) -> None:
    """Print the seconds of one run beside an idle dashboard, and beside one that pages follow."""
    seconds: dict[str, list[float]] = {"nobody looks": [], f"{pages} pages follow": []}
    for i in range(repeats):
        for what, times in seconds.items():
            run = re.sub(r"\W", "-", f"{what}-{i}")
            with ExitStack() as stack:
                if what.startswith(str(pages)):
                    command = [sys.executable, "-c", _FOLLOWERS, address, run, str(pages)]
                    stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE))
                begun = time.perf_counter()
                assert _training(folder, run, 0.25, 20).wait() == 0
                times.append(time.perf_counter() - begun)
    alone, followed = (statistics.median(times) for times in seconds.values())
    for what, times in seconds.items():
        print(f"80 reports, {what}: {' '.join(f'{t:.2f}' for t in times)} s")
    print(f"ratio {followed / alone:.3f}")
    what = f"a run that {pages} pages follow, against the same run that nobody looks at"
    keep(what, f"{followed:.1f} s", f"{alone:.1f} s", f"{followed / alone:.2f}x as long")


def main() -> None:
    """Measure all three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as there:
        folder = Path(there)
        subprocess.run([*_POPBANDITS, "run", "mixed", "--population", "4", "--dir", f"{folder}/seen", "-q"], check=True)
        with _dashboard(folder) as address:
            with _page() as page:
                paint(address, "seen", page)
                seen_after(folder, address, page)
            cost(folder, address, given.pages, given.repeats)


if __name__ == "__main__":
    main()
