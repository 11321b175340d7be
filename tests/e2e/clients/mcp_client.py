"""Drives a user's memory with the official Python client, in one era of the protocol; prints what it saw as JSON.

python mcp_client.py URL KEY auto|legacy
"""

import asyncio
import json
import sys
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


def seen(result: Any) -> dict[str, Any]:
    return {"text": result.content[0].text, "data": result.structured_content, "is_error": result.is_error}


async def main(url: str, key: str, mode: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        tools = [tool.name for tool in (await client.list_tools()).tools]
        saved = seen(await client.call_tool("remember", {"content": f"Sarah tested {mode}.", "topic_key": mode}))
        listed = seen(await client.call_tool("list_memories", {"topic_key": mode}))
        wrong = seen(await client.call_tool("recall", {"k": 3}))
        print(json.dumps({"tools": tools, "saved": saved, "listed": listed, "wrong": wrong}))


asyncio.run(main(*sys.argv[1:]))
