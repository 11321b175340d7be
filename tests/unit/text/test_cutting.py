import re

import pytest
import regex  # type: ignore[import-untyped] # it ships no types
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.text.cutting import ELLIPSIS, _before, _behind, cut, level, replacement, shortened

from tests.unit.conversations.window.transcripts import PIECES, in_bytes, quarter, texts

MARKER = re.compile(r"\n\[… (\d+) tokens of (message \d+|this message) left out …\]\n")

mixtures = st.lists(st.sampled_from(PIECES), max_size=300).map("".join)
limits = st.integers(0, 400)


def clusters(text: str) -> list[str]:
    found: list[str] = regex.findall(r"\X", text)
    return found


def test_a_text_that_fits_is_not_touched() -> None:
    assert cut("hello", limit=2, count=quarter) == ("hello", 2)


def test_a_marker_says_how_much_of_which_message_is_missing() -> None:
    text, tokens = cut("word " * 1_000, limit=100, count=quarter, seq=17)
    missing = MARKER.search(text)
    assert missing is not None
    assert missing[2] == "message 17"
    assert abs(int(missing[1]) - (1_250 - tokens + quarter(missing[0]))) <= 1
    assert tokens == quarter(text) <= 100


def test_a_message_that_is_not_stored_is_named_so() -> None:
    assert "of this message left out" in cut("word " * 1_000, limit=100, count=quarter)[0]


def test_beginning_and_end_are_kept() -> None:
    text, _ = cut("BEGIN" + "word " * 1_000 + "END", limit=50, count=quarter, seq=1)
    assert text.startswith("BEGINword")
    assert text.endswith("word END")


def test_where_no_marker_fits_the_beginning_stands_alone() -> None:
    assert cut("word " * 1_000, limit=3, count=quarter, seq=1) == ("word wor" + ELLIPSIS, 3)


def test_where_nothing_fits_nothing_is_left() -> None:
    assert cut("word " * 1_000, limit=0, count=quarter) == ("", 0)
    assert shortened("word " * 1_000, limit=-5, count=quarter) == ("", 0)


def test_a_character_longer_than_the_room_goes_whole() -> None:
    text, _ = cut("e" + "\u0301" * 5_000, limit=60, count=quarter, seq=1)
    assert MARKER.fullmatch(text)


def test_replaced_arguments_are_json() -> None:
    assert replacement(812, 17) == '{"left out": "812 tokens of message 17"}'


@given(mixtures | texts, limits, st.sampled_from([quarter, in_bytes]))
def test_a_cut_text_fits_and_no_character_is_split(text: str, limit: int, count: object) -> None:
    short, tokens = cut(text, limit=limit, count=count, seq=1)  # type: ignore[arg-type]
    assert tokens == count(short) <= max(limit, 0)  # type: ignore[operator]
    if short == text:
        return
    head, _, tail = (
        short.partition(marker_in(short))
        if marker_in(short)
        else (short.removesuffix(ELLIPSIS), "", "")
    )
    whole = clusters(text)
    assert clusters(head) == whole[: len(clusters(head))]
    assert clusters(tail) == whole[len(whole) - len(clusters(tail)) :]


def marker_in(text: str) -> str:
    found = MARKER.search(text)
    return found[0] if found else ""


@given(mixtures | texts, limits)
def test_a_shortened_text_is_a_beginning_that_fits(text: str, limit: int) -> None:
    short, tokens = shortened(text, limit=limit, count=quarter)
    assert tokens == quarter(short) <= limit
    kept = short.removesuffix(ELLIPSIS)
    assert text.startswith(kept)
    assert kept == "".join(clusters(text)[: len(clusters(kept))])


def test_a_shortened_text_ends_with_a_sentence_if_one_is_near() -> None:
    text = "Sarah works in Marketing. She may work remotely. She asks about form HR-101 and 3.5 more things"
    assert (
        shortened(text, limit=20, count=quarter)[0]
        == "Sarah works in Marketing. She may work remotely."
    )
    assert shortened("日本語の文です。" * 40, limit=15, count=quarter)[0] == "日本語の文です。" * 7
    assert re.fullmatch(
        "word(word){11,}.?.?.?…", shortened("word" * 100, limit=15, count=quarter)[0]
    )


@pytest.mark.parametrize(
    "text", ["word " * 200_000, "日本語の文です。" * 50_000, "👩‍👩‍👧‍👦" * 40_000, "x" * 900_000]
)
def test_a_huge_text_is_cut_with_few_counts_of_short_texts(text: str) -> None:
    counted: list[int] = []

    def count(part: str) -> int:
        counted.append(len(part))
        return quarter(part)

    short, tokens = cut(text, limit=500, count=count, tokens=quarter(text), seq=1)
    assert 400 < tokens <= 500
    assert len(counted) <= 4
    assert max(counted) <= 2 * len(short)


# Characters that join others in every way that there is.
JOINERS = (
    "a",
    "1",
    "©",
    "日",
    "e\u0301",
    "👩‍👩‍👧",
    "🇩🇪",
    "\r",
    "\n",
    "\u0600",
    "क्ष",
    "가",
    "ᄀ",
    "ᅡ",
    "\u200d",
    "\u202e",
)


@given(st.lists(st.sampled_from(JOINERS), max_size=400).map("".join), st.integers(0, 800))
def test_a_place_between_characters_is_found_without_reading_the_whole_text(
    text: str, place: int
) -> None:
    place = min(place, len(text))
    ends = [0, *(match.end() for match in regex.finditer(r"\X", text))]
    assert _before(text, place) == max(end for end in ends if end <= place)
    assert _behind(text, place) == min(end for end in ends if end >= place)


def test_a_text_whose_ends_are_denser_than_its_middle_still_fits() -> None:
    text = "é日" * 300 + " " * 50_000 + "日é" * 300

    def dense(part: str) -> int:
        return len(part.replace(" ", "").encode()) + part.count(" ") // 60

    short, tokens = cut(text, limit=200, count=dense, seq=1)
    assert 100 < tokens <= 200
    assert short.startswith("é日")


@given(st.lists(st.integers(0, 1_000), max_size=12), st.integers(0, 6_000))
def test_a_level_is_the_highest_at_which_all_fit(sizes: list[int], room: int) -> None:
    height = level(sizes, room=room)
    assert sum(min(size, height) for size in sizes) <= room
    assert height == max(sizes, default=0) or sum(min(size, height + 1) for size in sizes) > room


def test_a_level_leaves_the_small_ones_whole() -> None:
    assert level([10, 500, 20, 900], room=230) == 100
    assert level([10, 20], room=-5) == 0
