"""Writes the vectors of the descriptions of topics, by the built-in model (`recall/topics.json`).

python -m benchmarks.retrieval.topics
"""

from __future__ import annotations

import json
from array import array
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from palimpsest.models.ports import Embedder, Vector
from palimpsest.recall.topics import descriptions

from benchmarks.retrieval import quality

WRITTEN = Path("layers/core/python/palimpsest/recall/topics.json")
LARGEST = 127


def with_vectors(stored: dict[str, Any], embedder: Embedder) -> dict[str, Any]:
    """Return the file with the vectors of this embedder's model."""
    means = [topic["means"] for topic in stored["topics"]]
    vectors = [_packed(vector) for vector in embedder.embed(means)]
    return {**stored, "vectors": {**stored["vectors"], embedder.space.model: vectors}}


def _packed(vector: Vector) -> str:
    most = max(map(abs, vector))
    numbers: Sequence[int] = [round(value / most * LARGEST) for value in vector]
    return b64encode(array("b", numbers).tobytes()).decode()


def main() -> None:
    embedder = quality.embedder()
    if embedder is None:
        raise SystemExit("The built-in model could not be installed.")
    made = with_vectors(descriptions(), embedder)
    WRITTEN.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
