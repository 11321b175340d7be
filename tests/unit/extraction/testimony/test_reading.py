"""Which messages of a session are testimony, and that findings rest on nothing else, whoever made
them.
"""

from __future__ import annotations

import pytest
from palimpsest.conversations.message import Chat, text_of
from palimpsest.extraction.checks import ConversationOwner, checked
from palimpsest.extraction.chunk import Chunk, chunk_of
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.testimony.reading import reader_after
from palimpsest.offline.extractor import PatternExtractor

from tests.unit.conversations.window.transcripts import assistant, conversation, user

OWNER = ConversationOwner(tenant="acme", user="sarah", session="s")


def chunk(*chats: Chat) -> Chunk:
    return chunk_of(conversation(*chats), first=1, last=len(chats), room=None)


def contents(*chats: Chat) -> list[str]:
    what = chunk(*chats)
    found = PatternExtractor().extract(what, prompt=None).findings
    return [finding.content for finding in checked(found, what, owner=OWNER).findings]


def dropped(finding: Finding, *chats: Chat) -> dict[str, int]:
    return dict(checked([finding], chunk(*chats), owner=OWNER).dropped)


def model_finding(content: str, quote: str, *seqs: int) -> Finding:
    return Finding("fact", content, seqs or (1,), quote, topic="residence", importance=0.9)


def test_the_twin_beside_a_text_to_translate_is_known() -> None:
    told = user("Translate this: 'I live in Kiel.' By the way, I live in Bonn.")
    assert contents(told) == ["I live in Bonn."]


def test_a_finding_of_a_model_that_quotes_material_is_dropped_with_its_reason() -> None:
    told = user("Translate this: 'I live in Kiel.' By the way, I live in Bonn.")
    wrong = model_finding("The user lives in Kiel.", "I live in Kiel")
    assert dropped(wrong, told) == {"material": 1}
    assert dropped(model_finding("The user lives in Bonn.", "I live in Bonn"), told) == {}


def test_a_finding_that_quotes_own_words_may_not_take_its_names_from_material() -> None:
    told = user("Translate this: 'I live in Kiel.' By the way, I live in Bonn.")
    assert dropped(model_finding("The user lives in Kiel.", "I live in"), told) == {"material": 1}


def test_a_message_of_material_alone_is_skipped_and_so_is_the_answer_to_it() -> None:
    what = chunk(
        user("Translate: I live in Kiel."), assistant("Ich wohne in Kiel."), user("I live in Bonn.")
    )
    assert [text_of(message.chat) for message in what.messages][-1] == "I live in Bonn."
    assert what.skipped == {2: "material"}


@pytest.mark.parametrize(
    ("said", "after"),
    [("I live in Kiel.", "No, just kidding."), ("Vivo en Kiel.", "No, es broma.")],
)
def test_a_no_before_just_kidding_takes_back_the_message_before(said: str, after: str) -> None:
    assert contents(user(said), user(after)) == []
    assert said in contents(user(said), user("No, I'm not joking."))


def test_a_play_holds_until_it_is_ended() -> None:
    begun = user("Let's role-play: I'm Karl and you are my boss.")
    played = user("I live in Kiel.")
    ended = user("End of the role-play. I live in Bonn.")
    assert contents(begun, assistant("Hello Karl."), played) == []
    assert contents(begun, played, ended) == ["I live in Bonn."]


def test_a_message_that_only_says_stop_ends_a_play() -> None:
    told = (user("Let's roleplay. You are the waiter."), assistant("Good evening!"), user("stop."))
    assert contents(*told, user("I live in Leeds.")) == ["I live in Leeds."]


def test_a_play_that_began_before_the_chunk_is_known() -> None:
    reader = reader_after(conversation(user("Let's role-play: I'm Karl.")), user="sarah")
    what = chunk_of(
        conversation(user("I live in Kiel.")), first=1, last=1, room=None, reader=reader
    )
    assert (what.messages, what.skipped) == ((), {1: "material"})


def test_statements_after_a_wish_to_forget_are_read_and_the_answer_to_it_is_not() -> None:
    told = (
        user("I'm in debt."),
        assistant("I see."),
        user("Forget that please. I live in Leeds."),
        assistant("Fine, no word of your debt."),
    )
    assert contents(*told) == ["I live in Leeds."]
    what = chunk(*told)
    assert what.skipped == {1: "off_record", 4: "material"}
    assert what.withheld[3] == (("off_record", "Forget that please. "),)


@pytest.mark.parametrize(
    "text",
    ["Off the record: I live in Kiel.", "Don't remember this, but I live in Kiel.",
     "Ich wohne in Kiel, das bleibt unter uns.", "J'habite à Kiel, ça reste entre nous.",
     "Vivo en Kiel. No guardes esto."],
)  # fmt: skip
def test_nothing_is_made_of_a_message_off_the_record(text: str) -> None:
    what = chunk(user(text), user("I live in Bonn."))
    assert what.skipped == {1: "off_record"}
    assert [message.seq for message in what.messages] == [2]


@pytest.mark.parametrize(
    "text",
    ["Forget what I just said.", "Vergiss, was ich gerade gesagt habe.",
     "Oublie ce que je viens de dire.", "Olvida lo que acabo de decir."],
)  # fmt: skip
def test_what_a_user_takes_back_is_not_extracted(text: str) -> None:
    what = chunk(user("I live in Kiel."), assistant("I see."), user(text), user("I live in Bonn."))
    assert {1, 3} <= set(what.skipped)
    assert [m.seq for m in what.messages if m.role == "user"] == [4]


@pytest.mark.parametrize(
    "text",
    ["I don't remember this place.", "Don't forget that I live in Bonn.",
     "I keep it private at work that I live in Bonn."],
)  # fmt: skip
def test_words_like_those_off_the_record_are_read(text: str) -> None:
    assert len(chunk(user(text)).messages) == 1


def test_a_finding_that_repeats_a_secret_is_dropped() -> None:
    told = user("My password is hunter2sesame and I live in Bonn.")
    wrong = model_finding("The user unlocks with hunter2sesame.", "I live in Bonn")
    assert dropped(wrong, told) == {"secret": 1}
    assert dropped(model_finding("The user lives in Bonn.", "I live in Bonn"), told) == {}
    assert contents(told) == ["I live in Bonn."]
