from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from pydantic import ValidationError

from benchmarks.truth.form import BY_OUTSIDERS, LATER, ORDINARY, OURS, VOICES, Case, Check, load
from benchmarks.truth.run import (
    Memory,
    all_of,
    believed_in_process,
    failing,
    outcomes,
    passes,
    table,
)

CASES = load(OURS)
ORDINARY_CASES = all_of(ORDINARY)
FOLDERS = (OURS, VOICES, *ORDINARY, *LATER, *BY_OUTSIDERS)
EACH_SET = pytest.mark.parametrize(
    "cases", [load(folder) for folder in FOLDERS], ids=[folder.name for folder in FOLDERS]
)
WHOLE = {"visitors", *(folder.name for folder in BY_OUTSIDERS)}
HALVED = [folder for folder in FOLDERS if folder.name not in WHOLE]
"""All sets except those that were run once before they were read, as a whole."""
LEAST, LEAST_OF_A_KIND = 0.95, 0.8  # of the held-out half of our set, held and known
NONE_MAY_FAIL = ("secret", "off the record", "deleted")
MOST_FALSE = 0.05  # of the marks that what a memory rests on has changed
LEAST_HELD, LEAST_KNOWN = 0.92, 0.96  # of what ordinary people say, which was seen since


def test_the_second_set_speaks_in_four_voices_and_four_languages() -> None:
    assert {path.stem for path in VOICES.glob("*.json")} == {
        "developer",
        "group-chat",
        "support-chat",
        "voice-transcript",
    }
    for path in VOICES.glob("*.json"):
        told = [case for case in load(VOICES) if case.id.startswith(path.stem)]
        assert {case.language for case in told} == {"en", "de", "fr", "es"}, path


def test_what_ordinary_people_end_correct_and_repeat_keeps_its_floors() -> None:
    results = outcomes(ORDINARY_CASES, believed_in_process)
    held = [result.passed for result in results if result.case.twin_of is None]
    known = [result.passed for result in results if result.case.twin_of is not None]
    assert sum(held) / len(held) >= LEAST_HELD, failing(results)
    assert sum(known) / len(known) >= LEAST_KNOWN, failing(results)


@cache
def believed_of_ours() -> dict[str, list[Memory]]:
    """The memories after each case of our set, by its id."""
    return {case.id: believed_in_process(case) for case in CASES}


def test_the_held_out_half_of_our_set_keeps_the_wanted_floors() -> None:
    held_out = [case for case in CASES if case.held_out]
    results = outcomes(held_out, lambda case: believed_of_ours()[case.id])
    for is_twin in (False, True):
        counted = [one for one in results if (one.case.twin_of is not None) == is_twin]
        assert sum(one.passed for one in counted) >= LEAST * len(counted), failing(counted)
        for kind in {one.case.kind for one in counted}:
            of_kind = [one for one in counted if one.case.kind == kind]
            least = 1 if kind in NONE_MAY_FAIL and not is_twin else LEAST_OF_A_KIND
            assert sum(one.passed for one in of_kind) >= least * len(of_kind), (
                kind,
                failing(of_kind),
            )


def test_hardly_anything_is_marked_that_rests_on_nothing_changed() -> None:
    rightly = {case.id for case in CASES if any(check.changed for check in case.checks)}
    marked = [name for name, made in believed_of_ours().items() for one in made if one.changed]
    assert len(rightly & set(marked)) == len(rightly) >= 8
    assert sum(name not in rightly for name in marked) <= MOST_FALSE * len(marked), marked


def case_of(name: str, *checks: dict[str, object], twin_of: str | None = None) -> Case:
    return Case.model_validate(
        {
            "id": name,
            "kind": "tiny",
            "user": "sarah",
            "language": "en",
            "held_out": False,
            "twin_of": twin_of,
            "sessions": [
                {"day": "2026-03-02", "messages": [{"role": "user", "content": "I live in Bonn."}]}
            ],
            "checks": checks,
        }
    )


def test_every_file_of_our_set_has_cases_of_the_form() -> None:
    for path in OURS.glob("*.json"):
        kinds = {case.kind for case in CASES if case.kind.replace(" ", "-") == path.stem}
        assert len(kinds) == 1, path


@EACH_SET
def test_each_id_names_one_case(cases: list[Case]) -> None:
    ids = [case.id for case in cases]
    assert len(ids) == len(set(ids))


