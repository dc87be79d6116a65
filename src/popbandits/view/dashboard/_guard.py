"""What stands before every route: reading only, known hosts, no foreign pages, a token where others could reach it.

A page elsewhere must not read runs through the user's browser: requests whose Host is not ours (DNS rebinding) or whose
Origin is another's are refused, no CORS header is sent, and the page itself may load nothing from outside.
"""

import hmac
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from popbandits.view._format import text

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "popbandits_token"
_LONGEST = 1000  # letters of what is said about a request that failed
_HEADERS = (
    # Plotly sets styles from its script; scripts themselves come from this server alone.
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_NOT_KEPT = (b"cache-control", b"no-store")  # what runs say is in no cache; our own files may be


class Guard:
    """An ASGI app around another.

    Args:
        inner: the app.
        hosts: the values of Host that are ours, as a browser sends them.
        token: asked for when it is not None, as `?token=…` once and as a cookie from then on.
    """

    def __init__(self, inner: App, hosts: frozenset[str], token: str | None) -> None:
        self._inner, self._hosts, self._token = inner, hosts, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._inner(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        cookie = self._cookie(scope)

        async def secured(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = message.get("headers", [])
                if cookie:  # this answer and its address hold the token: no cache may have them
                    own = [(name, value) for name, value in own if name not in (b"cache-control", b"etag")]
                kept = any(name == b"cache-control" for name, _ in own)
                message["headers"] = [*own, *_HEADERS, *cookie, *([] if kept else [_NOT_KEPT])]
            await send(message)

        try:
            await self._inner(scope, receive, secured)
        except Exception as error:
            # The page has been told already that it failed. Here it is one line, whatever the texts in it.
            said = f"{scope['method']} {scope['path']}: {type(error).__name__}: {error}"
            print(f"popbandits: {text(said)[:_LONGEST]}", file=sys.stderr, flush=True)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "this page is for reading: GET and HEAD only"
        host = headers.get("host", "").lower()
        if host not in (hosts := self._hosts | _reached(scope)):
            return 421, "this host name is not the dashboard's"
        origin = headers.get("origin")
        try:
            foreign = origin is not None and urlsplit(origin).netloc.lower() not in hosts
        except ValueError:
            return 400, "the Origin of this request is no address"
        if foreign:
            return 403, "a page elsewhere may not read runs"
        if self._token is not None and not self._knows(scope, headers):
            return 401, "open the address with its token, as the command printed it"
        return None

    def _knows(self, scope: Scope, headers: dict[str, str]) -> bool:
        assert self._token is not None
        # By hand: cookies of other programs on this host come along, and not all are what a parser takes.
        pairs = [part.strip().partition("=") for part in headers.get("cookie", "").split(";")]
        told = [*_asked(scope), *(value for name, _, value in pairs if name == COOKIE)]
        return any(hmac.compare_digest(given.encode(), self._token.encode()) for given in told)

    def _cookie(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        if self._token is None or not _asked(scope):
            return []
        return [(b"set-cookie", f"{COOKIE}={self._token}; Path=/; HttpOnly; SameSite=Strict".encode())]


def _reached(scope: Scope) -> set[str]:
    """Return the address of this machine that a request came to, as a Host has it.

    A page elsewhere cannot pass it off as its own name: a browser that shows it has asked for this very address.
    """
    address, port = scope.get("server") or (None, None)
    return set() if not address or port is None else {f"[{address}]:{port}" if ":" in address else f"{address}:{port}"}


def _asked(scope: Scope) -> list[str]:
    return parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])


async def _answer(send: Send, status: int, text: str) -> None:
    body = (text + "\n").encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *_HEADERS, _NOT_KEPT]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
