"""The HTTP client of a connection. This module opens it, and closes it if the program does not."""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import httpx2


class Http:
    """The HTTP client of a program without an event loop. It is closed when nothing uses it any
    longer.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._http = httpx2.Client(**options)
        self._closing = weakref.finalize(self, self._http.close)

    def client(self) -> httpx2.Client:
        return self._http

    def close(self) -> None:
        self._closing()


class AsyncHttp:
    """The HTTP client of an event loop. The end of the loop closes it, and another loop gets
    another client.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._http = httpx2.AsyncClient(**options)
        self._open: AsyncGenerator[None] | None = None
        self._is_closed = False

    async def client(self) -> httpx2.AsyncClient:
        if self._http.is_closed and not self._is_closed:
            self._http, self._open = httpx2.AsyncClient(**self._options), None
        if self._open is None:
            self._open = _until_the_loop_ends(self._http)
            await anext(self._open)
        return self._http

    async def close(self) -> None:
        self._is_closed = True
        await self._http.aclose()


async def _until_the_loop_ends(http: httpx2.AsyncClient) -> AsyncGenerator[None]:
    """Close the client if the program does not. An event loop ends its generators while sockets can
    still be closed.
    """
    try:
        yield
    finally:
        await http.aclose()
