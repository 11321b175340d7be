"""Writes the library's table of models, their context windows and prices, from the table that
LiteLLM maintains.

`make catalogue` runs it on a wheel of the pinned version. Nothing of that package is installed or
imported.
"""

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from infra import paths

TABLE = "litellm/model_prices_and_context_window_backup.json"
CATALOGUE = paths.LAYERS / "core" / "python" / "palimpsest" / "models" / "catalogue.json"
CLIENT_PRICES = paths.LAYERS / "client" / "python" / "palimpsest_client" / "chats" / "prices.json"
"""The prices again, for the client, which estimates what an import costs."""

# Beginnings of models' names, and the entry of LiteLLM's table with the window of these models. If
# a family has several windows, the smallest counts, because a context must fit each of its models.
WINDOWS = {
    "gpt-3.5-turbo": "gpt-3.5-turbo",
    "gpt-4": "gpt-4",
    "gpt-4-32k": "azure/gpt-4-32k",
    "gpt-4-turbo": "gpt-4-turbo",
    "gpt-4-1106": "gpt-4-1106-preview",
    "gpt-4-0125": "azure/gpt-4-0125-preview",
    "gpt-4o": "gpt-4o",
    "gpt-4.1": "gpt-4.1",
    "gpt-4.5": "azure/gpt-4.5-preview",
    "gpt-5": "gpt-5",
    "gpt-5-chat": "gpt-5-chat",
    "gpt-6": "openai.gpt-6-luna",
    "gpt-oss": "azure_ai/gpt-oss-120b",
    "o1": "o1",
    "o1-mini": "azure/o1-mini",
    "o1-preview": "azure/us/o1-preview",
    "o3": "o3",
    "o4-mini": "o4-mini",
    "claude": "claude-haiku-4-5",
    "claude-instant": "anthropic.claude-instant-v1",
    "claude-2.0": "anthropic.claude-v2:1",
    "gemini-2": "gemini-2.5-flash",
    "gemini-3": "gemini-3-flash-preview",
    "llama-2": "replicate/meta/llama-2-70b",
    "llama-3": "ollama/llama3",
    "llama-3.1": "perplexity/llama-3.1-70b-instruct",
    "llama-3.2": "llamagate/llama-3.2-3b",
    "llama-3.3": "inferenceapis/llama-3.3-70b",
    "llama3": "ollama/llama3",
    "llama3.1": "perplexity/llama-3.1-70b-instruct",
    "llama3.2": "llamagate/llama-3.2-3b",
    "llama3.3": "inferenceapis/llama-3.3-70b",
    "mistral-7b": "fireworks_ai/accounts/fireworks/models/mistral-7b",
    "mistral-large": "azure_ai/mistral-large-2407",
    "mistral-small": "azure_ai/mistral-small-2503",
    "mixtral-8x7b": "ollama/mixtral-8x7B-Instruct-v0.1",
    "mixtral-8x22b": "ollama/mixtral-8x22B-Instruct-v0.1",
    "qwen2.5": "deepinfra/Qwen/Qwen2.5-7B-Instruct",
    "qwen3": "dashscope/qwen3-vl-32b-instruct",
    "deepseek-chat": "deepseek-chat",
    "deepseek-reasoner": "deepseek-reasoner",
    "deepseek-r1": "lambda_ai/deepseek-r1-0528",
    "deepseek-v3": "azure_ai/deepseek-v3",
    "command-r": "command-r-08-2024",
    "nova-micro": "amazon-nova/nova-micro-v1",
    "nova-lite": "amazon-nova/nova-lite-v1",
    "nova-pro": "amazon-nova/nova-pro-v1",
    "grok-3": "vercel_ai_gateway/xai/grok-3",
    "grok-4": "vercel_ai_gateway/xai/grok-4",
}
STATED_APART = frozenset({"gpt-5"})
"""Models whose input and output limits the table states separately. Their window is the sum. For
other models, the input limit is the window.
"""
PRICED = (
    "gpt-4.1-nano",
    "gpt-4.1-mini",
    "gpt-4.1",
    "gpt-4o-mini",
    "gpt-4o",
    "gpt-5-nano",
    "gpt-5-mini",
    "gpt-5",
    "o3",
    "o4-mini",
    "claude-haiku-4-5",
    "claude-sonnet-4-5",
    "claude-opus-4-5",
    "text-embedding-3-small",
    "text-embedding-3-large",
    "openai.gpt-oss-20b-1:0",
    "openai.gpt-oss-120b-1:0",
    "us.openai.gpt-6-luna",
    "global.openai.gpt-6-luna",
    "amazon.titan-embed-text-v2:0",
    "cohere.embed-multilingual-v3",
)

READ, WRITTEN = "cache_read_input_token_cost", "cache_creation_input_token_cost"


def excerpt(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the windows (tokens) and prices (US dollars for a million tokens, in and out) of the
    models named here. `cached` has the prices of input that a prompt cache serves, and of input
    that is written into it.

    Raises `KeyError` for a model, window or price that LiteLLM's table does not have, because none
    is made up.
    """
    windows = {
        name: _window(table[entry], apart=name in STATED_APART) for name, entry in WINDOWS.items()
    }
    prices = {
        name: [_price(table[name], "input"), _price(table[name], "output")] for name in PRICED
    }
    cached = {name: _cached(table[name]) for name in PRICED if READ in table[name]}
    return {"windows": windows, "prices": prices, "cached": cached}


def _window(entry: Mapping[str, Any], *, apart: bool) -> int:
    return int(entry["max_input_tokens"]) + (int(entry["max_output_tokens"]) if apart else 0)


def _cached(entry: Mapping[str, Any]) -> list[float]:
    """Return the prices of input that a prompt cache serves, and of input that is written into it.
    If the table states no such price, it is the price of other input.
    """
    written = entry.get(WRITTEN, entry["input_cost_per_token"])
    return [round(float(price) * 1_000_000, 6) for price in (entry[READ], written)]


def _price(entry: Mapping[str, Any], direction: str) -> float:
    return round(float(entry[f"{direction}_cost_per_token"]) * 1_000_000, 6)


def main(wheel: Path) -> None:
    """Write the catalogue from the wheel, whose name gives the version (`litellm-1.2.3-….whl`)."""
    with ZipFile(wheel) as package:
        table = json.loads(package.read(TABLE))
    source = {
        "source": " ".join(wheel.name.split("-")[:2]),
        "as_of": datetime.now(UTC).date().isoformat(),
    }
    catalogue = excerpt(table)
    CATALOGUE.write_text(json.dumps(source | catalogue, indent=2) + "\n", encoding="utf-8")
    CLIENT_PRICES.write_text(json.dumps(catalogue["prices"], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
