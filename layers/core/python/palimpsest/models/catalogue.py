"""Data of the usual models by name: context windows, prices, and thresholds for the similarity of
vectors. It also holds AWS's prices.

Windows and prices are in catalogue.json, which `make catalogue` writes from the table that LiteLLM
maintains.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from palimpsest.errors import FieldError, Unprocessable

# Models that were withdrawn, with the last window that was published for them. No maintained table
# lists these models.
WITHDRAWN = {"chatgpt-4o": 128_000, "gemini-1.5-pro": 2_097_152, "gemini-1.5-flash": 1_048_576}


@dataclass(frozen=True, slots=True)
class ModelCatalogue:
    """Data of models. `windows` are in tokens, input and output together, by the beginnings of
    models' names. `prices` are in US dollars for a million tokens, in and out, by name. `cached`
    has the prices of input that a prompt cache serves, and of input that is written into it. All
    were taken from `source` on the day `as_of`.
    """

    source: str
    as_of: str
    windows: dict[str, int]
    prices: dict[str, tuple[float, float]]
    cached: dict[str, tuple[float, float]]


@cache
def model_catalogue() -> ModelCatalogue:
    """Return the catalogue as it was last written."""
    table = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    prices = {
        name: (price_in, price_out) for name, (price_in, price_out) in table["prices"].items()
    }
    cached = {name: (read, written) for name, (read, written) in table["cached"].items()}
    windows = WITHDRAWN | table["windows"]
    return ModelCatalogue(table["source"], table["as_of"], windows, prices, cached)


def window_of(model: str) -> int | None:
    """Return the model's context window in tokens, or None if the name is not known.

    The longest known beginning of the name decides. A provider's prefix ("openai/",
    "us.anthropic.") is ignored.
    """
    windows = model_catalogue().windows
    name = model.lower().rsplit("/", 1)[-1]
    candidates = [name] + [name.split(".", cut)[-1] for cut in range(1, name.count(".") + 1)]
    for candidate in candidates:
        known = max(
            (prefix for prefix in windows if candidate.startswith(prefix)), key=len, default=None
        )
        if known:
            return windows[known]
    return None


def budget_of(model: str | None, *, reserve: int) -> int | None:
    """Return the model's window less `reserve` tokens for its answer. Without a model, return None.
    Raises `Unprocessable` (`unknown_model`).
    """
    if model is None:
        return None
    window = window_of(model)
    if window is None:
        error = FieldError("model", "is not known: give max_tokens")
        raise Unprocessable(
            "The context size of this model is not known.", code="unknown_model", errors=(error,)
        )
    return max(1, window - reserve)


def takes_cache_points(model: str | None) -> bool:
    """Return whether a request to this model of Amazon Bedrock may have cache points. Bedrock
    refuses them for models without prompt caching, and Nova's models cache without them. An unknown
    model, such as an inference profile, is assumed to accept them.
    """
    if model is None or window_of(model) is None:
        return True
    name = model.lower()
    return "claude" in name and not _UNCACHED_CLAUDE.search(name)


AWS_AS_OF = "2026-04-02"

# US dollars in us-east-1 for a million of each, without free tiers, at the first step of every
# scale.
AWS_PRICES: dict[str, float] = {
    "http_api_requests": 1.00,  # events of up to 512 KB
    "lambda_requests": 0.20,
    "lambda_gb_seconds": 13.3334,  # arm64
    "dynamodb_writes": 0.625,  # write request units, on demand
    "dynamodb_reads": 0.125,  # read request units, on demand
    "sqs_requests": 0.40,  # requests of standard queues, of up to 64 KB
}
NANO_USD = 1_000_000_000
_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}(?:-v\d+:\d+)?)$")
_UNCACHED_CLAUDE = re.compile(r"claude-(?:v\d|2|instant|3-(?:opus|sonnet|haiku|5-sonnet))")
_PREFIX = re.compile(r"^(?:[a-z]{2,6}\.)?anthropic\.")


def priced(
    model: str | None, *, model_calls: int, tokens_in: int, tokens_out: int
) -> dict[str, int]:
    """Return the usage of model calls in the form that jobs and ledgers store. It includes the cost
    of the calls. If the price is unknown, it includes the number of calls without a known price
    instead.
    """
    if not model_calls:
        return {}
    price = cost(model, tokens_in=tokens_in, tokens_out=tokens_out)
    used = {"model_calls": model_calls, "tokens_in": tokens_in, "tokens_out": tokens_out}
    return used | ({"unpriced": model_calls} if price is None else {"cost_nano_usd": price})


RERANKED: Mapping[str, int] = MappingProxyType(
    {"amazon.rerank-v1:0": 1_000_000, "cohere.rerank-v3-5:0": 2_000_000}
)
"""The prices of rerankers of Bedrock, in billionths of a dollar for a call of up to 100 texts."""


def cost_of_reranking(model: str) -> dict[str, int]:
    """Return the usage of one call of a reranker, in the form of `priced`."""
    price = RERANKED.get(model)
    used = {"model_calls": 1}
    return used | ({"unpriced": 1} if price is None else {"cost_nano_usd": price})


def cost(
    model: str | None, *, tokens_in: int, tokens_out: int, cached: int = 0, written: int = 0
) -> int | None:
    """Return the cost of a call in billionths of a dollar; None if the model's price is not known.
    `tokens_in` includes the tokens that a prompt cache served (`cached`) and the tokens that were
    `written` into it.

    A model's name may begin with its provider and end with the date of its snapshot.
    """
    name = _PREFIX.sub("", _SNAPSHOT.sub("", (model or "").rsplit("/", 1)[-1].lower()))
    catalogue = model_catalogue()
    if name not in catalogue.prices:
        return None
    price_in, price_out = catalogue.prices[name]
    price_cached, price_written = catalogue.cached.get(name, (price_in, price_in))
    fresh = tokens_in - cached - written
    millionths = fresh * price_in + cached * price_cached + written * price_written
    return round((millionths + tokens_out * price_out) * NANO_USD / 1_000_000)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds of an embedding model. Models need different ones because they differ in their
    cosines of unrelated texts.

    A candidate's strength has two parts. The first is its cosine, scaled so that `unrelated` counts
    as 0 and 1 as 1. The second is `words` times the share of the question's words that the
    candidate has.

    A message that says nothing must reach `own`. A message of few words must reach it either with
    its own strength or with `beside` times the strength of a question next to it. A past
    message is related to a new one if their cosine is at least `resembles`. A model with
    `only_english` finds any two texts of another language alike.
    """

    unrelated: float = 0.0
    words: float = 0.3
    own: float = 0.225
    beside: float = 0.65
    resembles: float = 0.15
    only_english: bool = False


OTHER = Thresholds()
"""The thresholds of models for which none were determined. They assume cosines of about 0 for
unrelated texts, as OpenAI's models give.
"""
THRESHOLDS: Mapping[str, Thresholds] = MappingProxyType(
    {
        "bge-small-en-v1.5-int8": Thresholds(
            unrelated=0.46, words=0.1, own=0.05, resembles=0.5, only_english=True
        )
    }
)
"""Thresholds by the name of the model's space. They were chosen with `make bench ARGS=retrieval` on
one half of each of three labelled sets, and confirmed on the other halves
(docs/adr/0048-what-other-sets-showed.md).
"""
