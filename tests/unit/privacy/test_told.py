"""Secrets that no pattern knows are found by the words around them, and few other words are taken
for one.
"""

from __future__ import annotations

import json

import pytest
from palimpsest.conversations.message import Message
from palimpsest.conversations.off_record import ASKED, NAMED, ON_RECORD, marked
from palimpsest.conversations.spoken import spoken_text
from palimpsest.privacy.secrets import holds_secret, masked, named_secrets
from palimpsest.privacy.told import NAMES, NOTHING, TELLS, label_of, tokens_of, told_secrets
from palimpsest.privacy.values import MASK
from palimpsest.text.labelling import label_weights

from benchmarks.truth.lasting.run import labelled
from benchmarks.truth.told.train import HERE, WRITTEN, lines_of
from benchmarks.truth.wishes.run import FILES, blocks, judged

LEAST_FOUND, MOST_TAKEN = 0.85, 0.05


def test_most_labelled_secrets_are_found_and_few_other_sentences_are_taken_for_one() -> None:
    weights = label_weights(json.loads(WRITTEN.read_text()))
    lines = [line for path in HERE.glob("*.txt") for line in lines_of(path) if not line.before]
    telling = [line for line in lines if line.places]
    found = sum(
        any(
            label_of(tokens, weights) == TELLS for tokens, label in line.sentences if label == TELLS
        )
        for line in telling
    )
    assert found / len(telling) >= LEAST_FOUND
    others = [line.text for line in lines if not line.places]
    others += [text for path in HERE.glob("no-*.tsv") for _, text in labelled(path)]
    taken = sum(any(told_secrets(text)) for text in others)
    assert taken / len(others) <= MOST_TAKEN


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("just use hunter2moose to get in, I'm off to Leeds", "hunter2moose"),
        ("Alarmanlage scharf schalten: erst Stern, dann 60428, dann Raute.", "60428"),
        ("Le digicode a changé, maintenant c'est 47B19.", "47B19"),
        ("El del gimnasio sigue siendo 3307, no lo he cambiado.", "3307"),
    ],
)
def test_a_secret_without_its_name_is_masked(text: str, secret: str) -> None:
    assert not any(named_secrets(text))
    assert masked(text) == text.replace(secret, MASK)


def test_beside_a_secret_that_was_asked_for_the_rest_of_a_message_is_remembered() -> None:
    asks = "Have you already chosen a combination for the locker?"
    answer = "yep 7-7-2. I'm a lifeguard at the pool in Leeds."
    messages = [said(1, asks, role="assistant"), said(2, answer), said(3, "ok", role="assistant")]
    asked, given, after = marked(messages, reach=ON_RECORD).messages
    assert not asked.is_off_record
    assert not given.is_off_record
    assert spoken_text(given) == "I'm a lifeguard at the pool in Leeds."
    assert after.is_off_record


def test_a_sentence_that_tells_a_secret_in_plain_words_is_masked_as_a_whole() -> None:
    text = "I live in Leeds. The hotspot is called jess phone and you type bananahammock"
    assert masked(text) == f"I live in Leeds. {MASK}"


@pytest.mark.parametrize(
    "text",
    [
        "I use Bitwarden for my passwords.",
        "My flight is LH1174 from Frankfurt.",
        "I changed the gate code last week.",
        "My room is 4418 now, in the new wing.",
        "Ich habe mein Passwort vergessen.",
    ],
)
def test_words_about_locks_and_odd_names_are_no_secrets(text: str) -> None:
    assert not holds_secret(text)


def test_a_secret_is_off_the_record_after_a_message_that_names_what_it_opens() -> None:
    asks, tells = "how do I get into the shed again", "617."
    assert not any(told_secrets(tells))
    marks = marked([said(1, asks), said(2, tells)], reach=ON_RECORD).messages
    assert [message.is_off_record for message in marks] == [False, True]
    assert marked([said(1, asks)], reach=ON_RECORD).reach == NAMED
    (alone,) = marked([said(2, tells)], reach=ON_RECORD).messages
    assert not alone.is_off_record
    (ordinary,) = marked([said(2, "I live in Leeds.")], reach=ASKED).messages
    assert not ordinary.is_off_record


def test_only_the_ends_of_a_long_text_are_read() -> None:
    tells = "just use hunter2moose to get in"
    assert any(told_secrets(f"{tells}\n{'words ' * 5_000}"))
    assert any(told_secrets(f"{'words ' * 5_000}\n{tells}"))
    assert not any(told_secrets(f"{'words ' * 5_000}\n{tells}\n{'words ' * 5_000}"))


def test_a_text_without_words_tells_nothing() -> None:
    assert not any(told_secrets(""))
    assert not any(told_secrets(" …\n!! "))
    assert tokens_of("…", 0, 1) == []


def test_a_message_that_names_something_locked_is_told_from_others() -> None:
    weights = label_weights(json.loads(WRITTEN.read_text()))
    found = {NAMES: 0, NOTHING: 0}
    sentences = labelled(HERE / "names.tsv")
    for label, text in sentences:
        found[label] += label_of(tokens_of(text, 0, len(text)), weights) == NAMES
    assert found[NAMES] >= 0.7 * sum(label == NAMES for label, _ in sentences)
    assert found[NOTHING] <= 0.05 * sum(label == NOTHING for label, _ in sentences)


def test_most_blocks_of_other_authors_are_held() -> None:
    paths = [path for path in FILES if path.stem.startswith("secrets")]
    results = [judged(block) for path in paths for block in list(blocks(path))[:20]]
    assert sum(not result.leaked for result in results) >= 0.85 * len(results)


def said(number: int, text: str, *, role: str = "user") -> Message:
    chat = {"role": role, "content": text}
    return Message(number, f"m{number}", number, 1, "o200k_base", chat, "2026-03-02")
