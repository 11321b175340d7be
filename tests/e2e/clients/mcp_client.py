"""Drives a user's memory with the official Python client, in one era of the protocol; prints what
it saw as JSON.

python mcp_client.py URL KEY auto|legacy            # over HTTP python mcp_client.py auto|legacy
PROGRAM ARGUMENT…   # over a program's standard input and output
"""

import asyncio
import json
import os
import sys
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


def seen(result: Any) -> dict[str, Any]:
    return {
        "text": result.content[0].text,
        "data": result.structured_content,
        "is_error": result.is_error,
    }


async def used(transport: Any, mode: str) -> None:
    async with Client(transport, mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        saved = seen(
            await client.call_tool(
                "remember", {"content": f"Sarah tested {mode}.", "topic_key": mode}
            )
        )
        listed = seen(await client.call_tool("list_memories", {"topic_key": mode}))
        wrong = seen(await client.call_tool("recall", {"k": 3}))
        print(json.dumps({"tools": tools, "saved": saved, "listed": listed, "wrong": wrong}))


async def over_http(url: str, key: str, mode: str) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=600) as http:
        await used(streamable_http_client(url, http_client=http), mode)


async def over_stdio(mode: str, program: str, *arguments: str) -> None:
    server = StdioServerParameters(command=program, args=[*arguments], env=dict(os.environ))
    await used(stdio_client(server), mode)


asyncio.run(
    over_stdio(*sys.argv[1:]) if sys.argv[1] in ("auto", "legacy") else over_http(*sys.argv[1:])
)
