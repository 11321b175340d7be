"""Model calls are kept for operators who want to see them, and leave with the user's data."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from palimpsest.errors import ModelOutputInvalid
from palimpsest.jobs.job import Job
from palimpsest.model_calls.kept import MOST_TEXT, KeptCall
from palimpsest.models.ports import Completion
from palimpsest.models.usage import Usage

from tests.service import SARAH, TENANT
from tests.unit.privacy.hunt import Hunt, Parrot


def calls(hunt: Hunt, *, limit: int = 50) -> list[KeptCall]:
    """The calls of all jobs, as the API lists them."""
    return [call for job in jobs(hunt) for call in hunt.service.list_calls(job, limit=limit)[0]]


def jobs(hunt: Hunt) -> tuple[Job, ...]:
    return hunt.service.list_jobs(TENANT, user=SARAH.user, limit=100, newest_first=False)[0]


def test_prompts_and_answers_are_kept_where_the_tenant_wants_it() -> None:
    hunt = Hunt(model=True)
    hunt.say("s", "My dog is called Rex, and my wifi password is Xylophone77.")
    hunt.summarize("s")
    extracted, *_ = found = calls(hunt)
    assert "Rex" in extracted.text
    assert "Rex" in str(extracted.answer)
    assert "memories" in extracted.instructions
    assert (extracted.model, extracted.error) == ("parrot", None)
    assert "Xylophone77" not in str(found)
    off = Hunt(model=True, settings={"keep_model_calls": False})
    off.say("s", "My dog is called Rex.")
    assert "Rex" in "".join(off.chat.read)
    assert off.kept_calls() == ""


def delete_session(hunt: Hunt) -> None:
    hunt.service.manage.delete(TENANT.session("s"), keep_memories=False)


def delete_memory(hunt: Hunt) -> None:
    hunt.service.manage_memories.delete(SARAH, hunt.id_of("Rex"))


def redact(hunt: Hunt) -> None:
    hunt.service.redact(TENANT.session("s"), 1, content="[gone]")


def withdraw(hunt: Hunt) -> None:
    hunt.service.history.withdraw(TENANT.session("s"), first=1)


def take_back(hunt: Hunt) -> None:
    hunt.say("s", "Forget what I just said.")


def erase(hunt: Hunt) -> None:
    hunt.service.erase(SARAH)


@pytest.mark.parametrize(
    "remove", [delete_session, delete_memory, redact, withdraw, take_back, erase]
)
def test_a_removal_takes_them_along(remove: Callable[[Hunt], object]) -> None:
    hunt = Hunt(model=True)
    hunt.say("s", "My dog is called Rex.")
    hunt.later()
    assert "Rex" in hunt.kept_calls()
    remove(hunt)
    if remove in (delete_session, erase):
        assert calls(hunt) == []  # at once
    hunt.work()
    assert "Rex" not in hunt.kept_calls()


def test_a_call_during_a_removal_is_not_kept() -> None:
    hunt = Hunt(model=True)
    hunt.say("s", "My dog is called Rex.")
    delete_memory(hunt)
    hunt.say("s", "I met Quillon in Rome.")
    assert hunt.kept_calls() == ""
    hunt.later()
    hunt.say("s", "I live in Bonn.")
    assert "Bonn" in hunt.kept_calls()


def test_they_are_kept_for_seven_days_and_hidden_while_the_setting_is_off() -> None:
    hunt = Hunt(model=True)
    hunt.say("s", "My dog is called Rex.")
    assert calls(hunt)
    settings = hunt.service.stores.tenants.settings(TENANT)
    hunt.later(days=8)
    assert calls(hunt) == []
    hunt.say("s", "I live in Bonn.")
    assert len(calls(hunt)) == 1
    hunt.service.stores.tenants.replace_settings(TENANT, type(settings)())
    assert calls(hunt) == []


class Refusing(Parrot):
    """A model that answers with something that is not JSON, and then not at all."""

    def complete_json(self, **asked: object) -> Completion:
        self.read.append(str(asked["text"]))
        if len(self.read) > 1:
            raise ModelOutputInvalid("It refused.")
        return Completion("I'd rather talk about Rex.", "parrot", Usage(1, 7, 9))


def test_a_failed_job_shows_what_the_model_said() -> None:
    hunt = Hunt(model=True)
    refusing = Refusing()
    hunt.chat.complete_json = refusing.complete_json  # type: ignore[method-assign]
    hunt.say("s", "My dog is called Rex.")
    made = calls(hunt)  # in no order, as the hunt's clock stands still
    answered = next(call for call in made if call.error is None)
    failed = next(call for call in made if call.error is not None)
    said = (answered.answer, answered.tokens_in, answered.tokens_out)
    assert said == ("I'd rather talk about Rex.", 7, 9)
    assert (failed.answer, failed.error) == (None, ModelOutputInvalid("").code)


def test_long_texts_lack_their_middle_and_pages_are_short() -> None:
    hunt = Hunt(model=True)
    hunt.say("s", "I like it here. " + "a b c d e f g. " * 5_000)
    kept = calls(hunt)
    assert all(len(call.text) < MOST_TEXT + 100 for call in kept)
    assert any("[…]" in call.text for call in kept)
    job = next(job for job in jobs(hunt) if hunt.service.list_calls(job, limit=1)[0])
    page, after = hunt.service.list_calls(job, limit=1)
    rest = hunt.service.list_calls(job, limit=50, after=after)[0] if after else ()
    assert (*page, *rest) == hunt.service.list_calls(job, limit=50)[0]
