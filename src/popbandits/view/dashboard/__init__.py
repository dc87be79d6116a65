"""The dashboard: a page that follows runs while they train. It reads run folders and changes nothing."""

from popbandits.view.dashboard._app import make_app
from popbandits.view.dashboard._serve import serve

__all__ = ["make_app", "serve"]
