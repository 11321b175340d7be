"""Helps with servers that outlive the command that starts them. It finds their ports on loopback,
and ends them.
"""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable

HOST = "127.0.0.1"


class CannotRun(Exception):
    """Something on this machine prevents the command. The message says in one sentence what it is
    and what to do about it.
    """


def is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def on_its_own(process: subprocess.Popen[bytes]) -> int:
    """Return the id of a process that outlives this one, and let go of the process object. Whether
    it has ended is then found by its id (`has_ended`).
    """
    process.returncode = 0
    return process.pid


def has_ended(pid: int) -> bool:
    """Return whether the process has ended. If this process started it, it is also reaped."""
    with contextlib.suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def end(pid: int, *, seconds: float) -> bool:
    """Ask the process to end. Return whether it ended within that many seconds."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    return until(lambda: has_ended(pid), seconds=seconds)


def until(look: Callable[[], bool], *, seconds: float) -> bool:
    """Return whether `look` returned True within that many seconds."""
    deadline = time.monotonic() + seconds
    while not look():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
