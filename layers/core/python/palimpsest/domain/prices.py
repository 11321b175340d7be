"""What models, and AWS, cost at list prices: the one place where they are written down, with the day of each list."""

from __future__ import annotations

import re

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
