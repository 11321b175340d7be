"""Context sizes of the usual models, by name."""

from __future__ import annotations

import re

from palimpsest.errors import FieldError, Unprocessable

# Published context windows in tokens (input and output together), from the providers' model pages, 2026.
# The longest prefix of a model's name decides; a provider's prefix ("openai/", "us.anthropic.") is ignored.
WINDOWS = {
    "gpt-3.5-turbo": 16_385,
    "gpt-4": 8_192,
    "gpt-4-32k": 32_768,
    "gpt-4-turbo": 128_000,
    "gpt-4-1106": 128_000,
    "gpt-4-0125": 128_000,
    "gpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4.5": 128_000,
    "gpt-5": 400_000,
    "gpt-5-chat": 128_000,
    "gpt-oss": 131_072,
    "chatgpt-4o": 128_000,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o1-preview": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "claude": 200_000,
    "claude-2.0": 100_000,
    "claude-instant": 100_000,
    "gemini-1.5-pro": 2_097_152,
    "gemini-1.5-flash": 1_048_576,
    "gemini-2": 1_048_576,
    "gemini-3": 1_048_576,
    "llama-2": 4_096,
    "llama-3": 8_192,
    "llama-3.1": 131_072,
    "llama-3.2": 131_072,
    "llama-3.3": 131_072,
    "llama3": 8_192,
    "llama3.1": 131_072,
    "llama3.2": 131_072,
    "llama3.3": 131_072,
    "mistral-7b": 32_768,
    "mistral-large": 131_072,
    "mistral-small": 131_072,
    "mixtral-8x7b": 32_768,
    "mixtral-8x22b": 65_536,
    "qwen2.5": 131_072,
    "qwen3": 131_072,
    "deepseek-chat": 131_072,
    "deepseek-reasoner": 131_072,
    "deepseek-r1": 131_072,
    "deepseek-v3": 131_072,
    "command-r": 128_000,
    "nova-micro": 128_000,
    "nova-lite": 300_000,
    "nova-pro": 300_000,
    "grok-3": 131_072,
    "grok-4": 256_000,
}


def window_of(model: str) -> int | None:
    """The model's context window in tokens; None if the name is not known."""
    name = model.lower().rsplit("/", 1)[-1]
    candidates = [name] + [name.split(".", cut)[-1] for cut in range(1, name.count(".") + 1)]
    for candidate in candidates:
        found = max((prefix for prefix in WINDOWS if candidate.startswith(prefix)), key=len, default=None)
        if found:
            return WINDOWS[found]
    return None


def budget_of(model: str | None, *, reserve: int) -> int | None:
    """The model's window less `reserve` tokens for its answer; None for None. Raises `Unprocessable`
    (`unknown_model`).
    """
    if model is None:
        return None
    window = window_of(model)
    if window is None:
        error = FieldError("model", "not known: give max_tokens")
        raise Unprocessable("The context size of this model is not known.", code="unknown_model", errors=(error,))
    return max(1, window - reserve)


AS_OF = "2026-04-02"

# US dollars for a million tokens, in and out; a model's name may end with the date of its snapshot.
PRICES: dict[str, tuple[float, float]] = {
    "gpt-4.1-nano": (0.10, 0.40),
    "gpt-4.1-mini": (0.40, 1.60),
    "gpt-4.1": (2.00, 8.00),
    "gpt-4o-mini": (0.15, 0.60),
    "gpt-4o": (2.50, 10.00),
    "gpt-5-nano": (0.05, 0.40),
    "gpt-5-mini": (0.25, 2.00),
    "gpt-5": (1.25, 10.00),
    "o3": (2.00, 8.00),
    "o4-mini": (1.10, 4.40),
    "text-embedding-3-small": (0.02, 0.0),
    "text-embedding-3-large": (0.13, 0.0),
}
AWS_AS_OF = "2026-04-02"

# US dollars in us-east-1, for a million of each: without free tiers, at the first step of every scale.
AWS_PRICES: dict[str, float] = {
    "http_api_requests": 1.00,  # of up to 512 KB
    "lambda_requests": 0.20,
    "lambda_gb_seconds": 13.3334,  # arm64
    "dynamodb_writes": 0.625,  # write request units, on demand
    "dynamodb_reads": 0.125,  # read request units, on demand
    "sqs_requests": 0.40,  # standard queues, of up to 64 KB
}
NANO_USD = 1_000_000_000
_SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def cost(model: str | None, *, tokens_in: int, tokens_out: int) -> int | None:
    """What a call cost, in billionths of a dollar; None for a model whose price is not known."""
    name = _SNAPSHOT.sub("", (model or "").rsplit("/", 1)[-1].lower())
    if name not in PRICES:
        return None
    price_in, price_out = PRICES[name]
    return round((tokens_in * price_in + tokens_out * price_out) * NANO_USD / 1_000_000)
