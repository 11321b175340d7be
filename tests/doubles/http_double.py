"""A server of HTTP on loopback that answers as a test wants it, as long as its `with` block."""

import threading
from abc import ABC, abstractmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


class HttpDouble(ABC):
    """`endpoint` is its address. `_closing` is set once the block ends, so that a slow answer can
    stop waiting.
    """

    def __post_init__(self) -> None:
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    @abstractmethod
    def _handler(self) -> type[BaseHTTPRequestHandler]:
        """What answers each request."""

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
