"""Connects the official Python client without a token: it gets one where the answer leads it;
prints what it saw.

python mcp_oauth.py URL '{"https://site": "http://127.0.0.1:port", …}' METADATA

METADATA is what the function `site` answers to who asks whose tokens are taken.
"""

import asyncio
import json
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

SEEN: dict[str, Any] = {"discovered": []}


class Network(httpx2.AsyncHTTPTransport):
    """Leads each site to where it is in this test."""

    def __init__(self, sites: dict[str, str], metadata: str) -> None:
        super().__init__()
        self.sites, self.metadata = sites, metadata

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        address = str(request.url)
        if "/.well-known/" in address:
            SEEN["discovered"].append(address)
        if "/.well-known/oauth-protected-resource" in address:
            return httpx2.Response(200, text=self.metadata)
        site = next(site_known for site_known in self.sites if address.startswith(f"{site_known}/"))
        url, parts = (
            address.replace(site, self.sites[site], 1),
            (request.headers, request.stream, request.extensions),
        )
        sent = httpx2.Request(
            request.method, url, headers=parts[0], stream=parts[1], extensions=parts[2]
        )
        return await super().handle_async_request(sent)


class Storage:
    """Keeps a token and the client's registration for this run."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


async def shown(url: str) -> None:
    """The user is asked here, and agrees."""
    query = parse_qs(urlsplit(url).query)
    SEEN["wanted"], SEEN["state"] = query["scope"][0], query["state"][0]


async def agreed() -> AuthorizationCodeResult:
    return AuthorizationCodeResult(code="c", state=SEEN["state"])


async def main(url: str, sites: str, metadata: str) -> None:
    metadata_of_client = OAuthClientMetadata(
        redirect_uris=["http://127.0.0.1/callback"], client_name="test"
    )
    auth = OAuthClientProvider(
        url, metadata_of_client, Storage(), redirect_handler=shown, callback_handler=agreed
    )
    http = httpx2.AsyncClient(
        auth=auth, transport=Network(json.loads(sites), metadata), timeout=600
    )
    async with http, Client(streamable_http_client(url, http_client=http)) as client:
        SEEN["tools"] = [tool.name for tool in (await client.list_tools()).tools]
    print(json.dumps(SEEN))


asyncio.run(main(*sys.argv[1:]))
