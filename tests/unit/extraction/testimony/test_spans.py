"""What of a message is its speaker's own testimony. Each piece of material has a twin beside it
that is the speaker's own.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.extraction.testimony.spans import own_text, spans


def own(text: str) -> str:
    return own_text(text, spans(text, user="sarah"))


@pytest.mark.parametrize(
    "text",
    [
        "Translate this: 'I live in Kiel.' By the way, I live in Bonn.",
        "Translate into German: I live in Kiel.\n\nI live in Bonn.",
        "I live in Bonn. Summarize this e-mail from Tom: Hi Sarah, I live in Kiel now. Best, Tom",
        "Summarize this mail:\n\nHi Jo,\n\nI live in Kiel.\nBtw, Kiel is fine.\n\nBest,\nTom\n\nI live in Bonn.",
        "Can you proofread this sentence?\nI lives in Kiel.\nBy the way, I live in Bonn.",
        "Shorten the following text: I live in Kiel. It is nice. Actually, I live in Bonn.",
        "Reply to this message: I live in Kiel, come over. Btw, I live in Bonn.",
        "How do you say 'I live in Kiel' in German? I live in Bonn.",
        'My boss said "I live in Kiel" and I live in Bonn.',
        "> I live in Kiel\nI live in Bonn.",
        "```\nI live in Kiel\n```\nI live in Bonn.",
        "From: Tom\nSubject: News\n\nI live in Kiel.\n\nBest,\nTom\n\nI live in Bonn.",
        "User: I live in Kiel\nAssistant: Kiel is nice.\n\nI live in Bonn.",
        "2026-01-01 10:00:00 INFO the user lives in Kiel\nI live in Bonn.",
        '{"city": "Kiel", "name": "Tom"}\nI live in Bonn.',
        'city = "Kiel"\nI live in Bonn.',
        "Write a story where I live in Kiel. I have a dog. By the way, I live in Bonn.",
        "Let's role-play: I'm Karl from Kiel. End of the role-play. I live in Bonn.",
        "Pretend you are my landlord in Kiel. In reality, I live in Bonn.",
        "If I lived in Kiel, I'd have a boat. I live in Bonn.",
        "I live in Bonn, but if I lived in Kiel, I'd have a boat.",
        "I wish I lived in Kiel, but I live in Bonn.",
        "Imagine I live in Kiel. By the way, I live in Bonn.",
        "For example, say I live in Kiel. By the way, I live in Bonn.",
        "I live in Bonn.\nI live in Kiel. Just kidding!",
        "Übersetze bitte: „Ich wohne in Kiel.“ Übrigens, ich wohne in Bonn.",
        "Fasse diese Mail zusammen: Hallo Sarah, ich wohne in Kiel. Übrigens, ich wohne in Bonn.",
        "Wenn ich in Kiel wohnen würde, hätte ich ein Boot. Ich wohne in Bonn.",
        "Angenommen, ich wohne in Kiel. In Wirklichkeit wohne ich in Bonn.",
        "Traduis : « J'habite à Kiel. » Au fait, j'habite à Bonn.",
        "Si j'habitais à Kiel, j'aurais un bateau. J'habite à Bonn.",
        "Traduce: «Vivo en Kiel.» Por cierto, vivo en Bonn.",
        "Si viviera en Kiel, tendría un barco. Vivo en Bonn.",
    ],
)
def test_material_is_left_out_and_the_own_words_beside_it_stay(text: str) -> None:
    assert "Kiel" not in own(text)
    assert "Bonn" in own(text)


@pytest.mark.parametrize(
    "text",
    [
        "My name is Sarah, I'm vegan and I don't like olives. Don't suggest meat.",
        "I like fruit, for example apples.",
        "I translate texts: I work at Acme.",
        "Check my plan: I moved to Bonn.",
        "If I ask in German, reply in German.",
        "Hi there,\nI live in Bonn.\nThanks,\nSarah",
        "Dear Assistant,\nI live in Bonn.\n\nBest,\nSarah",
        "Name: Sarah\nCity: Bonn\nJob: nurse",
        "Note: I live in Bonn.",
        "I play the guitar and I use `vim` at work.",
        "I want to write a novel one day. I live in Bonn.",
        "Answer: I live in Bonn.",
        "I'm going to play football with Ann on Friday.",
        'My favourite song is called "Hello".',
    ],
)
def test_what_the_speaker_says_of_themselves_is_read_as_it_is(text: str) -> None:
    assert own(text) == text


@given(st.text(max_size=200) | st.lists(st.sampled_from(
    ["Translate this: ", "'", "I live in Kiel. ", "\n", "> ", "```\n", "if I had ", '"', "said "]
)).map("".join))  # fmt: skip
def test_the_spans_cover_a_text_once_in_order(text: str) -> None:
    found = spans(text)
    assert "".join(text[span.start : span.end] for span in found) == text
    assert all(span.start < span.end for span in found)
    assert all(span.reason for span in found if span.kind != "own")


@pytest.mark.parametrize(
    "unit",
    ["I ", "translate this:", "\n", "> \n", 'say "', "Hi Tom,\n", "From: a\nTo: b\n", '{"a":', "`",
     "```\n", "imagine I ", "[1:1", "((((", "x(", "Best,\n", "kidding! ", "if I had ", "    "],
)  # fmt: skip
def test_the_time_for_any_text_is_in_proportion_to_it(unit: str) -> None:
    text = unit * (250_000 // len(unit))
    begun = time.process_time()
    spans(text)
    assert time.process_time() - begun < 8  # of a slow machine; a quadratic one takes minutes
