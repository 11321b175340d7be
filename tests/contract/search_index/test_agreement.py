"""All engines score alike, so that what is measured on one machine holds in every tier."""

import random
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from palimpsest.models.ports import Space
from palimpsest.scope import UserScope
from palimpsest.search.ports import Hit

from tests.contract.search_index.builders import Part, document, keys
from tests.contract.search_index.conftest import place_in
from tests.doubles.owned_index import OwnedIndex

WORDS = (
    "remote work policy approval manager chair allowance dollar week month abroad notice form "
    "tenure review rating "
    "customer project release database migration recipe tomato garden fern water train station "
    "ticket hotel knee run "
    "marathon budget rent salary invoice piano lesson exam grammar battery charger refund "
    "Krankenversicherung "
    "Hausschlüssel 北京 地铁上班 猫の名前 東京で働く 고양이는 생일은 القاهرة السيارة كتابها l'équipe entraînement"
)
SPACE = Space("agreement", 16)
OWNERS = [UserScope("acme", user) for user in ("sarah", "david", "mei")]
ENGINES = ("embedded", "dynamodb", "opensearch")


def text(chance: random.Random, lengths: tuple[int, ...]) -> str:
    return " ".join(chance.choices(WORDS.split(), k=chance.choice(lengths)))


def vector(chance: random.Random) -> list[float]:
    return [chance.gauss(0, 1) for _ in range(SPACE.dimension)]


@pytest.fixture(scope="module")
def every(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[list[Part]]]:
    """The same documents in all engines: for each owner, the part in each engine."""
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("agreement")
        places = [
            stack.enter_context(place_in(engine, folder, request))
            for engine in ("embedded", "dynamodb", "opensearch")
        ]
        for place in places:
            place.open(SPACE).prepare()
        parts = [
            [Part(place, OwnedIndex(place.open(SPACE), owner)) for place in places]
            for owner in OWNERS
        ]
        chance = random.Random(7)
        for owned in parts:
            documents = [
                document(f"d{number:03}", text(chance, (3, 8, 20, 60, 400)), vector=vector(chance))
                for number in range(40)
            ]
            for part in owned:
                part.put(*documents)
        yield parts


def same(one: tuple[Hit, ...], other: tuple[Hit, ...]) -> None:
    assert [hit.score for hit in one] == pytest.approx(
        [hit.score for hit in other], rel=1e-4, abs=1e-5
    )
    assert keys(one) == keys(other)


def test_words_give_the_same_hits_in_the_same_order_with_the_same_scores(
    every: list[list[Part]],
) -> None:
    chance = random.Random(8)
    for _ in range(30):
        query = text(chance, (1, 3, 8))
        for owned in every:
            embedded, *others = (part.index.by_words(query, k=20) for part in owned)
            for other in others:
                same(embedded, other)


def test_vectors_give_the_same_hits_in_the_same_order_with_the_same_scores(
    every: list[list[Part]],
) -> None:
    chance = random.Random(9)
    for _ in range(30):
        query = vector(chance)
        for owned in every:
            embedded, *others = (part.index.by_vector(query, k=20) for part in owned)
            for other in others:
                same(embedded, other)