@EACH_SET
def test_each_chance_to_be_wrong_has_a_twin_of_the_same_user(cases: list[Case]) -> None:
    wrong = {case.id: case for case in cases if case.twin_of is None}
    twins = {case.twin_of: case for case in cases if case.twin_of is not None}
    assert wrong.keys() == twins.keys()
    for name, twin in twins.items():
        assert name is not None
        case = wrong[name]
        assert (twin.user, twin.kind, twin.held_out) == (case.user, case.kind, case.held_out)
        assert any(check.known for check in twin.checks), twin.id


@pytest.mark.parametrize(
    "cases", [load(folder) for folder in HALVED], ids=[folder.name for folder in HALVED]
)
def test_no_user_is_in_both_halves_and_the_halves_are_about_equal(cases: list[Case]) -> None:
    halves = {(case.user, case.held_out) for case in cases}
    assert len(halves) == len({user for user, _ in halves})
    sizes = Counter(held_out for _, held_out in halves)
    assert 0.4 <= sizes[True] / len(halves) <= 0.6


@EACH_SET
def test_no_two_messages_are_the_same_but_those_that_a_twin_repeats(cases: list[Case]) -> None:
    spoken = [
        (case.twin_of or case.id, message.content)
        for case in cases
        for session in case.sessions
        for message in session.messages
        if message.role == "user"
    ]
    of_texts: dict[str | None, set[str]] = {}
    for pair, text in spoken:
        of_texts.setdefault(text, set()).add(pair)
    assert [text for text, pairs in of_texts.items() if len(pairs) > 1] == []


def test_held_and_known_are_counted_apart() -> None:
    wrong = case_of("wrong", {"not_believed": ["walnut"]})
    twin = case_of("twin", {"known": ["walnut"]}, twin_of="wrong")
    believing = outcomes([wrong, twin], lambda case: [Memory("I'm allergic to walnuts.")])
    assert table(believing).rows[-1] == ["all", "0/1", "0/0", "1/1", "0/0"]
    assert failing(believing) == ["wrong"]
    forgetful = outcomes([wrong, twin], lambda case: [])
    assert table(forgetful).rows[0] == ["tiny", "1/1", "0/0", "0/1", "0/0"]
    assert failing(forgetful) == ["twin"]


@pytest.mark.parametrize(
    ("check", "memory", "holds"),
    [
        ({"known": ["bonn"]}, Memory("Lives in Bonn."), True),
        ({"known": ["Bonn"]}, Memory("Lives in Bonn.", "Sarah"), True),
        ({"known": ["Bonn"]}, Memory("Lives in Bonn.", "bob"), False),
        ({"known": ["Bonn"]}, Memory("Lives in Bonn.", is_current=False), False),
        ({"subject": "bob", "known": ["Bonn"]}, Memory("Lives in Bonn.", "Bob"), True),
        ({"subject": "anybody", "known": ["Bonn"]}, Memory("Lives in Bonn.", "bob"), True),
        ({"subject": "anybody", "not_believed": ["Bonn"]}, Memory("Lives in Bonn.", "bob"), False),
        ({"not_believed": ["Bonn"]}, Memory("Lives in Bonn.", "bob"), True),
        ({"not_believed": ["Bonn"]}, Memory("Lives in Bonn.", is_current=False), True),
        ({"nowhere": ["Bonn"]}, Memory("Lives in Bonn.", "bob", is_current=False), False),
        ({"known": ["Bonn"], "speaker": "Bob"}, Memory("In Bonn.", speaker="Bob"), True),
        ({"known": ["Bonn"], "speaker": "user"}, Memory("In Bonn.", speaker="Bob"), False),
        ({"known": ["Bonn"], "due_at": "none"}, Memory("In Bonn."), True),
        ({"known": ["Bonn"], "due_at": "none"}, Memory("In Bonn.", due_at="2026-03-06"), False),
        ({"known": ["Bonn"], "occurs_at": "2026-03-06"}, Memory("In Bonn."), False),
        ({"known": ["Bonn"], "changed": True}, Memory("In Bonn.", changed=True), True),
        ({"known": ["Bonn"], "changed": False}, Memory("In Bonn.", changed=True), False),
        ({"once": "Bonn"}, Memory("Lives in Bonn."), True),
        ({"once": "Kiel"}, Memory("Lives in Bonn."), False),
    ],
)
def test_a_check_asks_current_memories_of_its_subject(
    check: dict[str, object], memory: Memory, *, holds: bool
) -> None:
    assert passes(case_of("one", check), [memory]) is holds


def test_a_check_without_words_is_refused() -> None:
    with pytest.raises(ValidationError):
        Check.model_validate({"subject": "bob"})


def test_a_folder_without_cases_has_none(tmp_path: Path) -> None:
    assert load(tmp_path) == []
