"""The OpenSearch server of a local stack that is started with SEARCH=opensearch. It starts and
stops with the stack.
"""

import json
import os
from pathlib import Path

from infra import paths
from infra.local.opensearch import jars
from infra.local.opensearch import server as opensearch
from infra.local.opensearch.server import Place, Server
from infra.local.processes import CannotRun, has_ended, is_taken

PASSED_THROUGH = 0o711
"""The mode of the local folder if root starts a server, which then runs as another user. That user
can pass through the local folder to the server's own folder, but can't list the local folder.
"""


def start() -> Server:
    """Return the server that runs, or start a new one with the data of the last. `opensearch.wait`
    returns when it answers.

    It keeps its first port and credential, because the stack knows it by these.
    """
    server = running()
    if server is not None:
        return server
    jars.install()
    last = _last()
    place = last.place if last else opensearch.new_place()
    if is_taken(place.port):
        raise CannotRun(
            f"Port {place.port} of the search server is in use by another program; `make reset` "
            f"gives it a new one."
        )
    folder = paths.private(paths.local_state())
    if os.geteuid() == 0:
        folder.chmod(PASSED_THROUGH)
    _home().mkdir(mode=0o700, exist_ok=True)
    return _noted(opensearch.start(_home(), place))


def running() -> Server | None:
    """Return the server whose data is in the local folder, if it runs."""
    last = _last()
    if last is None or last.pid == 0 or has_ended(last.pid) or not opensearch.answers(last.place):
        return None
    return last


def stop() -> None:
    """Stop the server. Does nothing if none runs."""
    server = running()
    if server is not None:
        opensearch.stop(server)
        _noted(Server(0, server.place, server.home))


def _last() -> Server | None:
    """Return the server that was started last. Its process is 0 if it was stopped."""
    try:
        noted = json.loads(_file().read_text())
        return Server(noted["pid"], Place(noted["port"], noted["credential"]), _home())
    except (OSError, ValueError, KeyError):
        return None


def _noted(server: Server) -> Server:
    noted = {"pid": server.pid, "port": server.place.port, "credential": server.place.credential}
    paths.write_private(_file(), json.dumps(noted))
    return server


def _file() -> Path:
    return paths.local_state() / "opensearch.json"


def _home() -> Path:
    return paths.local_state() / "opensearch"
