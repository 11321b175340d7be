"""Ports on loopback for the servers that tests start, and a bounded wait until such a server
listens.
"""

import socket
import subprocess
import time

HOST = "127.0.0.1"
PATIENCE = 600  # seconds, only against waiting for ever: on a busy machine everything may take long


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def wait_until_listening(port: int, *, process: subprocess.Popen[bytes]) -> None:
    """Returns once the port takes connections; raises `RuntimeError` if the process ends or the
    time is over first.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(
                f"{process.args!r} ended with status {process.returncode} before it listened"
            )
        try:
            socket.create_connection((HOST, port), timeout=0.2).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise RuntimeError(f"{process.args!r} did not listen on port {port} within {PATIENCE} s")


def stop(process: subprocess.Popen[bytes], *, seconds: float = 5) -> None:
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
