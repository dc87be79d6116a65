"""Files that are whole or not there, whoever is killed while writing them."""

from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Write a text with a line's end behind it; a reader sees the old file or the new one, never a part."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(".new")
    beside.write_text(text + "\n")
    beside.replace(file)
