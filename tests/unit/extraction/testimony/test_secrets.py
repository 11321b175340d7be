"""Secrets make no memory, and what is said beside them does."""

from __future__ import annotations

import time

import pytest
from palimpsest.extraction.testimony.spans import own_text, secret_spans, spans
from palimpsest.privacy.secrets import holds_secret, is_card, is_iban

SECRETS = [
    ("My password is hunter2sesame.", "hunter2sesame"),
    ("The password for my router is hunter2sesame", "hunter2sesame"),
    ("Mein Passwort lautet hunter2sesame.", "hunter2sesame"),
    ("Mon mot de passe est hunter2sesame.", "hunter2sesame"),
    ("Mi contraseña es hunter2sesame.", "hunter2sesame"),
    ("My PIN is 4711.", "4711"),
    ("hunter2sesame is my password", "hunter2sesame"),
    ("Use AKIA" + "IOSFODNN7EXAMPLE for S3.", "IOSFODNN7EXAMPLE"),
    ("My token is ghp_" + "a1" * 18, "ghp_"),
    ("Here: sk-" + "proj-" + "a1" * 20, "proj-a1"),
    ("xoxb-" + "123456-abcdef12345", "abcdef12345"),
    ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM", "SflKxwRJSM"),
    ("postgres://sarah:hunter2sesame@db/x", "hunter2sesame"),
    ("-----BEGIN RSA " + "PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----", "MIIabc"),
    ("My card is 4111 1111 1111 1111.", "1111"),
    ("My IBAN is DE89 3704 0044 0532 0130 00.", "0532"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_no_own_words_hold_a_secret(text: str, secret: str) -> None:
    beside = f"I live in Bonn. {text}\nI work at Acme."
    own = own_text(beside, spans(beside))
    assert secret not in own
    assert "I live in Bonn." in own
    assert "I work at Acme." in own
    assert secret not in own_text(beside, secret_spans(beside))


@pytest.mark.parametrize(
    "text",
    ["My password is too weak.", "I forgot my password.", "My phone is 0228 123456.",
     "Order 4111 1111 1111 1112 came.", "My flight is LH1234 on 2026-05-03.",
     "I'm a task-runner fan."],
)  # fmt: skip
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert not holds_secret(text)
    assert own_text(text, spans(text)) == text


def test_another_clause_of_the_sentence_stays() -> None:
    text = "My password is hunter2sesame and I live in Bonn."
    assert own_text(text, spans(text)).strip() == "I live in Bonn."


def test_check_digits_decide() -> None:
    assert is_card("4111111111111111")
    assert not is_card("4111111111111112")
    assert is_iban("GB82WEST12345698765432")
    assert not is_iban("GB83WEST12345698765432")


@pytest.mark.parametrize(
    "unit", ["4 ", "4111 ", "eyJ", "sk-", "://a:", "DE89 ", "is my ", "xoxb-1-"]
)
def test_the_time_for_any_text_is_in_proportion_to_it(unit: str) -> None:
    text = unit * (250_000 // len(unit))
    begun = time.process_time()
    secret_spans(text)
    assert time.process_time() - begun < 8  # of a slow machine; a quadratic one takes minutes
