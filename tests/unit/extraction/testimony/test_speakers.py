"""Whose statement a finding is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palimpsest.conversations.message import Chat
from palimpsest.extraction.checks import ConversationOwner, checked
from palimpsest.extraction.chunk import chunk_of
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.testimony.objections import announces_only
from palimpsest.offline.extractor import PatternExtractor

from tests.unit.conversations.window.transcripts import conversation, user

Stated = tuple[str | None, str | None]


def stated(*chats: Chat, user_id: str = "sarah", by: Finding | None = None) -> list[Stated]:
    what = chunk_of(conversation(*chats), first=1, last=len(chats), room=None)
    found = [by] if by else PatternExtractor().extract(what, prompt=None).findings
    owner = ConversationOwner(tenant="acme", user=user_id, session="s")
    return [(one.subject, one.topic) for one in checked(found, what, owner=owner).findings]


def test_what_a_message_of_another_name_says_is_about_that_person() -> None:
    told = {"role": "user", "name": "Bob", "content": "I live in Kiel."}
    assert stated(told) == [("bob", "bob residence")]
    assert stated({**told, "name": "Sarah"}) == [("user", "residence")]
    assert stated(user("I live in Kiel.")) == [("user", "residence")]


def test_a_finding_of_a_model_is_about_the_speaker_too() -> None:
    told = {"role": "user", "name": "Bob", "content": "I live in Kiel."}
    wrong = Finding("fact", "The user lives in Kiel.", (1,), "I live in Kiel", topic="residence",
                    subject="user", importance=0.9)  # fmt: skip
    assert stated(told, by=wrong) == [("bob", "bob residence")]


@pytest.mark.parametrize("text", ["Bob: I live in Kiel.", "Ann: Hi!\nBob: I live in Kiel."])
def test_a_labelled_line_is_said_by_whom_it_names(text: str) -> None:
    assert stated(user(text)) == [("bob", "bob residence")]
    assert stated(user(text.replace("Bob", "Sarah"))) == [("user", "residence")]
    assert stated(user("Note: I live in Kiel.")) == [("user", "residence")]


@pytest.mark.parametrize(
    "heading",
    ["Flat", "Rent", "Helpers", "Living room", "Feb", "Wohnung", "Fußboden", "Logement", "Piso"],
)
@pytest.mark.parametrize("around", ["{}", "Venue: booked at last.\n{}\nBand: they want £900."])
def test_a_heading_names_no_speaker(heading: str, around: str) -> None:
    text = around.format(f"{heading}: I live in Kiel.")
    assert ("user", "residence") in stated(user(text))


@pytest.mark.parametrize(
    ("label", "speaker"), [("Sent. Bristol", "user"), ("Dr. Weber", "dr. weber"), ("J.R.", "j.r.")]
)
def test_a_speaker_begins_the_line(label: str, speaker: str) -> None:
    assert [subject for subject, _ in stated(user(f"{label}: I live in Kiel."))] == [speaker]


def test_the_only_name_of_a_user_whose_id_is_none_is_the_users() -> None:
    told = {"role": "user", "name": "Bob", "content": "I live in Kiel."}
    assert stated(told, user_id="u-17") == [("user", "residence")]
    other = {"role": "user", "name": "Ann", "content": "Hello all."}
    assert stated(told, other, user_id="u-17") == [("bob", "bob residence")]


@pytest.mark.parametrize(
    "text",
    ["Bob says he lives in Kiel.", "Bob said that I live in Kiel.", "Bob says: I live in Kiel."],
)
def test_what_somebody_is_said_to_say_moves_no_topic_of_the_user(text: str) -> None:
    wrong = Finding("fact", "Lives in Kiel.", (1,), text[:-1], topic="residence", subject="user",
                    importance=0.9)  # fmt: skip
    assert stated(user(text), by=wrong) == [("bob", "bob residence")]
    assert ("user", "residence") not in stated(user(text))
    said = replace(wrong, quote="I live in Bonn", content="The user lives in Bonn.")
    assert stated(user(f"{text} I live in Bonn."), by=said) == [("user", "residence")]


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("The user lives in Kiel.", "Bob lives in Kiel."),
        ("The user's home is in Kiel.", "Bob's home is in Kiel."),
        ("Der Nutzer wohnt in Kiel.", "Bob wohnt in Kiel."),
        ("L'utilisateur habite à Kiel.", "Bob habite à Kiel."),
        ("El usuario vive en Kiel.", "Bob vive en Kiel."),
        ("Bob lives in Kiel.", "Bob lives in Kiel."),
        ("I live in Kiel.", "Bob: I live in Kiel."),
    ],
)
def test_a_models_statement_of_somebody_else_names_them(said: str, stored: str) -> None:
    chat: Chat = {"role": "user", "name": "Bob", "content": "I live in Kiel."}
    what = chunk_of(conversation(chat), first=1, last=1, room=None)
    finding = Finding("fact", said, (1,), "I live in Kiel", subject="user", importance=0.9)
    owner = ConversationOwner(tenant="acme", user="sarah", session="s")
    (found,) = checked([finding], what, owner=owner).findings
    assert (found.content, found.subject, found.speaker) == (stored, "bob", "Bob")


def test_the_label_of_the_users_own_line_is_no_part_of_the_statement() -> None:
    chat = user("sarah: I live in Kiel.\nBob: I live in Bonn.")
    what = chunk_of(conversation(chat), first=1, last=1, room=None)
    findings = PatternExtractor().extract(what, prompt=None).findings
    owner = ConversationOwner(tenant="acme", user="sarah", session="s")
    contents = {
        found.content: found.speaker for found in checked(findings, what, owner=owner).findings
    }
    assert contents == {"I live in Kiel.": None, "Bob: I live in Bonn.": "Bob"}


def test_what_the_assistant_says_of_the_user_is_its_own_statement() -> None:
    answer: Chat = {"role": "assistant", "content": "You live in Madrid."}
    told = conversation(user("Where should I go in May?"), answer)
    what = chunk_of(told, first=1, last=2, room=None)
    finding = Finding(
        "fact", "Lives in Madrid.", (2,), "You live in Madrid", topic="residence", importance=0.9
    )
    owner = ConversationOwner(tenant="acme", user="sarah", session="s")
    (found,) = checked([finding], what, owner=owner).findings
    assert (found.subject, found.topic, found.speaker) == (
        "assistant",
        "assistant residence",
        "assistant",
    )
    (both,) = checked([replace(finding, seqs=(1, 2))], what, owner=owner).findings
    assert (both.topic, both.speaker) == ("residence", None)


@pytest.mark.parametrize(
    "text",
    [
        "This is Tom, Sarah's husband. I live in Kiel.",
        "Tom here, borrowing Sarah's phone. I live in Kiel.",
        "Hier ist Tom, der Mann von Sarah. Ich wohne in Kiel.",
    ],
)
def test_somebody_who_writes_instead_of_the_user_says_so(text: str) -> None:
    assert ("tom", "tom residence") in stated(user(text))
    assert ("user", "residence") not in stated(user(text))
    assert ("user", "residence") in stated(user("This is Sarah. I live in Kiel."))


@pytest.mark.parametrize(
    "text", ["[Tom] I live in Kiel.\n[Sarah] Nice!", "Tom -> I live in Kiel.\nSarah -> Nice!"]
)
def test_two_lines_in_a_rare_form_have_speakers(text: str) -> None:
    assert stated(user(text)) == [("tom", "tom residence")]


@pytest.mark.parametrize(
    "text",
    [
        "As Bob put it: I live in Kiel.",
        "Bob is telling me he lives in Kiel.",
        "According to Bob he lives in Kiel.",
        "Bob dit qu'il habite à Kiel.",
        "Bob m'a raconté qu'il habite à Kiel.",
    ],
)
def test_the_words_of_somebody_are_given_in_other_ways_than_he_says(text: str) -> None:
    wrong = Finding("fact", text, (1,), text, subject="user", importance=0.9)
    assert stated(user(text), by=wrong) == [("bob", None)]


def test_a_message_by_the_name_user_is_the_users() -> None:
    told = {"role": "user", "name": "User", "content": "I live in Kiel."}
    assert stated(told) == [("user", "residence")]


def test_an_order_before_a_quotation_is_no_name() -> None:
    text = "Reformule : « Je travaille chez Renault. » J'habite à Kiel."
    assert [subject for subject, _ in stated(user(text))] == ["user"]


@pytest.mark.parametrize(
    "stub",
    ["Mail I got.", "My teacher wrote", "My teacher wrote:", "Mein Arzt sagt", "Shorten this:"],
)
def test_words_that_only_announce_others_are_no_memory(stub: str) -> None:
    assert stated(user(stub)) == []
    whole = Finding("fact", stub, (1,), stub, subject="user", importance=0.9)
    assert stated(user(stub), by=whole) == []


def test_a_statement_of_oneself_may_end_with_a_colon() -> None:
    assert not announces_only("I live in Kiel, so write it without jargon:")
    assert not announces_only("My sister writes for the Guardian.")
