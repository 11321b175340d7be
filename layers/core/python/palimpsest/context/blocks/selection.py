"""A model picks from what is remembered: it may name what is there, and add nothing."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooSlow
from typing import TypeVar

from palimpsest import prompts
from palimpsest.context.recollection import Item
from palimpsest.errors import ModelOutputInvalid, ModelUnavailable
from palimpsest.models.ports import ChatModel
from palimpsest.text.escaping import escaped, harmless

PATIENCE = 2.0  # seconds
MOST_READ = 100  # facts
MOST_ANSWERED = 400  # tokens
LONGEST_FACT = 300  # characters that a model needs to tell what it is about
LONGEST_MESSAGE = 4_000
_ANSWER = re.compile(r"[\s\d,;.\[\]]*")
_NOTHING = "none"

Answer = TypeVar("Answer")


class Picking:
    """`patience` is how long a model may take, in seconds."""

    def __init__(self, chat: ChatModel | None, *, patience: float = PATIENCE) -> None:
        self._chat = chat
        self._patience = patience

    def __call__(self, items: Sequence[Item], message: str, *, prompt: str) -> tuple[Item, ...]:
        """Those of the best items that the model names, in its order. Raises `ModelFailed`, too, when it takes too
        long or there is none.
        """
        chat = self._chat
        if chat is None:
            raise ModelUnavailable("There is no model to ask.")
        read = items[:MOST_READ]
        instructions = f"{prompt}\n\n{prompts.load('retrieval_rules')}"
        text = f"{_numbered(read)}\n<message>{escaped(harmless(message)[:LONGEST_MESSAGE])}</message>"
        completion = _within(
            self._patience, lambda: chat.complete(instructions=instructions, text=text, max_tokens=MOST_ANSWERED)
        )
        return tuple(read[number - 1] for number in _numbers(completion.text, most=len(read)))


def _numbered(items: Sequence[Item]) -> str:
    lines = (f"{number}. {escaped(harmless(item.text)[:LONGEST_FACT])}" for number, item in enumerate(items, 1))
    return "<memories>\n" + "\n".join(lines) + "\n</memories>"


def _numbers(answer: str, *, most: int) -> list[int]:
    """The numbers that an answer names, each once. Raises `ModelOutputInvalid` for anything else."""
    if answer.strip().strip(".").casefold() == _NOTHING:
        return []
    numbers = [int(digits) for digits in re.findall(r"\d{1,9}", answer)]
    if not _ANSWER.fullmatch(answer) or not numbers or not all(1 <= number <= most for number in numbers):
        raise ModelOutputInvalid("The model named no memories.")
    return list(dict.fromkeys(numbers))


def _within(seconds: float, ask: Callable[[], Answer]) -> Answer:
    """The answer, if it comes in time: the call itself goes on, and nobody waits for it. Raises `ModelFailed`."""
    answer: Future[Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it, here in another thread
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return answer.result(timeout=seconds)
    except TooSlow as late:
        raise ModelUnavailable("The model took too long.") from late
