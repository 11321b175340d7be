import random
import string
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiktoken
import tiktoken_ranks  # type: ignore[import-untyped] # data alone
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.models.ports import TokenCounter
from palimpsest.models.tiktoken_counter import (
    PIECE,
    SHORT,
    SHORT_PART,
    TABLES,
    RanksMissing,
    TiktokenCounter,
    pieces,
)

COUNTER = TiktokenCounter()
SHORT_COUNTER = TiktokenCounter()  # it is never given a long text
WORDS = "abcdefghijklmnopqrstuvwxyzäöéßАбвгд漢字かな😀 '.,\n0123456789"
SAID = (
    "naïve",
    "façade",
    "antidisestablishmentarianism",
    "Zürich",
    "Москва",
    "我搬到里斯本去住了",
    "👩‍👩‍👧",
    "e=mc²",
    "$300",
    "I'll",
    "\t\n ",
)


@pytest.fixture(autouse=True)
def _tables_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """What tiktoken itself loads is the same files, and no download."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(Path(tiktoken_ranks.__path__[0])))


@pytest.mark.parametrize("name", sorted(TABLES))
def test_an_encoding_is_the_one_that_tiktoken_loads(name: str) -> None:
    COUNTER.count("hello " * SHORT, name)  # a long text loads it
    ours, theirs = COUNTER._loaded[name], tiktoken.get_encoding(name)
    assert ours._mergeable_ranks == theirs._mergeable_ranks
    assert ours._pat_str == theirs._pat_str


def test_it_counts_as_tiktoken_does() -> None:
    counter: TokenCounter = COUNTER
    text = "Sarah's desk costs $300, naïve façade, 漢字 and 👩‍👩‍👧."
    for encoding in ("o200k_base", "cl100k_base"):
        assert counter.count(text, encoding) == len(
            tiktoken.get_encoding(encoding).encode_ordinary(text)
        )


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        (None, "o200k_base"),
        ("gpt-4.1-nano", "o200k_base"),
        ("gpt-4-0613", "cl100k_base"),
        ("openai/GPT-3.5-turbo", "cl100k_base"),
        ("gpt-oss-20b", "o200k_base"),
        ("text-davinci-003", "o200k_base"),
        ("qwen2.5:7b", "o200k_base"),
        ("", "o200k_base"),
    ],
)
def test_every_model_has_an_encoding_that_ships(model: str | None, encoding: str) -> None:
    assert COUNTER.encoding_for(model) == encoding
    assert COUNTER.count("hello", encoding) == 1


def test_the_names_of_special_tokens_are_counted_as_plain_text() -> None:
    assert COUNTER.count("<|endoftext|>", "o200k_base") > 1


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(ValueError, match="p50k_base"):
        COUNTER.count("hello", "p50k_base")


def test_missing_or_damaged_tables_are_named_instead_of_downloaded(tmp_path: Path) -> None:
    counter = TiktokenCounter(tmp_path)
    with pytest.raises(RanksMissing, match="o200k_base"):
        counter.count("hello", "o200k_base")
    for name in (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "fb374d419588a4632f3f557e76b4b70aebbca790.sorted",
    ):
        damaged = tmp_path / name
        damaged.write_bytes(b"YQ== 0\n")
        with pytest.raises(RanksMissing, match="damaged"):
            TiktokenCounter(tmp_path).count("hello", "o200k_base")
        assert damaged.exists()


def test_tables_that_were_installed_without_sorted_ones_count_as_well(tmp_path: Path) -> None:
    for table in TABLES.values():
        (tmp_path / table.file).symlink_to(Path(tiktoken_ranks.__path__[0]) / table.file)
    assert TiktokenCounter(tmp_path).count("Sarah's desk", "o200k_base") == 3


@pytest.mark.parametrize("encoding", sorted(TABLES))
@given(text=st.one_of(st.text(), st.text(WORDS), st.lists(st.sampled_from(SAID)).map(" ".join)))
def test_a_short_text_is_counted_as_tiktoken_does_without_its_table(
    encoding: str, text: str
) -> None:
    counter = SHORT_COUNTER
    assert counter.count(text, encoding) == len(
        tiktoken.get_encoding(encoding).encode_ordinary(text)
    )
    assert not counter._loaded


def test_half_a_character_is_counted_as_tiktoken_does() -> None:
    assert TiktokenCounter().count("a\ud83d!", "o200k_base") == len(
        tiktoken.get_encoding("o200k_base").encode_ordinary("a\ud83d!")
    )


def test_a_process_that_counts_much_loads_the_table() -> None:
    counter = TiktokenCounter()
    chance = random.Random(1)
    for _ in range(100):
        text = " ".join("".join(chance.choices(string.ascii_letters, k=8)) for _ in range(300))
        assert counter.count(text, "o200k_base") == COUNTER.count(text, "o200k_base")
        if counter._loaded:
            break
    assert counter._loaded


@pytest.mark.parametrize("text", ["word " * SHORT, "a" * (SHORT_PART + 1)])
def test_what_would_take_long_is_counted_by_the_whole_table(text: str) -> None:
    counter = TiktokenCounter()
    assert counter.count(text, "o200k_base") == len(
        tiktoken.get_encoding("o200k_base").encode_ordinary(text)
    )
    assert counter._loaded


def test_importing_the_counter_loads_no_tiktoken() -> None:
    code = "import sys, palimpsest.models.tiktoken_counter; print('tiktoken' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("unit", ["a", " ", "\t", "😀", "!", "1", "word ", "漢"])
def test_text_that_repeats_itself_is_counted_in_linear_time_and_never_overflows(unit: str) -> None:
    text = unit * (1_000_000 // len(unit)) + "x"
    begun = time.process_time()
    assert COUNTER.count(text, "o200k_base") > 7_000
    assert time.process_time() - begun < 60  # a quadratic count takes minutes


@given(st.lists(st.text(max_size=40), max_size=6), st.sampled_from([" ", "  ", "\n ", "z", " a"]))
def test_a_long_text_is_cut_where_no_token_crosses(parts: list[str], filler: str) -> None:
    text = " and ".join(parts).join(["so it goes, "] * 2) + filler * 100 + " word" * (PIECE // 4)
    assert "".join(pieces(text)) == text
    whole = len(tiktoken.get_encoding("o200k_base").encode_ordinary(text))
    assert COUNTER.count(text, "o200k_base") == whole


@given(st.text())
def test_any_text_is_counted(text: str) -> None:
    count = COUNTER.count(text, "cl100k_base")
    assert (count == 0) == (text == "")
    assert count <= len(text.encode())
