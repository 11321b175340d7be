"""How near is near enough, for each embedding model: models differ in their cosines of what is unrelated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Thresholds:
    """A candidate's strength is its cosine, where `unrelated` counts as 0 and 1 as 1, and `words` times the share of
    the question's words that it has.

    `least` is the strength that the strongest needs for any to be shown, and each that says nothing; `own` is what each
    needs by itself, or `beside` times the strength of the message next to it. `resembles` is the cosine from which a
    past message has to do with a new one.
    """

    unrelated: float = 0.0
    words: float = 0.3
    least: float = 0.315
    own: float = 0.225
    beside: float = 0.65
    resembles: float = 0.15


OTHER = Thresholds()
"""Of models that nobody has fitted: cosines of about 0 for what is unrelated, as OpenAI's have them."""
THRESHOLDS: Mapping[str, Thresholds] = MappingProxyType(
    {"bge-small-en-v1.5-int8": Thresholds(unrelated=0.46, words=0.1, least=0.14, own=0.05, resembles=0.5)}
)
"""By the name of the model's space. Chosen with `make bench ARGS=retrieval` on one half of the labelled set, and
confirmed on the other.
"""
