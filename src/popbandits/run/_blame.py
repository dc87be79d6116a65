"""An exception of user code in one line: what it was and where in the user's own code it came from."""

import sysconfig
import traceback
from pathlib import Path

_OURS = Path(__file__).parent
_INSTALLED = tuple({Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")})


def blame(error: BaseException) -> str:
    """Return the exception's name, text and place: the innermost frame that is neither ours nor a library's."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not _is_foreign(Path(frame.filename))]
    said = f"{type(error).__name__}: {error}"
    if not own:
        return said
    return f"{said} ({Path(own[-1].filename).name}, line {own[-1].lineno}, in {own[-1].name})"


def _is_foreign(path: Path) -> bool:
    return path.is_relative_to(_OURS) or any(path.is_relative_to(folder) for folder in _INSTALLED)
