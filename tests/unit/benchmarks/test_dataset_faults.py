import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.retrieval.labelled.dataset import UnusableDataset, load

Raw = dict[str, Any]
ABSENT = object()


def small() -> Raw:
    """A set with one conversation, one question of each sort, and one topic that changed."""

    def say(number: int, text: str, *, user: str = "ann", **more: Any) -> Raw:
        return {
            "id": f"{user}-{number}",
            "role": "user",
            "content": text,
            "timestamp": f"2026-01-0{number}T10:00:00Z",
        } | more

    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "look_up", "arguments": '{"day": "Friday"}'},
    }
    messages = [
        say(1, "I run on Mondays."),
        say(2, "", role="assistant", content=None, tool_calls=[call]),
        say(3, "It rains.", role="tool", tool_call_id="c1"),
        say(4, "I run on Sundays now."),
    ]
    return {
        "set": "small",
        "conversations": [
            {
                "id": "a",
                "domain": "sport",
                "sessions": [{"id": "a-1", "user": "ann", "messages": messages}],
            },
            {
                "id": "b",
                "domain": "sport",
                "sessions": [
                    {"id": "b-1", "user": "bob", "messages": [say(1, "I swim.", user="bob")]}
                ],
            },
        ],
        "questions": [
            {
                "id": "q1",
                "user": "ann",
                "kind": "single-hop",
                "question": "When does she jog?",
                "answer": "on Sundays",
                "evidence": [{"message": "ann-4", "quote": "on Sundays"}],
            },
            {
                "id": "q2",
                "user": "ann",
                "kind": "no-answer",
                "question": "Does she swim?",
                "elsewhere": [{"message": "bob-1", "quote": "I swim"}],
            },
        ],
        "supersessions": [
            {
                "id": "s1",
                "user": "ann",
                "kind": "changed",
                "topic": "day of the run",
                "question": "When does she run?",
                "old": [
                    {
                        "message": "ann-1",
                        "text": "Mondays",
                        "quote": "on Mondays",
                        "wrong": "Mondays",
                    }
                ],
                "new": {
                    "message": "ann-4",
                    "text": "Sundays",
                    "quote": "on Sundays",
                    "keyword": "Sundays",
                },
            }
        ],
    }


def stored(tmp_path: Path, raw: Raw, name: str = "set.json") -> Path:
    file = tmp_path / name
    file.write_text(json.dumps(raw), encoding="utf-8")
    return file


def test_another_set_in_the_same_form_is_read_from_its_file(tmp_path: Path) -> None:
    dataset = load(stored(tmp_path, small()))
    assert dataset.name == "small"
    assert dataset.users() == ("ann", "bob")
    assert [session.id for session in dataset.sessions("ann")] == ["a-1"]
    assert dataset.questions[0].answer_ids == ("ann-4",)
    assert dataset.counts()["messages"] == 5


def test_the_files_of_a_folder_make_one_set(tmp_path: Path) -> None:
    whole = small()
    conversations = whole.pop("conversations")
    stored(tmp_path, whole | {"conversations": conversations[:1]}, "1.json")
    stored(tmp_path, {"set": "small", "conversations": conversations[1:]}, "2.json")
    folder = load(tmp_path)
    assert folder == load(stored(tmp_path, small(), "whole.json"))


def test_a_message_is_given_as_the_chat_api_takes_it(tmp_path: Path) -> None:
    dataset = load(stored(tmp_path, small()))
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "look_up", "arguments": '{"day": "Friday"}'},
    }
    assert dataset.message("ann-2").chat == {"role": "assistant", "tool_calls": [call]}
    assert dataset.message("ann-3").chat == {
        "role": "tool",
        "content": "It rains.",
        "tool_call_id": "c1",
    }
    assert dataset.message("ann-2").text == '{"day": "Friday"}'


def spoil(raw: Any, path: str, value: object) -> None:
    """Set what stands at a path such as `questions.0.kind`, or take it away."""
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in way:
        raw = raw[step]
    if value is ABSENT:
        raw.pop(last)
    else:
        raw[last] = value


