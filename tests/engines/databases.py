"""Real database servers on loopback, from Debian's packages: PostgreSQL, MariaDB, Redis."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.engines import loopback
from tests.engines.chromium import APT

SERVERS = {
    "postgresql": ("postgresql", "initdb"),
    "mariadb": ("mariadb-server", "mariadbd"),
    "redis": ("redis-server", "redis-server"),
}
"""The package and the program of each server."""
USERS = {"postgresql": "postgres", "mariadb": "mysql"}
"""Servers that root can't run, and the users that the packages make for them."""


def program(name: str) -> str | None:
    """Return the path of a server's program, which Debian keeps out of the usual places."""
    beside = ["/usr/sbin", *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], *beside]))


def install(engine: str) -> str | None:
    """Install the server if it is missing and this user may do so. Return why it can't be had, or
    None if it can.
    """
    package, server = SERVERS[engine]
    if program(server) is None and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (
            [*APT, "update"],
            [*APT, "install", "-y", "--no-install-recommends", package],
        ):
            subprocess.run(command, env=quiet, check=False, capture_output=True, timeout=400)
    return None if program(server) else f"{engine} is not installed, and only root can install it"


@contextlib.contextmanager
def running(engine: str) -> Iterator[str]:
    """Run a server with an empty database for as long as the block lasts. Yields its URL."""
    with tempfile.TemporaryDirectory(prefix=f"{engine}-", ignore_cleanup_errors=True) as folder:
        user = USERS.get(engine) if os.geteuid() == 0 else None
        if user is not None:
            shutil.chown(folder, user)
        start = {"postgresql": _postgresql, "mariadb": _mariadb, "redis": _redis}[engine]
        port = loopback.free_port()
        command, url = start(Path(folder), port, user)
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=user, cwd=folder
        ) as process:
            try:
                loopback.wait_until_listening(port, process=process)
                yield url
            finally:
                loopback.stop(process, seconds=30)


def _postgresql(folder: Path, port: int, user: str | None) -> tuple[list[str], str]:
    data = str(folder / "data")
    _run(["initdb", "-D", data, "-U", "palimpsest", "-A", "trust", "-E", "UTF8"], folder, user)
    command = [
        program("postgres") or "postgres", "-D", data, "-p", str(port), "-k", str(folder),
        "-h", loopback.HOST,
    ]  # fmt: skip
    return command, f"postgresql+psycopg://palimpsest@{loopback.HOST}:{port}/postgres"


def _mariadb(folder: Path, port: int, user: str | None) -> tuple[list[str], str]:
    data = f"--datadir={folder / 'data'}"
    _run(
        ["mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", data],
        folder,
        user,
    )
    command = [
        program("mariadbd") or "mariadbd", "--no-defaults", data, f"--port={port}",
        f"--socket={folder / 'socket'}", f"--bind-address={loopback.HOST}",
    ]  # fmt: skip
    return command, f"mysql+pymysql://root@{loopback.HOST}:{port}/test"


def _redis(folder: Path, port: int, user: str | None) -> tuple[list[str], str]:
    command = [
        program("redis-server") or "redis-server", "--port", str(port), "--bind", loopback.HOST,
        "--save", "", "--dir", str(folder),
    ]  # fmt: skip
    return command, f"redis://{loopback.HOST}:{port}"


def _run(command: list[str], folder: Path, user: str | None) -> None:
    path = program(command[0]) or command[0]
    subprocess.run([path, *command[1:]], check=True, capture_output=True, user=user, cwd=folder)
