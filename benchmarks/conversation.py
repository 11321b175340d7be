"""The conversation that every subject gets. All messages have the same length and weight, so
conversations differ only in their number of messages. It uses the standard library only.
"""

from collections.abc import Iterator

WINDOW = 20  # messages that a reader wants
BATCH = 50  # messages that one append takes while a conversation is filled
SIZES = (100, 1_000, 10_000, 100_000)
QUICK_SIZES = (100, 1_000, 5_000)
SENTENCE = "We may work from home three days a week if our manager agrees, and the form for that is called HR-101. "
TEXT = SENTENCE * 3


def said(number: int) -> tuple[str, str]:
    """Return role and text of a message. User and assistant take turns."""
    return ("user", "assistant")[number % 2], f"{number:06d} {TEXT}"


def batches(size: int, batch: int = BATCH) -> Iterator[list[tuple[str, str]]]:
    """Yield all messages of a conversation, oldest first, in batches."""
    for first in range(0, size, batch):
        yield [said(number) for number in range(first, min(first + batch, size))]
