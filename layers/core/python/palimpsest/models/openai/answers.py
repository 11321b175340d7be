"""Reads what a server with the OpenAI API sent: the body of a completion, and how long to wait before a retry."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz
from typing import Any

from palimpsest.errors import ModelOutputInvalid
from palimpsest.models.ports import Completion, Usage

MAX_ANSWER_BYTES = 4_000_000
_THOUGHTS = re.compile(
    r"\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL
)  # some servers leave a model's thoughts in the text


def completion_of(body: bytes, *, asked: str) -> Completion:
    """The completion in an answer's body. Raises `ModelOutputInvalid` if it holds no usable text.

    A text that was cut off at its token limit is usable. `asked` is the model that was asked for.
    """
    answer = _object(body)
    choice = _first_choice(answer)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ModelOutputInvalid("The model's answer holds no message.")
    if message.get("refusal"):
        raise ModelOutputInvalid("The model refused.")
    if choice.get("finish_reason") == "content_filter":
        raise ModelOutputInvalid("The model's answer was filtered.")
    content = message.get("content")
    text = _whole(_THOUGHTS.sub("", content, count=1)).strip() if isinstance(content, str) else ""
    if not text:
        raise ModelOutputInvalid("The model's answer is empty.")
    model = answer.get("model")
    return Completion(text=text, model=model if isinstance(model, str) and model else asked, usage=_usage(answer))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait: `Retry-After-Ms`, else `Retry-After` in seconds or as a date."""
    for name, divisor in (("retry-after-ms", 1000), ("retry-after", 1)):
        seconds = _number(headers.get(name))
        if seconds is not None:
            return seconds / divisor
    date = parsedate_tz(headers.get("retry-after"))
    try:
        return max(0.0, mktime_tz(date) - time.time()) if date else None
    except (ValueError, OverflowError):
        return None


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _object(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ModelOutputInvalid("The model's answer is no JSON.") from error
    if not isinstance(answer, dict):
        raise ModelOutputInvalid("The model's answer is no completion.")
    return answer


def _first_choice(answer: dict[str, Any]) -> dict[str, Any]:
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ModelOutputInvalid("The model's answer holds no choice.")
    return choices[0]


def _whole(text: str) -> str:
    """The text with halves of surrogate pairs replaced: JSON can carry them, but no database stores them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _usage(answer: dict[str, Any]) -> Usage:
    given = answer.get("usage")
    usage = given if isinstance(given, dict) else {}
    tokens = [
        value if isinstance(value := usage.get(name), int) else 0 for name in ("prompt_tokens", "completion_tokens")
    ]
    return Usage(model_calls=1, tokens_in=tokens[0], tokens_out=tokens[1])
