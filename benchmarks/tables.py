"""The tables of README and docs, made from results/.

    make tables                            write them, and draw the figures that belong to them
    python -m benchmarks.tables --check    say what is not up to date, and change nothing

A table stands between two comments, `<!-- results: NAME -->` and `<!-- end of results -->`. What is between them is
replaced. A test holds every page against what this would write.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import _choosing, _real_show, _speed, study
from benchmarks.faults import Table
from popbandits.paper import METHODS, Row, draw, read_results, rows

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"(<!-- results: ([\w-]+) -->\n).*?(<!-- end of results -->)", re.DOTALL)
_TITLES = {
    "rs": "random search",
    "bo": "BO",
    "asha": "ASHA",
    "pbt": "PBT",
    "uniform": "uniform copying",
    "pb2-paper": "PB2 as in the paper",
    "pb2": "PB2",
}


def paper_table(experiment: str, after: int | None = None) -> Iterator[str]:
    """Yield an experiment of the paper as Markdown."""
    found = list(rows(read_results(Path("results")), experiment, after))
    if not found:
        yield f"There are no results of {experiment} yet; `make experiments` makes them."
        return
    methods = [method for method in METHODS if any(row.texts[method] for row in found)]
    yield f"| task | agents | measure | {' | '.join(_TITLES[method] for method in methods)} |"
    yield "|---" * (len(methods) + 3) + "|"
    for row in found:
        yield f"| {_task(row)} | {row.population} | {row.measure} | {' | '.join(row.texts[m] for m in methods)} |"


def _task(row: Row) -> str:
    return row.task if row.scale == 1 else f"{row.task}, {row.scale:g} of the budget"


def studied(*names: str) -> Iterator[str]:
    """Yield tables of the study as Markdown."""
    for name in names:
        yield from study.show_table(study.TABLES[name])


def versions() -> Iterator[str]:
    """Yield what `make test-versions` found."""
    file = ROOT / "results" / "versions.json"
    if not file.exists():
        yield "There are no results yet; `make test-versions` makes them."
        return
    yield "| Python | numpy | scipy | core tests |"
    yield "|---|---|---|---|"
    for row in json.loads(file.read_text()):
        yield f"| {row['python']} | {row['numpy']} | {row['scipy']} | {'all passed' if row['ok'] else row['tests']} |"


def faults() -> Iterator[str]:
    """Yield what `make faults` has tried, and how it ended."""
    file = ROOT / "results" / "faults.json"
    if not file.exists():
        yield "There are no results yet; `make faults` makes them."
        return
    yield from Table(json.loads(file.read_text())).lines()


def _everything() -> Iterator[str]:
    yield from studied(*(name for name in study.TABLES if not name.startswith(("bite", "quadratics"))))


GENERATORS: dict[str, Callable[[], Iterator[str]]] = {
    "speed": _speed.show,
    "versions": versions,
    "faults": faults,
    "real": _real_show.show,
    "real-together": _real_show.together,
    "choosing": _choosing.show_choosing,
    "bite": lambda: studied("bite", "bite-eight", "quadratics", "quadratics-eight"),
    "study": _everything,
    "table1": lambda: paper_table("table1"),
    "table1-half-way": lambda: paper_table("table1", 10),
    "robustness": lambda: paper_table("robustness"),
    "scaling": lambda: paper_table("scaling"),
    "impala": lambda: paper_table("impala"),
    "cifar10": lambda: paper_table("cifar10"),
}
"""What a block of that name holds."""


def updated(text: str) -> str:
    """Return a page with its tables as they are now."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{_body(found[2])}\n\n{found[3]}", text)


def _body(name: str) -> str:
    if name not in GENERATORS:
        raise SystemExit(f"there is no table {name!r}; there are {', '.join(GENERATORS)}")
    return "\n".join(GENERATORS[name]()).strip() or "There are no results yet; `make experiments` makes them."


def main() -> None:
    """Write the tables, or say which are not up to date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    stale = [page for page in PAGES if updated(page.read_text()) != page.read_text()]
    if given.check:
        sys.exit(f"not up to date: {', '.join(page.name for page in stale)}; run make tables" if stale else 0)
    for page in stale:
        page.write_text(updated(page.read_text()))
        print(page.relative_to(ROOT))
    for file in draw(Path("results"), ROOT / "docs" / "figures"):
        print(file.relative_to(ROOT))
    from benchmarks._real_figure import draw as draw_real

    draw_real(ROOT / "docs" / "real.svg")
    print("docs/real.svg")


if __name__ == "__main__":
    main()
