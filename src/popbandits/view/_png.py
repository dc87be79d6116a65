"""Figures as PNG files, for papers and slides: drawn by an installed Chromium or Chrome through kaleido."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from popbandits._errors import OptionError, RunError
from popbandits.view.figures import finished

_WIDTH, _SCALE = 900, 2


def write_png(drawings: Mapping[str, Mapping[str, Any]], folder: Path) -> list[Path]:
    """Write each drawing that shows something as `name.png`, and return the files.

    Raises:
        OptionError: when kaleido or a browser is missing.
        RunError: when the folder cannot be written.
    """
    try:
        from kaleido import write_fig_from_object_sync
        from kaleido.errors import (
            BrowserClosedError,
            BrowserFailedError,
            ChromeNotFoundError,
            JavascriptError,
            KaleidoError,
        )
    except ImportError:
        raise OptionError("PNG files need kaleido 1 or newer; pip install 'popbandits[png]'") from None
    shown = {folder / f"{name}.png": drawing for name, drawing in drawings.items() if drawing["data"]}
    if not shown:
        return []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Without the last word kaleido fetches MathJax from the network, which no text of ours needs.
        write_fig_from_object_sync(
            [_asked(*one) for one in shown.items()], cancel_on_error=True, kopts={"mathjax": False}
        )
    except ChromeNotFoundError:
        raise OptionError(
            "PNG files need Chromium or Chrome, and none was found; on Debian and Ubuntu: apt-get install chromium"
        ) from None
    except OSError as error:
        raise RunError(f"figures cannot be written to {folder}: {error.strerror or 'drawing took too long'}") from None
    except (KaleidoError, JavascriptError, BrowserFailedError, BrowserClosedError) as error:
        raise RunError(f"the browser could not draw the figures: {error}") from None
    return list(shown)


def _asked(path: Path, drawing: Mapping[str, Any]) -> dict[str, Any]:
    controls = ("sliders", "updatemenus")  # of no use on paper
    layout = {name: value for name, value in drawing["layout"].items() if name not in controls}
    layout |= {"paper_bgcolor": "#ffffff", "plot_bgcolor": "#ffffff"}
    options = {"format": "png", "width": _WIDTH, "height": layout["height"], "scale": _SCALE}
    return {"fig": finished({"data": drawing["data"], "layout": layout}), "path": path, "opts": options}
