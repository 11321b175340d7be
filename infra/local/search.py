"""The OpenSearch server of a local stack that is started with SEARCH=opensearch: it starts and stops with the stack."""

import json
from pathlib import Path

from infra import paths
from infra.local.opensearch import jars
from infra.local.opensearch import server as opensearch
from infra.local.opensearch.server import Server
from infra.local.processes import CannotRun, free_port, has_ended, is_taken


def start() -> Server:
    """The server that runs, or a new one with the data of the last; `opensearch.wait` returns when it answers.

    It keeps the port that it had first, because the stack knows it by that.
    """
    server = running()
    if server is not None:
        return server
    jars.install()
    port = _known_port() or free_port()
    if is_taken(port):
        raise CannotRun(
            f"Port {port} of the search server is in use by another program; `make reset` gives it a new one."
        )
    _home().mkdir(parents=True, exist_ok=True)
    server = opensearch.start(_home(), port=port)
    _file().write_text(json.dumps({"pid": server.pid, "port": port}))
    return server


def running() -> Server | None:
    """The server whose data is in the local folder, if it runs."""
    try:
        process = json.loads(_file().read_text())
    except (OSError, ValueError):
        return None
    if process["pid"] == 0 or has_ended(process["pid"]) or not opensearch.answers(process["port"]):
        return None
    return Server(process["pid"], process["port"], _home())


def stop() -> None:
    """Stop the server; does nothing where none runs."""
    server = running()
    if server is not None:
        opensearch.stop(server)
        _file().write_text(json.dumps({"pid": 0, "port": server.port}))


def _known_port() -> int | None:
    try:
        port: int = json.loads(_file().read_text())["port"]
    except (OSError, ValueError):
        return None
    return port


def _file() -> Path:
    return paths.local_state() / "opensearch.json"


def _home() -> Path:
    return paths.local_state() / "opensearch"
