from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from palimpsest.conversations.message import Message
from palimpsest.conversations.overflow.model_summary import Summaries
from palimpsest.conversations.ports import Summarizer, Summary, SummaryRequest
from palimpsest.errors import ModelUnavailable


@dataclass
class Key:
    current: str | None

    def value(self) -> str | None:
        return self.current


@dataclass
class Fixed:
    """A summariser that always gives its name, or fails."""

    name: str
    room: int
    fails: bool = False

    def capacity(self, wanted: SummaryRequest) -> int:
        return self.room

    def summarize(
        self, messages: Sequence[Message], wanted: SummaryRequest, *, previous: str | None
    ) -> Summary:
        if self.fails:
            raise ModelUnavailable("down")
        return Summary(
            text=f"{previous} {wanted.max_tokens} {wanted.prompt} {wanted.model}", method=self.name
        )


def summary_of(summarizer: Summarizer) -> Summary:
    return summarizer.summarize((), SummaryRequest(9, "p", "m"), previous="old")


def test_the_model_writes_as_long_as_there_is_a_key() -> None:
    key = Key("sk-test")
    chosen = Summaries(key=key, model=Fixed("model", 1), offline=Fixed("extractive", 2))
    assert summary_of(chosen) == Summary(text="old 9 p m", method="model")
    assert chosen.capacity(SummaryRequest(9)) == 1
    key.current = None
    assert summary_of(chosen).method == "extractive"
    assert chosen.capacity(SummaryRequest(9)) == 2


def test_a_failing_model_is_not_replaced_in_silence() -> None:
    chosen = Summaries(
        key=Key("sk-test"), model=Fixed("model", 1, fails=True), offline=Fixed("extractive", 2)
    )
    with pytest.raises(ModelUnavailable):
        summary_of(chosen)


@pytest.mark.parametrize("key", ["", "\n"])
def test_an_empty_key_is_none(key: str) -> None:
    assert (
        summary_of(
            Summaries(key=Key(key), model=Fixed("model", 1), offline=Fixed("extractive", 2))
        ).method
        == "extractive"
    )
