"""Serving the dashboard: on this machine only, unless another address is asked for, and then with a token."""

import os
import secrets
import socket
from pathlib import Path

from popbandits._errors import OptionError
from popbandits.view.dashboard._app import make_app

_POLITE = 10
_CONNECTIONS = 300  # at once; whoever comes then is told that the server is busy
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(directory: Path, host: str = "127.0.0.1", port: int = 8765) -> None:
    """Serve until interrupted; print the address first.

    Raises:
        OptionError: for a folder that is not there, or an address that cannot be used.
    """
    import uvicorn

    if not directory.is_dir():
        raise OptionError(f"there is no folder {directory}; give the folder of runs, or one run's own")
    try:
        bound = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise OptionError(f"{host}:{port} cannot be used: {error.strerror}; another --port may be free") from None
    number = bound.getsockname()[1]
    names = _LOOPBACK if host in _LOOPBACK else (*_LOOPBACK, host, socket.gethostname())
    hosts = frozenset(f"{f'[{name}]' if ':' in name else name}:{number}".lower() for name in names)
    token = None if host in _LOOPBACK else secrets.token_urlsafe(24)
    shown = f"[{host}]" if ":" in host else host
    print(f"http://{shown}:{number}/{'' if token is None else f'?token={token}'}", flush=True)
    os.nice(_POLITE)  # whoever looks on must not slow down what is looked at
    config = uvicorn.Config(
        make_app(directory, hosts, token),
        http="h11",  # it refuses headers that are very long
        limit_concurrency=_CONNECTIONS,
        log_level="warning",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[bound])
