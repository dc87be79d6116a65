"""The report of a run: one HTML file that needs nothing else, readable offline, on a phone and on paper.

All text from the run reaches the page as text: escaped in HTML, and as JSON that no script tag can end.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from popbandits._errors import OptionError
from popbandits.run import Run
from popbandits.view._beliefs import told
from popbandits.view._explained import standings, told_effects
from popbandits.view._format import number, with_error
from popbandits.view._html import cell, escaped, table
from popbandits.view.figures import compare_data, draw_compare, drawn, finished

_ROWS = 200  # intervals of a schedule that are shown; the command `schedule` has them all


def report(run: Run, drawings: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """Return the report of a run as HTML.

    Args:
        run: which.
        drawings: its figures, where they are already drawn.

    Raises:
        OptionError: when plotly is not installed.
    """
    status = run.status()
    sections = [_summary(run, status)]
    if status["best"] is not None:
        sections.append(_schedule(run))
    for name, drawing in (drawings or drawn(run)).items():
        if drawing["data"]:
            sections.append(_figure(name, drawing))
    if run.failures:
        sections.append(_failures(run))
    return _page(f"{run.directory.name}", sections)


def comparison(runs: Sequence[Run]) -> str:
    """Return a comparison of runs as HTML.

    Raises:
        OptionError: for runs that cannot be compared, or when plotly is not installed.
    """
    compared = compare_data(runs)
    rows = [[name, len(finals), number(float(np.median(finals)))] for name, finals in compared.finals.items()]
    shown = _wide(["strategy", "runs", f"median best {compared.metric}"], rows)
    return _page("Comparison", [f"<p>{escaped(compared.said)}</p>{shown}", _figure("compare", draw_compare(compared))])


def _summary(run: Run, status: Mapping[str, Any]) -> str:
    settings, best = run.settings, status["best"]
    facts: list[tuple[str, str]] = [
        ("state", f"{status['state']}, {status['reports']} of {status['budget']} intervals"),
        ("strategy", str(settings.strategy)),
        ("trainable", str(settings.target)),
        ("agents", f"{settings.size}, seed {settings.seed}, {'in step' if settings.sync else 'out of step'}"),
        ("failures", str(status["failures"])),
    ]
    if best is not None:
        score = with_error(best["score"], best["score_error"])
        facts.insert(
            1,
            ("best", f"{settings.metric} {score}, agent {best['agent']}, interval {best['interval']}"),
        )
    rows = "".join(f"<tr><th scope=row>{escaped(name)}</th><td>{escaped(value)}</td></tr>" for name, value in facts)
    model, explanation = run.beliefs, run.explanation
    standing = [[agent, words] for agent, words in standings(explanation).items()]
    agents = f"<h2>The agents</h2>{_wide(['agent', 'standing'], standing)}" if standing else ""
    agents += "" if explanation is None else _list(told_effects(explanation))
    lines = "" if model is None else f"<h2>The model</h2>{_list(told(model))}"
    return f"<table class=facts>{rows}</table>{agents}{lines}"


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escaped(line)}</li>" for line in lines) + "</ul>"


def _schedule(run: Run) -> str:
    schedule = [run.settings.space.flat(hparams) for hparams in run.best.schedule]
    names = list(schedule[0]) if schedule else []
    rows = [[i + 1, *(cell(hparams[name]) for name in names)] for i, hparams in enumerate(schedule[:_ROWS])]
    more = "" if len(schedule) <= _ROWS else f"<p>The first {_ROWS} of {len(schedule)} intervals.</p>"
    shown = _wide(["interval", *names], rows)
    return f"<details><summary>The schedule of the best weights</summary>{shown}{more}</details>"


def _failures(run: Run) -> str:
    items = []
    for entry in run.failures[-50:]:
        head = f"agent {entry.agent}, interval {entry.interval}: {entry.message}"
        trace = entry.traceback or "no traceback"
        items.append(f"<details><summary>{escaped(head)}</summary><pre>{escaped(trace, lines=True)}</pre></details>")
    return "<h2>Failures</h2>" + "".join(items)


def _figure(name: str, drawing: Mapping[str, Any]) -> str:
    title = str(drawing["layout"]["title"]["text"])
    data = json.dumps(finished(drawing), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<figure><div class=plot id="{name}" role=group aria-label="{escaped(title)}"></div>'
        f'<script type="application/json" data-for="{name}">{data}</script></figure>'
    )


def _wide(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table that scrolls by itself where the page is narrow."""
    return f"<div class=wide>{table(heads, rows)}</div>"


def _page(title: str, sections: Sequence[str]) -> str:
    try:
        plotly = resources.files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")
    except ModuleNotFoundError:
        raise OptionError("figures need plotly; pip install 'popbandits[view]'") from None
    here = resources.files("popbandits.view")
    names = ("page.css", "report.css", "drawing.js", "report.js")
    common, style, drawing, script = (here.joinpath(name).read_text(encoding="utf-8") for name in names)
    body = "\n".join(f"<section>{section}</section>" for section in sections)
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(title)} · popbandits</title><style>{common}{style}</style></head>\n"
        f"<body><main><h1>{escaped(title)}</h1>\n{body}\n</main>\n"
        f"<script>{plotly}</script>\n<script>{drawing}</script><script>{script}</script></body></html>\n"
    )
