"""The cross-encoder that ships with the functions: what it puts first, and that it stops in
time.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from palimpsest.errors import ModelUnavailable
from palimpsest.models.builtin import BuiltinEmbedder, BuiltinReranker

from tests.engines import builtin_models
from tests.engines.npm import required

QUESTION = "What is she allergic to?"
FITS, FAR, EMPTY = "I am allergic to shellfish, oddly enough.", "My favourite editor is Vim.", ""


@pytest.fixture(scope="module")
def reranker() -> BuiltinReranker:
    if reason := builtin_models.install():
        pytest.fail(reason) if required() else pytest.skip(reason)
    made = BuiltinReranker(builtin_models.FOLDER)
    made.scores(QUESTION, [FITS], until=time.monotonic() + 60)
    return made


def test_each_text_has_a_score_in_its_place_and_what_answers_has_the_best(
    reranker: BuiltinReranker,
) -> None:
    fits, far, empty, again = reranker.scores(
        QUESTION, [FITS, FAR, EMPTY, FITS], until=time.monotonic() + 60
    )
    assert fits == again > max(far, empty)


def test_texts_that_are_read_together_score_about_as_alone_each_in_its_place(
    reranker: BuiltinReranker,
) -> None:
    texts = [
        f"{FITS if number % 3 else FAR} {'So I was told. ' * (number % 7)}{number}"
        for number in range(24)
    ]
    together = reranker.scores(QUESTION, texts, until=time.monotonic() + 600)
    alone = [reranker.scores(QUESTION, [text], until=time.monotonic() + 600)[0] for text in texts]
    assert together == pytest.approx(alone, abs=1.5)
    assert max(alone) - min(alone) > 5


@pytest.mark.parametrize("text", ["\x00", "\ud800", "字" * 20_000, "word " * 20_000])
def test_any_text_has_a_score(reranker: BuiltinReranker, text: str) -> None:
    assert len(reranker.scores(text, [text], until=time.monotonic() + 60)) == 1


def test_a_text_that_is_far_too_long_takes_no_longer_than_one_that_fills_the_model(
    reranker: BuiltinReranker,
) -> None:
    def took(text: str) -> float:
        begun = time.process_time()
        reranker.scores(text, [text], until=time.monotonic() + 60)
        return time.process_time() - begun

    fills, too_long = (min(took("word " * words) for _ in range(3)) for words in (500, 20_000))
    assert too_long < 10 * fills


def test_it_stops_in_time_and_what_it_did_not_reach_has_no_score(reranker: BuiltinReranker) -> None:
    assert reranker.scores(QUESTION, [FITS], until=time.monotonic() - 1) == []
    begun = time.monotonic()
    scores = reranker.scores(QUESTION, [FITS] * 10_000, until=begun + 0.3)
    assert 0 < len(scores) < 10_000
    assert time.monotonic() - begun < 30


def test_without_its_files_it_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable):
        BuiltinReranker(tmp_path).scores(QUESTION, [FITS], until=time.monotonic() + 60)


@pytest.mark.parametrize("model", [BuiltinReranker, BuiltinEmbedder])
def test_it_loads_beside_what_the_process_does(
    reranker: BuiltinReranker, model: type[BuiltinReranker | BuiltinEmbedder]
) -> None:
    fresh = model(builtin_models.FOLDER)
    fresh.load_soon()
    waits = time.monotonic() + 60
    while fresh._model._loaded is None and time.monotonic() < waits:
        time.sleep(0.01)
    assert fresh._model._loaded is not None
    if isinstance(fresh, BuiltinReranker):
        assert len(fresh.scores(QUESTION, [FITS], until=time.monotonic() + 60)) == 1


def test_a_model_that_is_not_there_stops_nothing_until_it_is_asked(tmp_path: Path) -> None:
    nowhere = BuiltinReranker(tmp_path)
    nowhere.load_soon()
    with pytest.raises(ModelUnavailable):
        nowhere.scores(QUESTION, [FITS], until=time.monotonic() + 60)


def test_both_models_load_side_by_side_in_a_fresh_process(reranker: BuiltinReranker) -> None:
    """Until imports took turns, a third of such processes of Python 3.13 found half of numpy."""
    code = (
        "import threading, time; from pathlib import Path; folder = Path({folder!r})\n"
        "from palimpsest.models.builtin import BuiltinEmbedder as Embedder\n"
        "from palimpsest.models.builtin import BuiltinReranker as Reranker\n"
        "embedder, reranker, done = Embedder(folder), Reranker(folder), []\n"
        "ways = (lambda: embedder.embed(['a']), lambda: reranker.scores('a', ['b'], "
        "until=time.monotonic() + 60))\n"
        "threads = [threading.Thread(target=lambda way=way: done.append(way())) for way in ways]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]; "
        "print(len(done))"
    )
    for _ in range(3):
        command = [sys.executable, "-c", code.format(folder=str(builtin_models.FOLDER))]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        assert ran.stdout.strip() == "2", ran.stderr
