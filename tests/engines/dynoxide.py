"""Dynoxide, a DynamoDB engine over SQLite: fast, with streams and right capacity units, one process
a test session.
"""

import contextlib
import platform
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.engines import loopback
from tests.engines.npm import NODE_MODULES

BINARY = NODE_MODULES / "@dynoxide" / "linux-x64" / "dynoxide"

# Without these every write scans the whole stream, and writes slow down as it grows.
STREAM_INDEXES = """
CREATE INDEX IF NOT EXISTS stream_by_table ON _stream_records(table_name, CAST(sequence_number AS INTEGER));
CREATE INDEX IF NOT EXISTS stream_by_shard ON _stream_records(table_name, shard_id, CAST(sequence_number AS INTEGER));
"""


def missing() -> str | None:
    """Why the engine cannot run here; None where it can."""
    if BINARY.is_file():
        return None
    here = f"{platform.system()} {platform.machine()}".lower()
    return f"dynoxide is not set up (run `make setup`; it is published for linux x86_64, this is {here})"


@contextlib.contextmanager
def running() -> Iterator[str]:
    """An empty engine of its own: yields its endpoint. Table names must have 11 characters or more,
    each used once.
    """
    with tempfile.TemporaryDirectory(prefix="dynoxide-") as folder:
        database = Path(folder) / "tables.sqlite"
        port = loopback.free_port()
        with subprocess.Popen(
            [BINARY, "--host", loopback.HOST, "--port", str(port), "--db-path", database],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                loopback.wait_until_listening(port, process=process)
                _index_streams(database)
                yield f"http://{loopback.HOST}:{port}"
            finally:
                loopback.stop(process)


def _index_streams(database: Path) -> None:
    with contextlib.closing(sqlite3.connect(database, timeout=loopback.PATIENCE)) as connection:
        connection.executescript(STREAM_INDEXES)
