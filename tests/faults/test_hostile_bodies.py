"""Run folders from elsewhere are data: rows with valid checksums and strange contents are read, or refused in order.

`POPBANDITS_ALL_FAULTS=1` (make faults) tries ten thousand of them.
"""

import copy
import json
import os
import shutil
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import popbandits as pb
from popbandits.run import verify
from popbandits.run._log import _crc
from popbandits.view import report
from popbandits.view.dashboard._runs import Shelf
from tests import models

MANY = 10_000 if os.environ.get("POPBANDITS_ALL_FAULTS") else 150
DEEP = json.loads("[" * 900 + "]" * 900)
STRANGE: list[Any] = [
    *(None, True, -1, 0, 1, 3, 10**8, 10**12, 10**30, 1e308, -0.5, float("inf"), float("nan")),
    *("", "x", "\ud800", "a" * 300, "../../etc", "agent-0000-interval-000001-1", [], {}, [[]], {"a": 1}, DEEP),
]
COLUMNS = [None, -1, 0, 2, 7, 10**8, 10**12, 2**62, 1e308, float("inf"), "x", "../..", "agent-9"]
KINDS = ["report", "decision", "failure", "note", "extension", "unheard"]
TEXTS = ["", "{", "[" * 100_000, "null", "1e999", "[]"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "run"
    pb.tune(
        models.Model, models.SPACE, population=3, intervals=8, executor=pb.Inline(), progress=False, directory=folder
    )
    assert pb.load(folder).beliefs is not None, "what the model noted is mangled, too"
    return folder


def paths(tree: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a tree of dicts and lists."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [here, *(path for key, value in inner for path in paths(value, (*here, key)))]


@st.composite
def mangled(draw: st.DrawFn, text: str) -> str:
    """A body with one thing in it that is missing or strange, or one that is no JSON at all."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(TEXTS))
    tree = json.loads(text)
    path = draw(st.sampled_from(paths(tree)))
    if not path:
        return json.dumps(draw(st.sampled_from(STRANGE)))
    changed = node = copy.deepcopy(tree)
    for key in path[:-1]:
        node = node[key]
    if isinstance(node, dict) and draw(st.booleans()):
        del node[path[-1]]
    else:
        node[path[-1]] = draw(st.sampled_from(STRANGE))
    return json.dumps(changed)


@pytest.mark.fault("hostile contents with valid checksums")
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_cannot_be_read_is_one_error(whole: Path, tried: Any, data: st.DataObject) -> None:
    folder = whole.parent / "crafted"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    log = sqlite3.connect(folder / "run.sqlite")
    try:
        if data.draw(st.integers(0, 3), label="settings?") == 0:
            text = data.draw(mangled(log.execute("SELECT body FROM settings").fetchone()[0]))
            log.execute("UPDATE settings SET body=?, crc=?", (text, zlib.crc32(text.encode())))
        else:
            row = list(data.draw(st.sampled_from(log.execute("SELECT * FROM events").fetchall())))[:8]
            column = data.draw(st.sampled_from([1, 2, 3, 4, 5, 6, 7, 7, 7, 7]))
            new = {1: st.sampled_from(KINDS), 7: mangled(row[7])}.get(column, st.sampled_from(COLUMNS))
            row[column] = data.draw(new)
            try:
                crc = _crc(tuple(row))
            except Exception:
                return  # a value that no checksum can be made of cannot be crafted either
            names = ("kind", "agent", "interval", "score", "checkpoint", "time", "body", "crc")
            changed = ", ".join(f"{name}=?" for name in names)
            log.execute(f"UPDATE events SET {changed} WHERE seq=?", (*row[1:], crc, row[0]))
        log.commit()
    except sqlite3.IntegrityError:
        return
    finally:
        log.close()
    looks = (
        lambda: json.dumps(pb.load(folder).status()),
        lambda: pb.load(folder).columns(),
        lambda: pb.load(folder).schedule(),
        lambda: report(pb.load(folder)),
        lambda: verify(folder),
    )
    assert {entry["name"] for entry in Shelf(whole.parent).summaries()} == {"crafted", "run"}
    longest = 0
    for look in looks:
        try:
            look()
        except pb.PopbanditsError as error:
            longest = max(longest, len(str(error)))
    assert longest < 2000
    tried("refused in one sentence" if longest else "read, since it does no harm")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows", "x"),
        ("theta", None),
        ("theta", {"signal": 1.0}),
        ("theta", {"signal": 1.0, "lengthscales": [], "omega": 0.1, "noise": 0.1}),
        ("unit", -1.0),
        ("edge", 2.0),
        ("t", 0.5),
        ("gains", 3),
        ("fallbacks", 10**30),
    ],
)
@pytest.mark.fault("hostile contents with valid checksums")
def test_notes_that_no_model_has_are_one_sentence_and_other_runs_are_listed(
    whole: Path, tmp_path: Path, name: str, value: Any
) -> None:
    for copied in ("strange", "sound"):
        shutil.copytree(whole, tmp_path / copied)
    log = sqlite3.connect(tmp_path / "strange" / "run.sqlite")
    for row in log.execute("SELECT * FROM events WHERE kind='decision'").fetchall():
        body = json.loads(row[7])
        if "theta" in body.get("notes", {}):
            body["notes"][name] = value
            new = (*row[:7], json.dumps(body))
            log.execute("UPDATE events SET body=?, crc=? WHERE seq=?", (new[7], _crc(new), row[0]))
    log.commit()
    log.close()
    with pytest.raises(pb.RunError, match="what PB2 noted at a decision is damaged"):
        pb.load(tmp_path / "strange").status()
    assert {entry["name"]: "error" in entry for entry in Shelf(tmp_path).summaries()} == {
        "sound": False,
        "strange": True,
    }


def test_scores_near_the_largest_number_are_shown(tmp_path: Path) -> None:
    class Huge(models.Model):
        def step(self, hparams: Any) -> Any:
            super().step(hparams)
            return 1.7e308 if hparams["lr"] > 0.01 else -1.7e308

    run = pb.tune(
        Huge, models.SPACE, population=4, intervals=8, executor=pb.Inline(), progress=False, directory=tmp_path / "run"
    )
    json.dumps(run.status(), allow_nan=False)
    assert Shelf(tmp_path).summaries()[0]["name"] == "run"
