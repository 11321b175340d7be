"""Starts and stops an OpenSearch server on loopback. Its data is in a folder of its own, and a
guard is before its routes.
"""

import base64
import http.client
import json
import os
import secrets
import shutil
import subprocess
import time
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from infra import paths
from infra.local.opensearch import jars
from infra.local.processes import HOST, CannotRun, end, free_port, has_ended, on_its_own

NOBODY = 65534  # OpenSearch refuses to run as root
HEAP = "512m"
START_SECONDS = 300  # a limit, so that it does not wait for ever; it takes 15
STOP_SECONDS = 120
LOGGING = """status=error
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=[%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level=warn
rootLogger.appenderRef.console.ref=console
"""
SETTINGS = """cluster.name: palimpsest
node.name: one
network.host: {host}
http.port: {port}
transport.port: {transport_port}
discovery.type: single-node
cluster.routing.allocation.disk.threshold_enabled: false
guard.host: {host}:{port}
guard.authorization: {authorization}
"""


@dataclass(frozen=True, slots=True)
class Place:
    """The address at which a server listens, and the credential that every request must have."""

    port: int
    credential: str

    @property
    def address(self) -> str:
        """Return the part of a URL between `http://` and the path."""
        return f"{self.credential}@{HOST}:{self.port}"

    @property
    def authorization(self) -> str:
        """Return the header that a client sends for the address. The credential is the user name,
        and the password is empty.
        """
        return f"Basic {base64.b64encode(f'{self.credential}:'.encode()).decode()}"


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs in `home`, which also holds its data."""

    pid: int
    place: Place
    home: Path


def new_place() -> Place:
    return Place(free_port(), secrets.token_hex(32))


def start(home: Path, place: Place) -> Server:
    """Start a server and return at once. `wait` returns when it answers. Earlier data in `home` is
    kept.
    """
    _lay_out(home, place)
    paths.close_to_others(home)
    is_root = os.geteuid() == 0
    if is_root:
        _hand_over(home)
    account = NOBODY if is_root else None
    groups = () if is_root else None
    with (home / "logs" / "console").open("wb") as log:
        process = subprocess.Popen(
            _command(home),
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            user=account,
            group=account,
            extra_groups=groups,
            umask=paths.PRIVATE,
        )
    return Server(on_its_own(process), place, home)


def wait(server: Server) -> None:
    """Wait until the server answers, which takes about 15 s. Raises `CannotRun` if it ends or takes
    too long.
    """
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and not has_ended(server.pid):
        if answers(server.place):
            return
        time.sleep(0.2)
    words = (server.home / "logs" / "console").read_text()[-1000:]
    raise CannotRun(f"OpenSearch did not start; the end of its log: {words}")


def answers(place: Place) -> bool:
    connection = http.client.HTTPConnection(HOST, place.port, timeout=30)
    try:
        health = "/_cluster/health?wait_for_status=yellow&timeout=5s"
        connection.request("GET", health, headers={"Authorization": place.authorization})
        answer = connection.getresponse()
        return (
            answer.status == HTTPStatus.OK
            and json.loads(answer.read())["cluster_name"] == "palimpsest"
        )
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return False
    finally:
        connection.close()


def stop(server: Server) -> None:
    if not end(server.pid, seconds=STOP_SECONDS):
        raise CannotRun(f"OpenSearch (process {server.pid}) does not end")


def _command(home: Path) -> tuple[str, ...]:
    return (
        "java",
        f"-Xms{HEAP}",
        f"-Xmx{HEAP}",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:+ExitOnOutOfMemoryError",
        "-Djava.security.manager=allow",
        f"-Djava.io.tmpdir={home / 'tmp'}",
        f"-Djna.tmpdir={home / 'tmp'}",
        "-Djna.nosys=true",
        "-Dlog4j2.disable.jmx=true",
        "-Dlog4j.shutdownHookEnabled=false",
        "-Djava.locale.providers=SPI,COMPAT",
        f"-Dopensearch.path.home={home}",
        f"-Dopensearch.path.conf={home / 'config'}",
        "-Dopensearch.distribution.type=tar",
        "-cp",
        str(home / "lib" / "*"),
        "org.opensearch.bootstrap.OpenSearch",
    )


def _lay_out(home: Path, place: Place) -> None:
    """Make the server's distribution in that folder anew, except for the data."""
    jars.lay_out(home)
    for name in ("config", "tmp", "logs"):
        shutil.rmtree(home / name, ignore_errors=True)
    for name in ("config", "data", "logs", "tmp"):
        (home / name).mkdir(exist_ok=True)
    (home / "config" / "log4j2.properties").write_text(LOGGING)
    settings = SETTINGS.format(
        host=HOST, port=place.port, transport_port=free_port(), authorization=place.authorization
    )
    paths.write_private(home / "config" / "opensearch.yml", settings)


def _hand_over(home: Path) -> None:
    for path in (home, *home.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
