"""Where what can be made again is kept between runs: compiled code, converted data."""

import os
from pathlib import Path


def user_cache() -> Path:
    """Return the user's folder for it, under XDG_CACHE_HOME or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "popbandits"
