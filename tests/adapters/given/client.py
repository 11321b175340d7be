"""A model of the reader's own, which searches once and then answers."""

from typing import Any

import openai  # noqa: F401 - the page has imported it


def llm(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    if messages[-1]["role"] == "tool":
        return {"role": "assistant", "content": "I do not know yet."}
    function = {"name": tools[0]["function"]["name"], "arguments": '{"query": "Where do I live?"}'}
    return {
        "role": "assistant",
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
