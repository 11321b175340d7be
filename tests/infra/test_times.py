"""Times that must nest: whoever waits inside gives up before whoever waits around it."""

from palimpsest.adapters.openai_models import TIMEOUT_SECONDS
from palimpsest.api.call import LONGEST
from palimpsest.api.requests import LONGEST_WAIT
from palimpsest.usecases.committing import PATIENCE

from tests.infra.conftest import Template

GATEWAY_SECONDS = 30


def test_a_model_call_its_repair_and_the_commit_end_before_their_function_does(prod: Template) -> None:
    assert 2 * TIMEOUT_SECONDS + PATIENCE.total_seconds() < prod.functions()["summarize"]["Timeout"]


def test_the_longest_wait_is_answered_before_function_and_gateway_give_up(prod: Template) -> None:
    assert LONGEST_WAIT < LONGEST < prod.functions()["sessions"]["Timeout"] < GATEWAY_SECONDS


def test_an_append_among_many_writers_gives_up_before_its_function_does(prod: Template) -> None:
    assert 2 * PATIENCE.total_seconds() < prod.functions()["sessions"]["Timeout"]
