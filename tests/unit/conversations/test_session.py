from dataclasses import replace

from palimpsest.conversations.session import Head
from palimpsest.conversations.weight import REPLY_PRIMING

HEAD = Head(user="sarah", system_tokens=10, summary_tokens=20, window_tokens=70)


def test_a_window_weighs_all_that_its_context_would_hold() -> None:
    assert HEAD.tokens == REPLY_PRIMING + 100


def test_a_window_is_full_once_it_reaches_its_trigger() -> None:
    assert [trigger for trigger in (0, 50, 103, 104) if replace(HEAD, trigger=trigger).is_full] == [
        50,
        103,
    ]


def test_a_raised_trigger_does_not_hide_that_the_window_is_full() -> None:
    assert replace(HEAD, trigger=100, raised=500).is_full


def test_an_expired_session_is_gone() -> None:
    expiring = replace(HEAD, expires_at=500)
    assert [now for now in (499, 500, 501) if expiring.is_gone(now)] == [500, 501]
    assert not HEAD.is_gone(10**10)


def test_a_deleted_session_is_gone_and_an_ended_one_is_not() -> None:
    assert replace(HEAD, status="deleted").is_gone(0)
    assert not replace(HEAD, status="ended").is_gone(0)