ANN = "conversations.0.sessions.0"
BOB = "conversations.1.sessions.0"
OF_ANN = [{"message": "ann-4", "quote": "on Sundays"}]
OF_BOB = [{"message": "bob-1", "quote": "I swim"}]
FAULTS = [
    ("conversations", [], "the set has no conversation"),
    ("conversations.1.sessions", [], "conversation b needs sessions of exactly one user"),
    (f"{BOB}.messages", [], "session b-1 has no messages"),
    (f"{BOB}.user", "..", "user '..' is not an id the API takes"),
    (f"{ANN}.messages.0.role", "narrator", "messages.0.role: Input should be 'system'"),
    (
        f"{ANN}.messages.0.timestamp",
        "2026-01-01T10:00:00",
        "messages.0.timestamp: Input should have timezone",
    ),
    (f"{ANN}.messages.0.id", "ann/1", "message id 'ann/1' is not an id the API takes"),
    (f"{ANN}.messages.2.id", "ann-1", "message id ann-1 is used 2 times"),
    (f"{ANN}.messages.3.timestamp", "2025-01-01T10:00:00Z", "message ann-4 is earlier than ann-3"),
    (f"{ANN}.messages.0.content", "", "message ann-1 is empty"),
    (f"{ANN}.messages.1.role", "user", "message ann-2 has tool calls, but is not the assistant's"),
    (f"{ANN}.messages.2.tool_call_id", "c9", "message ann-3 answers no open tool call: c9"),
    (
        f"{ANN}.messages.2.role",
        "user",
        "message ann-3 comes before these tool calls are answered: ['c1']",
    ),
    ("questions.0.anwser", "on Sundays", "questions.0.anwser: Unexpected keyword argument"),
    ("questions.0.kind", "riddle", "questions.0.kind: Input should be 'single-hop'"),
    ("questions.0.user", "zoe", "question q1 is about zoe, who says nothing in this set"),
    (
        "questions.0.evidence.0.message",
        "ann-9",
        "question q1 names message ann-9, which is not in the set",
    ),
    (
        "questions.0.evidence.0.message",
        "bob-1",
        "question q1 is about ann, but message bob-1 is bob's",
    ),
    (
        "questions.0.evidence.0.quote",
        "on Fridays",
        "words that message ann-4 does not contain: 'on Fridays'",
    ),
    ("questions.0.evidence.0.quote", "", "words that message ann-4 does not contain: ''"),
    (
        "questions.0.evidence",
        [],
        "question q1 (single-hop) needs 1 to 4 messages as evidence, it has 0",
    ),
    (
        "questions.0.evidence",
        5 * OF_ANN,
        "question q1 (single-hop) needs 1 to 4 messages as evidence, it has 5",
    ),
    ("questions.0.evidence", 2 * OF_ANN, "question q1 names a message twice"),
    (
        "questions.0.kind",
        "multi-hop",
        "question q1 (multi-hop) needs 2 to 4 messages as evidence, it has 1",
    ),
    ("questions.0.kind", "sum", "question q1 (sum) needs 2 to 6 messages as evidence, it has 1"),
    ("questions.0.answer", "", "question q1 (single-hop) lacks an answer"),
    ("questions.0.elsewhere", OF_BOB, "question q1 has an answer of its own"),
    (
        "questions.0.language",
        "de",
        "question q1 is in de, its evidence in en: cross_lingual is wrong",
    ),
    (
        "questions.0.cross_lingual",
        True,
        "question q1 is in en, its evidence in en: cross_lingual is wrong",
    ),
    ("questions.1.id", "s1", "label id s1 is used 2 times"),
    ("questions.1.answer", "yes", "question q2 (no-answer) has an answer"),
    (
        "questions.1.evidence",
        OF_ANN,
        "question q2 (no-answer) needs 0 to 0 messages as evidence, it has 1",
    ),
    (
        "questions.1.elsewhere",
        OF_ANN,
        "question q2 says that ann-4 is another user's, but it is ann's own",
    ),
    (
        "supersessions.0.kind",
        "corrected-twice",
        "(corrected-twice) has too few old statements with a wrong word: 1",
    ),
    ("supersessions.0.kind", "returned", "(returned) has 0 old statements whose value holds again"),
    (
        "supersessions.0.old.0.wrong",
        ABSENT,
        "(changed) has 1 old statements whose value holds again",
    ),
    (
        "supersessions.0.old.0.wrong",
        "on",
        "'on' must stand in the quote of ann-1 and not in that of ann-4",
    ),
    (
        "supersessions.0.old.0.message",
        "ann-4",
        "ann-4 is replaced by ann-4, but is not the earlier one",
    ),
    (
        "supersessions.0.new.message",
        "ann-9",
        "supersession s1 names message ann-9, which is not in the set",
    ),
    (
        "supersessions.0.new.keyword",
        "Friday",
        "the new statement's quote does not contain its keyword 'Friday'",
    ),
]


def test_a_set_that_asks_nothing_is_refused(tmp_path: Path) -> None:
    raw = small() | {"questions": [], "supersessions": []}
    with pytest.raises(UnusableDataset, match="the set has no question"):
        load(stored(tmp_path, raw))


@pytest.mark.parametrize(("path", "value", "fault"), FAULTS, ids=[fault for _, _, fault in FAULTS])
def test_a_faulty_set_is_refused_with_the_fault_named(
    path: str, value: object, fault: str, tmp_path: Path
) -> None:
    raw = small()
    spoil(raw, path, value)
    with pytest.raises(UnusableDataset, match=re.escape(fault)):
        load(stored(tmp_path, raw))


def test_a_session_that_ends_in_a_call_is_refused(tmp_path: Path) -> None:
    raw = small()
    del raw["conversations"][0]["sessions"][0]["messages"][2:]
    with pytest.raises(
        UnusableDataset, match="session a-1 ends before these tool calls are answered"
    ):
        load(stored(tmp_path, raw))


def test_every_fault_is_named_at_once(tmp_path: Path) -> None:
    raw = small()
    raw["questions"][0]["evidence"][0]["message"] = "ann-9"
    raw["supersessions"][0]["new"]["keyword"] = "Friday"
    with pytest.raises(UnusableDataset, match=r"(?s)question q1 .*supersession s1"):
        load(stored(tmp_path, raw))


@pytest.mark.parametrize(
    ("content", "expected"),
    [("{", "set.json: Invalid JSON"), ("[]", "set.json: "), ('{"conversations": []}', "set: ")],
)
def test_a_file_that_is_no_set_is_refused_by_its_name(
    content: str, expected: str, tmp_path: Path
) -> None:
    file = tmp_path / "set.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(UnusableDataset, match=expected):
        load(file)


def test_a_path_with_no_set_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing.json"):
        with pytest.raises(UnusableDataset, match="neither a JSON file nor a folder"):
            load(path)


def test_files_of_different_sets_are_not_mixed(tmp_path: Path) -> None:
    stored(tmp_path, small(), "1.json")
    stored(tmp_path, {"set": "other"}, "2.json")
    with pytest.raises(UnusableDataset, match="several sets: other, small"):
        load(tmp_path)
