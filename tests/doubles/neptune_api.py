"""A stand-in for the data API of Neptune Analytics: it really runs the openCypher that it is given."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import ladybug
from botocore.config import Config

GRAPH = "g-0123456789"
NODE = "`~id` STRING PRIMARY KEY, owner STRING, topic STRING, kind STRING, folded STRING, said STRING, record STRING"
EDGE = "owner STRING, topic STRING, kind STRING, record STRING, source STRING, target STRING"
TABLES = (f"CREATE NODE TABLE Entity({NODE})", f"CREATE REL TABLE RELATES(FROM Entity TO Entity, {EDGE})")


@dataclass
class NeptuneApi:
    """One graph. Its engine wants tables, which Neptune does not have. `fails` is how the next requests are answered:
    a status and the type of the exception; `asked` are the requests.
    """

    url: str = ""
    fails: list[tuple[int, str]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        database = ladybug.Database(":memory:", buffer_pool_size=128 << 20, max_num_threads=1, max_db_size=1 << 30)
        self._connection = ladybug.Connection(database, num_threads=1)
        self._lock = threading.Lock()
        for table in TABLES:
            self._connection.execute(table)

    def client(self) -> Any:
        """boto3's client, which would ask a host of the graph's own name."""
        limits = Config(inject_host_prefix=False, retries={"total_max_attempts": 1})
        return boto3.client(
            "neptune-graph", endpoint_url=self.url, region_name="us-east-1", config=limits,
            aws_access_key_id="none", aws_secret_access_key="none",
        )  # fmt: skip

    def run(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        """The rows that the engine returns. Raises `RuntimeError`."""
        with self._lock:
            found: Any = self._connection.execute(text, parameters)
            names, rows = found.get_column_names(), []
            while found.has_next():
                rows.append(dict(zip(names, found.get_next(), strict=True)))
        return rows

    def answer(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any], str]:
        self.asked.append(asked)
        if self.fails:
            status, kind = self.fails.pop(0)
            return status, {"message": "as the test wants it"}, kind
        if asked["language"] != "OPEN_CYPHER":
            return 400, {"message": "unknown language", "reason": "BAD_REQUEST"}, "ValidationException"
        try:
            return 200, {"results": self.run(asked["query"], **asked.get("parameters", {}))}, ""
        except RuntimeError as error:
            return 400, {"message": str(error), "reason": "MALFORMED_QUERY"}, "ValidationException"


@contextmanager
def neptune_api() -> Iterator[NeptuneApi]:
    """The API on a port of loopback, with an empty graph."""
    api = NeptuneApi()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = self.path == "/queries" and self.headers["graphIdentifier"] == GRAPH
            status, answer, kind = api.answer(body) if known else (404, {}, "ResourceNotFoundException")
            said = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            if kind:
                self.send_header("x-amzn-ErrorType", kind)
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *args: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        api.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()
