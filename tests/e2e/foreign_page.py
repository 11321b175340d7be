"""A web page of another origin that attacks the local AWS from its user's browser, and tells what
came of it.
"""

import base64
import contextlib
import http.server
import io
import json
import queue
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.engines import chromium
from tests.engines.loopback import HOST, PATIENCE

FUNCTION = "planted"
PAGE = b'<!doctype html><title>A page of another origin</title><script src="/attack.js"></script>'
SCRIPT = Path(__file__).with_suffix(".js")
CODE = "def handler(event, context):\n    open({marker!r}, 'w').close()\n    return 'the code of the page ran'\n"


def attack(aws: str, *, role: str, parameter: str, marker: Path) -> dict[str, str]:
    """What the page's script saw of each attack on the local AWS at that address.

    It plants a function with that role, whose code would write the file `marker`, reads the SSM
    parameter, and resets.
    """
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("index.py", CODE.format(marker=str(marker)))
    code = base64.b64encode(archive.getvalue()).decode()
    task = {"aws": aws, "role": role, "code": code, "parameter": parameter, "name": FUNCTION}
    with _serving(task) as (url, seen), chromium.showing(url):
        return seen.get(timeout=PATIENCE)


@contextlib.contextmanager
def _serving(task: Mapping[str, str]) -> Iterator[tuple[str, "queue.Queue[dict[str, str]]"]]:
    seen: queue.Queue[dict[str, str]] = queue.Queue()
    files = {
        "/": (PAGE, "text/html"),
        "/attack.js": (SCRIPT.read_bytes(), "text/javascript"),
        "/task": (json.dumps(task).encode(), "application/json"),
    }

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(*files.get(self.path, (b"", "text/plain")))

        def do_POST(self) -> None:
            seen.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._answer(b"", "text/plain")

        def _answer(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer((HOST, 0), Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://localhost:{server.server_port}/", seen
        finally:
            server.shutdown()
