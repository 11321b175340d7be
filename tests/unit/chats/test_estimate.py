"""The tokens of an import, and what they cost."""

import json
from pathlib import Path

import pytest
from palimpsest.extraction.model import SCHEMA
from palimpsest.models.catalogue import model_catalogue
from palimpsest.models.tiktoken_counter import TiktokenCounter
from palimpsest.prompts import files as prompts
from palimpsest_client.chats.conversation import Chat
from palimpsest_client.chats.estimate import PROMPT_TOKENS, estimate, prices, tokens_of

ROOT = Path(__file__).parents[3]
TEXTS = {
    "English": "On Sunday we repaired the old boat; Grandpa had kept its red paint for ten years.",
    "German": "Am Sonntag haben wir das alte Boot repariert, denn die Farbe war noch brauchbar.",
    "Spanish": "El domingo arreglamos la barca vieja, porque la pintura todavía servía.",
    "Russian": "В воскресенье мы чинили старую лодку, потому что краска ещё была хорошей.",
    "Chinese": "星期天我们修好了旧船,因为红色的油漆还能用,爷爷保存了十年。",
}


def counted(text: str) -> int:
    return TiktokenCounter().count(text, "o200k_base")


@pytest.mark.parametrize("language", TEXTS)
def test_an_estimate_is_near_the_tokens_of_a_language(language: str) -> None:
    assert tokens_of(TEXTS[language]) == pytest.approx(counted(TEXTS[language]), rel=0.3)


@pytest.mark.parametrize("file", ["CONTRIBUTING.md", "layers/client/write_types.py"])
def test_an_estimate_is_near_the_tokens_of_documents_and_code(file: str) -> None:
    text = (ROOT / file).read_text()
    assert tokens_of(text) == pytest.approx(counted(text), rel=0.25)


def test_the_tokens_of_a_call_are_about_those_that_the_service_sends() -> None:
    said = prompts.load("extraction") + prompts.load("extraction_rules") + json.dumps(SCHEMA.body)
    assert pytest.approx(counted(said), rel=0.35) == PROMPT_TOKENS


def test_the_prices_are_those_of_the_service() -> None:
    assert prices() == model_catalogue().prices


def test_an_import_is_counted_and_priced() -> None:
    said = {"role": "user", "content": "I live in Bremen. " * 100}
    answered = {"role": "assistant", "content": [{"type": "text", "text": "Fine."}]}
    found = estimate([Chat("a", [said, answered] * 30), Chat("b", [said])])
    assert (found.conversations, found.messages, found.model_calls) == (2, 61, 4)
    assert found.cost_usd is not None
    assert 0.002 < found.cost_usd < 0.01
    assert estimate([Chat("a", [said])], "unheard-of").cost_usd is None
