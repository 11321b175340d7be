from dataclasses import dataclass

import pytest
from palimpsest.errors import ModelUnavailable
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.model import Extractors
from palimpsest.extraction.ports import Extraction
from palimpsest.memory.record import Method

CHUNK = Chunk(1, 9, ())


@dataclass
class Key:
    current: str | None

    def value(self) -> str | None:
        return self.current


@dataclass
class Fixed:
    method: Method
    room: int
    fails: bool = False

    def capacity(self, *, prompt: str | None) -> int:
        return self.room

    def extract(self, chunk: Chunk, *, prompt: str | None, whole: bool = False) -> Extraction:
        if self.fails:
            raise ModelUnavailable("down")
        return Extraction((), chunk.last, self.method, prompt_hash=f"{prompt} {whole}")


def test_the_model_extracts_as_long_as_there_is_a_key() -> None:
    key = Key("sk-test")
    chosen = Extractors(key=key, model=Fixed("model", 1), offline=Fixed("pattern", 2))
    assert chosen.extract(CHUNK, prompt="p", whole=True) == Extraction(
        (), 9, "model", prompt_hash="p True"
    )
    assert chosen.capacity(prompt=None) == 1
    key.current = "\n"
    assert chosen.extract(CHUNK, prompt=None).method == "pattern"
    assert chosen.capacity(prompt=None) == 2


def test_a_failing_model_is_not_replaced_in_silence() -> None:
    chosen = Extractors(
        key=Key("sk-test"), model=Fixed("model", 1, fails=True), offline=Fixed("pattern", 2)
    )
    with pytest.raises(ModelUnavailable):
        chosen.extract(CHUNK, prompt=None)
