"""The table of faults: how often each was injected, and how that ended."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VIOLATED = "a promise was broken"
NOT_RUN = "could not be tried"


@dataclass(frozen=True)
class Table:
    """What was tried.

    Args:
        rows: for each fault, how often it ended in which way.
    """

    rows: dict[str, dict[str, int]]

    @classmethod
    def of(cls, reports: Iterable[Any]) -> "Table":
        """Return the table of pytest's reports; each carries the name of its fault and the outcomes it has counted."""
        rows: dict[str, Counter[str]] = {}
        for report in reports:
            known = dict(getattr(report, "user_properties", ()))
            if "fault" not in known or not (report.when == "call" or report.skipped or report.failed):
                continue
            counted = rows.setdefault(known["fault"], Counter())
            counted.update(known.get("outcomes", {}))
            if report.skipped or report.when != "call":  # what it needs is not there, or could not be made
                counted[NOT_RUN] += 1
            elif report.failed:
                counted[VIOLATED] += 1
            elif "outcomes" not in known:
                counted["as promised"] += 1
        return cls({fault: dict(sorted(counted.items())) for fault, counted in sorted(rows.items())})

    def lines(self) -> Iterator[str]:
        """Yield the table as Markdown."""
        yield "| fault | times | how it ended |"
        yield "|---|---|---|"
        for fault, counted in self.rows.items():
            times = sum(count for outcome, count in counted.items() if outcome != NOT_RUN)
            ended = ", ".join(f"{outcome}: {count:,}" for outcome, count in counted.items())
            yield f"| {fault} | {times:,} | {ended} |"

    def write(self, file: Path) -> None:
        """Keep these rows for the documentation, beside those of faults that were not injected this time."""
        kept = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps(dict(sorted((kept | self.rows).items())), indent=1) + "\n")
