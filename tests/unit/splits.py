"""How much CPU work on ordinary English takes, in times that the same text is split into words: a
busy machine counts for both.
"""

import re
import time
from collections.abc import Callable
from functools import cache

from benchmarks.retrieval.labelled.dataset import load

SPLITS = 20  # of a measurement; one alone takes a few milliseconds


@cache
def small_messages() -> tuple[str, ...]:
    """Some thousand messages of ordinary English, all different."""
    texts = [
        message.text
        for talk in load().conversations
        for session in talk.sessions
        for message in session.messages
    ]
    half = [
        " ".join((text, *other.split()[:4]))
        for text, other in zip(texts, reversed(texts), strict=True)
    ]
    return (*texts, *half)


def splits(work: Callable[[], object]) -> float:
    """How often the small messages are split into words in the time that the work takes. It is the
    least of five rounds. Each splits them right before and after the work, because a processor may
    be faster at one second than at the next.
    """
    return min(_round(work) for _ in range(5))


def _round(work: Callable[[], object]) -> float:
    before, spent, after = _cpu(_split_often), _cpu(work), _cpu(_split_often)
    return 2 * SPLITS * spent / (before + after)


def _split_often() -> None:
    whole = "\n".join(small_messages())
    for _ in range(SPLITS):
        [word.casefold() for word in re.findall(r"\w+", whole)]


def _cpu(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun
