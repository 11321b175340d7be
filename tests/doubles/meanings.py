"""An embedder whose meanings are words: texts with words in common are near each other, so are
listed synonyms.
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence

from palimpsest.models.ports import Space, Vector

SYNONYMS = {
    "boss": "manager",
    "supervisor": "manager",
    "automobile": "car",
    "beverage": "tea",
    "residence": "home",
}
NOT_MEANT = frozenset(
    re.findall(r"\w+", "a an and are at did do does for i in is it me my of on the to was what who")
)


class Meanings:
    """Implements `Embedder`. `failure` is raised as long as it is set; a text that holds a word of
    `refused` is refused with what is said there. `asked` are the texts of each call.
    """

    def __init__(self, model: str = "meanings", dimension: int = 128) -> None:
        self.space = Space(model, dimension)
        self.failure: Exception | None = None
        self.refused: Mapping[str, Exception] = {}
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        self.asked.append(list(texts))
        if self.failure is not None:
            raise self.failure
        for word, refusal in self.refused.items():
            if any(word in text for text in texts):
                raise refusal
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        numbers = [1e-6] * self.space.dimension
        for word in re.findall(r"\w+", text.casefold()):
            if word not in NOT_MEANT:
                numbers[_place(SYNONYMS.get(word, word.removesuffix("s")), self.space)] += 1
        length = math.hypot(*numbers)
        return [number / length for number in numbers]


def _place(word: str, space: Space) -> int:
    return (
        int.from_bytes(hashlib.sha256(f"{space.model} {word}".encode()).digest()[:8])
        % space.dimension
    )
