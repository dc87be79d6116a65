"""The dashboard's routes and the rules that guard them, asked through its real server."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

import popbandits as pb
from popbandits.view import as_csv
from tests import models

pytest.importorskip("starlette")

COMMAND = [sys.executable, "-c", "import sys; sys.argv[0] = 'popbandits'; from popbandits.cli import main; main()"]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shelf")
    pb.tune(models.Model, models.SPACE, population=2, intervals=3, executor=pb.Inline(), directory=folder / "one")
    (folder / "link").symlink_to(folder / "one")
    (folder / ".hidden").mkdir()
    (folder / "no-run").mkdir()
    return folder


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """Serve the dashboard; yield the address that it printed."""
    with subprocess.Popen(
        [*COMMAND, "dashboard", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 0


@pytest.fixture(scope="module")
def port(shelf: Path) -> Iterator[int]:
    with served(str(shelf), "--port", "0") as address:
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", address)
        assert found is not None, address
        yield int(found[1])


def ask(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()
    finally:
        connection.close()


ROUTES = [
    "/",
    "/static/dashboard.js",
    "/static/plotly.js",
    "/api/runs",
    "/api/runs/one",
    "/api/runs/one/figures/curves",
    "/api/runs/one/history.csv",
    "/api/runs/one/schedule.csv",
]


@pytest.mark.parametrize("path", ROUTES)
def test_every_route_reads_and_nothing_else_and_is_guarded(port: int, path: str) -> None:
    status, headers, _ = ask(port, path)
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "script-src 'self';" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert ask(port, path, method)[0] == 405
    assert ask(port, path, "HEAD")[0] == 200
    assert ask(port, path, Host="evil.example")[0] == 421
    assert ask(port, path, Origin="http://evil.example")[0] == 403
    assert ask(port, path, Origin="null")[0] == 403
    assert ask(port, path, Origin=f"http://127.0.0.1:{port}")[0] == 200


def test_what_runs_say_is_in_no_cache_and_our_files_are_sent_once(port: int) -> None:
    for path in ("/api/runs", "/api/runs/one", "/api/runs/nothing", "/api/runs/one/history.csv"):
        assert ask(port, path)[1]["cache-control"] == "no-store"
    assert ask(port, "/", "POST")[1]["cache-control"] == "no-store"
    _, headers, _ = ask(port, "/static/plotly.js")
    assert headers["cache-control"] == "private, no-cache"
    assert ask(port, "/static/plotly.js", If_None_Match=headers["etag"])[0] == 304


def test_a_controller_that_comes_or_goes_is_seen_though_the_log_does_not_grow(port: int, shelf: Path) -> None:
    def state() -> str:
        return str(json.loads(ask(port, "/api/runs/begun")[2])["state"])

    code = (
        "import popbandits as pb; from tests import models\n"
        f"pb.tune(models.Slow, models.SPACE, population=2, intervals=999, directory={str(shelf / 'begun')!r})"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as training:
        while ask(port, "/api/runs/begun")[0] != 200 or state() != "running":
            assert training.poll() is None
        training.kill()
        training.wait()
    for _ in range(100):
        if state() == "stopped":
            break
        time.sleep(0.05)
    assert state() == "stopped"
    shutil.rmtree(shelf / "begun")


def test_errors_do_not_tell_where_runs_lie(port: int, shelf: Path) -> None:
    (shelf / "broken").mkdir()
    (shelf / "broken" / "run.sqlite").write_bytes(b"no log of ours, but long enough to be looked at" * 9)
    for path in ("/api/runs", "/api/runs/broken"):
        assert str(shelf) not in ask(port, path)[2]
        assert "broken" in ask(port, path)[2]
    shutil.rmtree(shelf / "broken")


def test_the_list_has_runs_and_no_links_or_other_folders(port: int) -> None:
    (only,) = json.loads(ask(port, "/api/runs")[2])
    assert only["name"] == "one"
    assert only["state"] == "finished"
    assert only["reports"] == 6


@pytest.mark.parametrize(
    "name", ["link", "..", "%2e%2e", ".hidden", "no-run", "one%2f..%2fone", "a" * 65, "one%00", "..%2fshelf%2fone"]
)
def test_a_name_that_is_no_run_of_ours_is_refused(port: int, name: str) -> None:
    for rest in ("", "/events", "/history.csv", "/figures/curves"):
        assert ask(port, f"/api/runs/{name}{rest}")[0] == 404


def test_details_say_nothing_of_where_runs_lie(port: int, shelf: Path) -> None:
    assert str(shelf) not in ask(port, "/api/runs/one")[2]
    assert ask(port, "/static/..%2f_app.py")[0] == 404
    assert ask(port, "/api/runs/one/figures/pie")[0] == 404


def test_a_log_that_grows_is_told_to_who_follows_it(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/api/runs/one/events")
    with closing(connection), connection.getresponse() as answer:
        assert answer.getheader("content-type", "").startswith("text/event-stream")
        assert re.fullmatch(rb"data: \d+\n", answer.readline())


def test_csv_has_no_formulas() -> None:
    text = as_csv({"=cmd()": ["+1", "-2", "@x", "safe"], "n": [1.5, -2.0, 3, None]})
    assert as_csv({"a": ["b\r=c", "\r=d"]}) == 'a\n"b\n=c"\n"\'\n=d"\n'
    assert text.splitlines() == ["'=cmd(),n", "'+1,1.5", "'-2,-2.0", "'@x,3", "safe,"]


def test_another_address_needs_its_token(shelf: Path) -> None:
    with served(str(shelf), "--host", "0.0.0.0", "--port", "0") as address:
        found = re.fullmatch(r"http://0\.0\.0\.0:(\d+)/\?token=([\w-]{20,})", address)
        assert found is not None, address
        port, token = int(found[1]), found[2]
        assert ask(port, "/api/runs")[0] == 401
        assert ask(port, "/api/runs?token=wrong")[0] == 401
        status, headers, _ = ask(port, f"/?token={token}")
        assert status == 200
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert headers["cache-control"] == "no-store"
        assert "etag" not in headers
        own = cookie.split(";")[0]
        assert ask(port, "/api/runs", Cookie=own)[0] == 200
        assert ask(port, "/api/runs", Cookie=f'a/b=1; j={{"a": 1}}; {own}')[0] == 200


def test_the_address_that_a_browser_asks_for_is_a_host_of_ours_and_no_other(shelf: Path) -> None:
    with served(str(shelf), "--host", "0.0.0.0", "--port", "0") as address:
        port, _, token = address.removeprefix("http://0.0.0.0:").partition("/?token=")
        for asked, status in (("127.0.0.2", 200), ("127.0.0.3", 421), ("elsewhere.example", 421)):
            connection = http.client.HTTPConnection("127.0.0.2", int(port), timeout=20)  # as an address in a network
            connection.request("GET", f"/api/runs?token={token}", headers={"Host": f"{asked}:{port}"})
            assert connection.getresponse().status == status, asked
            connection.close()


def test_connections_are_bounded_and_what_is_too_large_is_refused(shelf: Path) -> None:
    with served(str(shelf), "--port", "0") as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        opened = []
        answers = []
        for _ in range(400):  # pages that follow a run and read nothing
            one = socket.create_connection(("127.0.0.1", port), timeout=20)
            one.sendall(f"GET /api/runs/one/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            opened.append(one)
            answers.append(one.recv(12).decode())
        assert answers[0] == "HTTP/1.1 200"
        assert answers[-1] == "HTTP/1.1 503"
        for one in opened:
            one.close()
        for _ in range(100):
            if ask(port, "/api/runs")[0] == 200:
                break
            time.sleep(0.1)
        assert ask(port, "/api/runs")[0] == 200
        with closing(socket.create_connection(("127.0.0.1", port), timeout=20)) as one, suppress(ConnectionError):
            one.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 1_000_000)
            assert one.recv(12) in (b"HTTP/1.1 400", b"")
        assert ask(port, "/api/runs")[0] == 200


def test_a_folder_of_runs_that_goes_away_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with served(str(tmp_path / "runs"), "--port", "0") as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        assert ask(port, "/api/runs")[0] == 200
        (tmp_path / "runs").rmdir()
        status, _, body = ask(port, "/api/runs")
        assert status == 404
        assert "the folder of runs cannot be read" in body


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["nowhere"], "there is no folder nowhere"), ([".", "--port", "1"], "cannot be used")],
)
def test_what_cannot_be_served_is_told_in_one_sentence(arguments: list[str], told: str) -> None:
    if "--port" in arguments and os.geteuid() == 0:
        arguments = [".", "--host", "192.0.2.1"]
    done = subprocess.run([*COMMAND, "dashboard", *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_pages_that_come_and_go_leave_no_error_behind(shelf: Path) -> None:
    command = [*COMMAND, "dashboard", str(shelf), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().strip().rstrip("/").rpartition(":")[2])
        for _ in range(20):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", "/api/runs/one/events")
            with closing(connection), connection.getresponse() as answer:
                assert answer.readline().startswith(b"data:")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20)[1] == ""
