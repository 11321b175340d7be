"""A model picks from what is remembered: it may name what is there, and add nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from time import monotonic

from palimpsest import parallel, prompts
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
        ask = partial(chat.complete, instructions=instructions, text=text, max_tokens=MOST_ANSWERED)
        try:
            completion = parallel.begin(ask, until=monotonic() + self._patience).result()
        except TimeoutError as late:
            raise ModelUnavailable("The model took too long.") from late
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
