"""The embedder of every measured memory. It makes a vector of the words of a text. A memory's verb
("lives") counts as the word for its topic ("city"), so that in every library a question about a
topic is nearest to the topic's memory. It uses the standard library only.
"""

from __future__ import annotations

import hashlib
import math
import re

DIMENSION = 512
TOPIC_OF = {
    "lives": "city",
    "works": "employer",
    "eats": "diet",
    "drives": "car",
    "plays": "instrument",
    "trains": "sport",
    "has": "pet",
    "learning": "language",
    "reports": "manager",
    "leads": "project",
    "holidays": "holiday",
    "deliver": "deadline",
}
NOT_MEANT = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "at",
        "by",
        "do",
        "for",
        "i",
        "in",
        "is",
        "it",
        "me",
        "my",
        "of",
        "on",
        "the",
        "to",
        "what",
        "who",
        "you",
    ]
)


def vector(text: str) -> list[float]:
    """Return a vector of length 1."""
    numbers = [1e-6] * DIMENSION
    for word in re.findall(r"\w+", text.casefold()):
        if word not in NOT_MEANT:
            numbers[_place(TOPIC_OF.get(word, word))] += 1
    length = math.hypot(*numbers)
    return [number / length for number in numbers]


def _place(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:8]) % DIMENSION
