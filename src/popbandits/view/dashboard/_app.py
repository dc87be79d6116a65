"""The routes. All of them read; what they answer is JSON, CSV, or one of a few files of ours."""

import asyncio
import json
import math
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from popbandits._errors import PopbanditsError, RunError
from popbandits.run import Run
from popbandits.view._csv import as_csv, schedule_as_csv
from popbandits.view.dashboard._guard import App, Guard
from popbandits.view.dashboard._runs import Mark, Shelf, details
from popbandits.view.figures import FIGURES, finished

_LOOK = 0.3  # seconds between two looks at a log, by one task for all pages that follow it
_HTML, _CSS, _SCRIPT = (f"text/{kind}; charset=utf-8" for kind in ("html", "css", "javascript"))
_FILES = {
    "index.html": ("popbandits.view", "dashboard/static/index.html", _HTML),
    "page.css": ("popbandits.view", "page.css", _CSS),
    "dashboard.css": ("popbandits.view", "dashboard/static/dashboard.css", _CSS),
    "dashboard.js": ("popbandits.view", "dashboard/static/dashboard.js", _SCRIPT),
    "drawing.js": ("popbandits.view", "drawing.js", _SCRIPT),
    "plotly.js": ("plotly", "package_data/plotly.min.js", _SCRIPT),
}


def make_app(directory: Path, hosts: frozenset[str], token: str | None = None) -> App:
    """Return the dashboard of a folder of runs as an ASGI app.

    Args:
        directory: of run folders, or one run's own.
        hosts: the values of Host that are ours, such as "127.0.0.1:8765".
        token: asked for where it is not None.
    """
    shelf = Shelf(directory)
    pages = _Pages(shelf)

    async def sorry(_: Request, error: Exception) -> Response:
        return _json({"error": shelf.told(error)}, 404 if isinstance(error, RunError) else 400)

    routes = [
        Route("/", pages.index),
        Route("/static/{name}", pages.static),
        Route("/api/runs", pages.runs),
        Route("/api/runs/{name}", pages.run),
        Route("/api/runs/{name}/figures/{figure}", pages.figure),
        Route("/api/runs/{name}/events", pages.events),
        Route("/api/runs/{name}/history.csv", pages.history),
        Route("/api/runs/{name}/schedule.csv", pages.schedule),
    ]
    app = Starlette(routes=routes, exception_handlers={PopbanditsError: sorry})
    return Guard(app, hosts, token)


class _Pages:
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._followed: dict[str, _Followed] = {}

    async def index(self, request: Request) -> Response:
        return _file("index.html", request)

    async def static(self, request: Request) -> Response:
        return _file(request.path_params["name"], request)

    async def runs(self, _: Request) -> Response:
        return _json(await run_in_threadpool(self._shelf.summaries))

    async def run(self, request: Request) -> Response:
        return await self._json(request.path_params["name"], "details", details)

    async def figure(self, request: Request) -> Response:
        name, figure = request.path_params["name"], request.path_params["figure"]
        if figure not in FIGURES:
            return _json({"error": f"a figure is one of {', '.join(FIGURES)}"}, 404)
        return await self._json(name, figure, lambda run: finished(FIGURES[figure](run)))

    async def _json(self, name: str, what: str, make: Callable[[Run], Any]) -> Response:
        text = await run_in_threadpool(self._shelf.made, name, what, lambda run: _as_json(make(run)))
        return Response(text, media_type="application/json")

    async def history(self, request: Request) -> Response:
        return await self._csv(request, "history", lambda run: as_csv(run.columns()))

    async def schedule(self, request: Request) -> Response:
        return await self._csv(request, "schedule", lambda run: schedule_as_csv(run.settings.space, run.best.schedule))

    async def _csv(self, request: Request, what: str, make: Callable[[Run], str]) -> Response:
        name = request.path_params["name"]
        text = await run_in_threadpool(self._shelf.made, name, f"{what}.csv", make)
        headers = {"content-disposition": f'attachment; filename="{name}-{what}.csv"'}
        # Texts of users may hold halves of characters, which no encoding has.
        body = text.encode("utf-8", "backslashreplace")
        return Response(body, media_type="text/csv; charset=utf-8", headers=headers)

    async def events(self, request: Request) -> Response:
        name = request.path_params["name"]
        self._shelf.folder(name)  # refuses before a stream is opened
        followed = self._followed.setdefault(name, _Followed(self._shelf, name))

        async def stream() -> AsyncIterator[str]:
            with suppress(PopbanditsError):  # the run has gone: so does its stream
                async for mark in followed.changing():
                    yield ": still here\n\n" if mark is None else f"data: {mark.length}\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")


class _Followed:
    """A run that pages follow: one task looks at it, however many pages there are, and only while there are any."""

    def __init__(self, shelf: Shelf, name: str) -> None:
        self._shelf, self._name = shelf, name
        self._mark: Mark | None = None
        self._readers: set[asyncio.Event] = set()  # each page's own, so that one which goes leaves no lock behind
        self._looking: asyncio.Task[None] | None = None

    async def changing(self) -> AsyncIterator[Mark | None]:
        """Yield the run's mark, at once and whenever it changes; None now and then, to keep the connection alive."""
        changed = asyncio.Event()
        self._readers.add(changed)
        try:
            seen = await run_in_threadpool(self._shelf.mark, self._name)
            if self._looking is None or self._looking.done():
                self._mark = seen  # while the task looks, only it may: it tells the others
                self._looking = asyncio.create_task(self._look())
            yield seen
            while True:
                changed.clear()
                if self._mark == seen:
                    try:
                        await asyncio.wait_for(changed.wait(), 15)
                    except TimeoutError:
                        yield None
                        continue
                seen = self._mark
                yield seen
        finally:
            self._readers.discard(changed)

    async def _look(self) -> None:
        while self._readers:
            try:
                mark = await run_in_threadpool(self._shelf.mark, self._name)
            except PopbanditsError:
                mark = self._mark  # a log that cannot be read now may be readable in a moment
            if mark != self._mark:
                self._mark = mark
                for changed in self._readers:
                    changed.set()
            await asyncio.sleep(_LOOK)


def _as_json(body: Any) -> str:
    try:
        return json.dumps(body, allow_nan=False, separators=(",", ":"))
    except ValueError:  # differences of scores near the largest number are infinite
        return json.dumps(_finite(body), allow_nan=False, separators=(",", ":"))


def _finite(body: Any) -> Any:
    """Return JSON with null in place of what is not finite, which JSON cannot have."""
    if isinstance(body, dict):
        return {name: _finite(value) for name, value in body.items()}
    if isinstance(body, (list, tuple)):
        return [_finite(value) for value in body]
    return None if isinstance(body, float) and not math.isfinite(body) else body


def _json(body: Any, status: int = 200) -> Response:
    """Return an answer in plain ASCII: texts of users may hold halves of characters, which no encoding has."""
    return Response(_as_json(body), status_code=status, media_type="application/json")


def _file(name: str, request: Request) -> Response:
    if name not in _FILES:
        return PlainTextResponse("there is no such file\n", status_code=404)
    source, tag = _source(name)
    headers = {"etag": tag, "cache-control": "private, no-cache"}  # asked for again, but not sent again
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(source, media_type=_FILES[name][2], headers=headers)


@cache
def _source(name: str) -> tuple[bytes, str]:
    package, path, _ = _FILES[name]
    source = resources.files(package).joinpath(path).read_bytes()
    return source, f'"{zlib.crc32(source):08x}"'
