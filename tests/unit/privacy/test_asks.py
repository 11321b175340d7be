"""Wishes to keep words off the record are known in words that no pattern has, and last until they
are ended.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from palimpsest.conversations.message import Chat, Message
from palimpsest.conversations.off_record import ON_RECORD, UNTIL_RESUMED, marked
from palimpsest.privacy.asks import ASKS, NOTHING, asked_in, signs_of
from palimpsest.privacy.wishes import wish_of
from palimpsest.text.labelling import label_weights

from benchmarks.truth.lasting.run import labelled
from benchmarks.truth.wishes.run import FILES, blocks, judged
from benchmarks.truth.wishes.train import SETS, WRITTEN

LEAST_FOUND = 0.75


def said(*texts: str) -> Sequence[Message]:
    return [
        Message(number, f"m{number}", number, 1, "o200k_base", user(text), "2026-03-02")
        for number, text in enumerate(texts, 1)
    ]


def user(text: str) -> Chat:
    return {"role": "user", "content": text}


def test_most_labelled_wishes_are_known_and_few_other_sentences_are_taken_for_one() -> None:
    weights = label_weights(json.loads(WRITTEN.read_text()))
    sentences = [sentence for path in SETS for sentence in labelled(path)]
    for name in ASKS:
        own = [text for label, text in sentences if label == name]
        found = sum(1 - weights.likely(signs_of(text))[NOTHING] >= 0.5 for text in own)
        assert found / len(own) >= LEAST_FOUND
    others = [text for label, text in sentences if label == NOTHING]
    assert (
        sum(1 - weights.likely(signs_of(text))[NOTHING] >= 0.5 for text in others) / len(others)
        <= 0.05
    )


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("I owe Jamal 600 quid. Please don't put that in your notes.", "this"),
        ("Lösch bitte, was ich über meinen Bruder geschrieben habe.", "back"),
        ("From here on don't save anything until I say so.", "next"),
        ("Ok, you can save things again.", "resume"),
    ],
)
def test_the_sentences_of_a_text_are_read(text: str, asks: str) -> None:
    assert [sentence.asks for sentence in asked_in(text)] == [asks]


def test_a_private_part_lasts_until_it_is_ended() -> None:
    messages = said(
        "From here on don't save anything until I say so.",
        "I failed the exam.",
        "My mom even threw a party.",
        "Ok, you can save things again. I live in Leeds.",
        "I have two cats.",
    )
    marks = marked(messages, reach=ON_RECORD)
    assert [message.is_off_record for message in marks.messages] == [True, True, True, False, False]
    assert marks.reach == ON_RECORD
    assert marked(messages[:2], reach=ON_RECORD).reach == UNTIL_RESUMED
    later = marked(messages[2:], reach=UNTIL_RESUMED)
    assert [message.is_off_record for message in later.messages] == [True, False, False]


def test_the_message_that_ends_a_private_part_is_part_of_it_if_it_says_more_before() -> None:
    text = "She was nineteen and I never told my father about it. Ok, you can save things again."
    assert wish_of(text).resumes_late
    (message,) = marked(said(text), reach=UNTIL_RESUMED).messages
    assert message.is_off_record


def test_some_blocks_of_other_authors_are_held() -> None:
    first = [judged(block) for path in FILES for block in list(blocks(path))[:12]]
    assert sum(not result.leaked for result in first) >= len(first) // 2
