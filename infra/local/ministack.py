"""Runs the local AWS, which is MiniStack, on loopback. It has a virtual environment of its own, and
its state is in the local folder.
"""

import fcntl
import hashlib
import http
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from infra import paths, pythons
from infra.local import access_key, saved_state
from infra.local.processes import HOST, CannotRun, has_ended, is_taken, on_its_own, until

LOCK = paths.PROJECT / "requirements-local.txt"
PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "SSL_CERT_FILE",
    "HTTPS_PROXY",
    "NO_PROXY",
    "AWS_CONFIG_FILE",  # where profiles are; a function reads them only if its settings name one
    "AWS_SHARED_CREDENTIALS_FILE",
)
START_SECONDS = 300  # a limit, so that it does not wait for ever; it takes two
STOP_SECONDS = 180
HEALTH_SECONDS = 30  # a running one answers within it, however busy the machine is


@dataclass(frozen=True, slots=True)
class Running:
    """A process of the local AWS. `search` is the address of the server of its search domains, or
    empty if there is none.
    """

    pid: int
    port: int
    search: str = ""

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self.port}"


def install() -> Path:
    """Return the interpreter of MiniStack's virtual environment, which is set up first if it is
    missing or incomplete.

    It is the Python version that functions declare, if this machine has that version.
    """
    python = pythons.function_python()
    folder = paths.BUILD / "venvs" / "ministack"
    done = (
        folder
        / f"done-{pythons.version_of(python)}-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]}"
    )
    with paths.building():
        if not done.is_file():
            print(f"Installing the local AWS on Python {pythons.version_of(python)}", flush=True)
            _make_environment(folder, python)
            done.touch()
    return folder / "bin" / "python"


def _make_environment(folder: Path, python: str) -> None:
    uv = [sys.executable, "-m", "uv"]
    options = ["--quiet", "--require-hashes", "--only-binary", ":all:", "--compile-bytecode"]
    subprocess.run([*uv, "venv", "--quiet", "--clear", "--python", python, folder], check=True)
    subprocess.run(
        [*uv, "pip", "install", *options, "--python", folder / "bin" / "python", "-r", LOCK],
        check=True,
    )


def running() -> Running | None:
    """Return the process whose state is in the local folder, if it runs and answers."""
    process = _last_started()
    return process if process is not None and _is_ministack(process.port) else None


def start(port: int, *, enforces_roles: bool = True, search: str = "") -> Running:
    """Start the local AWS and return at once. `wait` returns when it answers. Raises `CannotRun` if
    the port is in use.

    It continues from the newest snapshot. If an earlier process is still ending and saving, this
    waits for it.
    """
    state = paths.local_state()
    (paths.private(state) / "s3").mkdir(mode=0o700, exist_ok=True)
    with _alone(state) as lock:
        _check_free(port)
        shutil.rmtree(state / "tmp", ignore_errors=True)
        (state / "tmp").mkdir(mode=0o700)
        snapshot = _taken_up(state, port=port)
        command = [
            str(install()),
            "-m",
            "infra.local.launcher",
            str(access_key.make(state)),
            str(state),
        ]
        environment = _environment(port, state, enforces_roles=enforces_roles) | {
            "MINISTACK_OPENSEARCH_ENDPOINT": search, "STATE_DIR": str(snapshot),
        }  # fmt: skip
        (state / "ministack.log").touch(mode=0o600)
        with (state / "ministack.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                env=environment,
                cwd=paths.PROJECT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=[lock],
                umask=paths.PRIVATE,
            )
        started = Running(on_its_own(process), port, search)
        # the address of search has a credential
        paths.write_private(_process_file(), json.dumps(asdict(started)))
    return started


def _taken_up(state: Path, *, port: int) -> Path:
    snapshot = saved_state.newest(state / "state")
    if snapshot is None:
        return state / "state" / "none"
    print(saved_state.taken_up(snapshot), flush=True)
    saved_state.move_to(port, snapshot)
    return snapshot


def check_free(port: int) -> None:
    """Raise `CannotRun` if the port is used by a program other than this local AWS, which may be
    running or ending.
    """
    last = _last_started()
    if last is None or last.port != port:
        _check_free(port)


def _check_free(port: int) -> None:
    if is_taken(port):
        raise CannotRun(
            f"Port {port} is in use by another program; choose another: make start PORT={port + 1}"
        )


@contextmanager
def _alone(state: Path) -> Iterator[int]:
    """Yield the descriptor of a lock. The process of the local AWS inherits it. The lock is
    released when that process ends, for whatever reason.
    """
    (state / "lock").touch(mode=0o600)
    with (state / "lock").open("w") as lock:
        if not _locked(lock.fileno()):
            print(
                "Waiting for the last local AWS, which is still saving what it stores", flush=True
            )
            if not until(lambda: _locked(lock.fileno()), seconds=STOP_SECONDS):
                raise CannotRun(
                    "The last local AWS does not end; `make stop` says which process it is."
                )
        yield lock.fileno()


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _last_started() -> Running | None:
    """Return the process that was started last, or None if it has ended."""
    try:
        with (paths.local_state() / "lock").open("r") as lock:
            has_ended = _locked(lock.fileno())
        return None if has_ended else Running(**json.loads(_process_file().read_text()))
    except (OSError, ValueError, TypeError):
        return None


def wait(process: Running) -> None:
    """Wait until the process answers. Raises `CannotRun` if it ends or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and not has_ended(process.pid):
        if _is_ministack(process.port):
            return
        time.sleep(0.05)
    raise CannotRun(
        f"The local AWS did not start; its log is {paths.local_state() / 'ministack.log'}"
    )


def stop() -> bool:
    """End the process, which then saves its state. Return whether it was running."""
    process = _last_started()
    if process is None:
        return False
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    if not until(lambda: has_ended(process.pid), seconds=STOP_SECONDS):
        raise CannotRun(f"The local AWS (process {process.pid}) does not end")
    return True


def _environment(port: int, state: Path, *, enforces_roles: bool) -> dict[str, str]:
    """Return a clean environment. Functions inherit it, and the caller's credentials must not reach
    them.
    """
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return passed_on | {
        "BIND_HOST": HOST,
        "GATEWAY_PORT": str(port),
        "AUTH": str(enforces_roles).lower(),
        "LOG_LEVEL": "WARNING",
        "PERSIST_STATE": "1",
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(state / "s3"),
        "TMPDIR": str(state / "tmp"),
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _process_file() -> Path:
    return paths.local_state() / "process.json"


def _is_ministack(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=HEALTH_SECONDS)
    try:
        connection.request("GET", "/_ministack/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
