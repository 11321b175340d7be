"""OpenSearch for tests: the server that a local stack has too, empty, one process a test session.

python -m tests.engines.opensearch     # sets it up; the tests do so themselves too
"""

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from infra.local.opensearch import server as opensearch
from infra.local.opensearch.jars import install, missing
from infra.local.processes import CannotRun
from tests.engines.npm import required

__all__ = ["install", "missing", "running"]


@contextlib.contextmanager
def running() -> Iterator[str]:
    """An empty server of its own: yields its endpoint. It takes about 15 s to start."""
    with tempfile.TemporaryDirectory(prefix="opensearch-", ignore_cleanup_errors=True) as folder:
        server = opensearch.start(Path(folder), opensearch.new_place())
        try:
            opensearch.wait(server)
            yield f"http://{server.place.address}"
        finally:
            opensearch.stop(server)


if __name__ == "__main__":
    try:
        install()
    except CannotRun as error:
        sys.exit(str(error)) if required() else print(
            f"{error}: what needs it is skipped", file=sys.stderr
        )
