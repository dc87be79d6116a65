"""An exception of user code in one line: what it was and where in the user's own code it came from."""

import sysconfig
import traceback
from pathlib import Path

_OURS = Path(__file__).parent
_LONGEST = 2000  # letters of an exception's text that are kept
_INSTALLED = tuple({Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")})


def blame(error: BaseException) -> str:
    """Return the exception's name, text and place: the innermost frame that is neither ours nor a library's."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not _is_foreign(Path(frame.filename))]
    said = f"{type(error).__name__}: {said_by(error)}"
    if not own:
        return said
    return f"{said} ({Path(own[-1].filename).name}, line {own[-1].lineno}, in {own[-1].name})"


def said_by(error: BaseException) -> str:
    """Return the text of an exception, cut where it is very long; an exception's own text may raise."""
    try:
        text = str(error)
    except Exception as raised:
        return f"(its text could not be made: {type(raised).__name__})"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} letters)"


def _is_foreign(path: Path) -> bool:
    return path.is_relative_to(_OURS) or any(path.is_relative_to(folder) for folder in _INSTALLED)
