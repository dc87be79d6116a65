"""The code blocks of a page, and how each kind is held to what it says.

python             one program with the other unnamed ones of its page, run as a user runs it
python title="…"   a file of that name, which is then run
toml title="…"     a space in a file of that name
console            commands, run in order; the lines under one are found in its output, whatever the numbers; … is a gap
sh                 commands too long or too large for a test: they are only parsed
diff               the new side is a program that runs
text               not code
"""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer.main

from popbandits.cli._app import app
from popbandits.space import space_from_toml

ROOT = Path(__file__).parent.parent
KINDS = ("console", "diff", "python", "sh", "text", "toml")
_FENCE = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?")


@dataclass(frozen=True)
class Block:
    kind: str
    title: str | None
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(kind, title or None, text) for kind, title, text in _FENCE.findall(page.read_text())]


def run_page(page: Path, folder: Path) -> None:
    """Run what a page shows, in a folder of its own."""
    unnamed = "".join(block.text for block in blocks(page) if block.kind == "python" and block.title is None)
    if unnamed:
        run_file(folder / "page.py", unnamed)
    for block in blocks(page):
        if block.kind == "python" and block.title is not None:
            run_file(folder / block.title, block.text)
        elif block.kind == "diff":
            run_file(folder / "new.py", "\n".join(line[1:] for line in block.text.splitlines() if line[:1] != "-"))
        elif block.kind == "toml":
            space_from_toml(block.text)
        elif block.kind == "console":
            run_console(block.text, folder)
        elif block.kind == "sh":
            for line in block.text.splitlines():
                parse_command(line)


def run_file(file: Path, text: str) -> None:
    file.write_text(text)
    ran(f"{sys.executable} {file.name}", file.parent)


def run_console(text: str, folder: Path) -> None:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        printed = [_masked(line) for line in ran(command, folder).splitlines()]
        for line in [line for line in shown if line != "…"]:
            assert _masked(line) in printed, f"{command} does not print {line!r}, but {printed}"


def ran(command: str, folder: Path) -> str:
    """Return what a command prints; it must succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONWARNINGS": "default", "COLUMNS": "120"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def _masked(line: str) -> str:
    return " ".join(_NUMBER.sub("#", line).split())


def parse_command(line: str) -> None:
    """Refuse a command that could not be given: an unknown name, option or extra."""
    words = shlex.split(line)
    if words[0] == "popbandits":
        command, rest = command_of(words[1:])
        command.make_context("popbandits", rest)
    elif words[:2] == ["pip", "install"]:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        (asked,) = re.findall(r"\[(.+)\]", words[2])
        assert set(asked.split(",")) <= set(extras), asked
    else:
        raise AssertionError(f"{line!r} is not a command that can be checked")


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that some words name, and the words behind its name."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands") and words:
        assert words[0] in command.commands, f"there is no command {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


def check_inline(page: Path) -> None:
    """Refuse `popbandits …` in running text that names a command or an option which is not there."""
    for text in re.findall(r"`(popbandits [a-z][^`]*)`", page.read_text()):
        words = text.replace("…", " … ").split()[1:]
        names = [word for word in words if re.fullmatch(r"[a-z0-9-]+", word) and not word.startswith("-")]
        command, _ = command_of(names[:2])
        known = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
        asked = {word.partition("=")[0].strip("[]") for word in words if word.strip("[]").startswith("--")}
        assert asked <= known | {"--help", "--debug"}, f"{text}: {asked - known}"
