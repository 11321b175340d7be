"""How much CPU work on ordinary English takes, in times that the same text is split into words: a
busy machine counts for both.
"""

import re
import time
from collections.abc import Callable
from functools import cache

from benchmarks.retrieval.labelled.dataset import load


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
    """How often the small messages are split into words in the time that the work takes."""
    whole = "\n".join(small_messages())
    return _cpu(work) / _cpu(lambda: [word.casefold() for word in re.findall(r"\w+", whole)])


def _cpu(work: Callable[[], object]) -> float:
    """The least CPU seconds of five runs."""
    spent = []
    for _ in range(5):
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return min(spent)
