"""The conversation that every memory is given: 200 turns, 12 memories, a change of one of them every
tenth turn, a question about one of them every fourth. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

TURNS = 200
CHANGE_EVERY, ASK_EVERY = 10, 4
SYSTEM = (
    "You are the assistant of a small consultancy. Help with planning, documents and travel. "
    "Answer in a few sentences, and say so when you do not know something."
)
TOPICS = (
    ("city", "lives in", ("Lisbon", "Oslo", "Vienna", "Dublin")),
    ("employer", "works for", ("Halvorsen Consulting", "Brightwater", "Norland Rail", "Civitas")),
    ("diet", "eats", ("vegetarian food", "vegan food", "fish but no meat", "everything")),
    ("car", "drives", ("a Volvo", "a Renault", "a Skoda", "a Fiat")),
    ("instrument", "plays", ("the cello", "the piano", "the flute", "the oboe")),
    ("sport", "trains for", ("a marathon", "a triathlon", "a regatta", "a chess open")),
    ("pet", "has", ("a beagle called Biscuit", "a cat called Pepper", "a parrot", "a pony")),
    ("language", "is learning", ("Japanese", "Portuguese", "Finnish", "Greek")),
    ("manager", "reports to", ("Priya Raman", "Tomas Berg", "Lena Vogt", "Omar Haddad")),
    ("project", "leads", ("the harbour study", "the bridge audit", "the tram plan", "the archive")),
    ("holiday", "spends holidays in", ("Madeira", "Crete", "Gotland", "Tyrol")),
    ("deadline", "must deliver by", ("3 March", "17 April", "9 June", "21 July")),
)
SUBJECTS = ("agenda", "budget", "report", "timetable", "contract", "survey", "memo", "training")
DETAILS = ("attendance", "invoices", "drawings", "permits", "suppliers", "interviews", "maps")


@dataclass(frozen=True, slots=True)
class Turn:
    """What happens in one turn. `changed` is the topic whose value changes before it; `needed` is
    what a context for it must hold, `outdated` the values of that topic that no longer hold.
    """

    number: int
    question: str
    answer: str
    changed: tuple[str, str] | None = None
    needed: str | None = None
    outdated: tuple[str, ...] = ()


def statement(topic: str, value: str) -> str:
    """The memory of a topic's value."""
    (verb,) = (verb for name, verb, _ in TOPICS if name == topic)
    return f"Sarah {verb} {value}"


def at_first() -> list[tuple[str, str]]:
    """The topic and value of each memory before the conversation."""
    return [(topic, values[0]) for topic, _, values in TOPICS]


def conversation(turns: int = TURNS) -> Iterator[Turn]:
    """The turns, always the same."""
    values = {topic: list(said[:1]) for topic, _, said in TOPICS}
    for number in range(1, turns + 1):
        changed = None
        if number % CHANGE_EVERY == 0:
            changed = _change(number // CHANGE_EVERY - 1, values)
        topic = TOPICS[number // ASK_EVERY * 5 % len(TOPICS)][0]
        if number % ASK_EVERY:
            yield Turn(number, _work(number), _reply(number), changed)
            continue
        *outdated, needed = values[topic]
        question = f"What do you know about my {topic}? Keep it in mind for item {number}."
        outdated = [value for value in outdated if value != needed]
        yield Turn(number, question, _reply(number), changed, needed, tuple(outdated))


def _change(number: int, values: dict[str, list[str]]) -> tuple[str, str]:
    topic, _, choices = TOPICS[number * 7 % len(TOPICS)]
    value = choices[len(values[topic]) % len(choices)]
    values[topic].append(value)
    return topic, value


def _work(number: int) -> str:
    subject, detail = SUBJECTS[number % len(SUBJECTS)], DETAILS[number % len(DETAILS)]
    return (
        f"Item {number}: please look at the {subject} again. The part about {detail} seems longer "
        f"than it needs to be, and section {number % 9 + 1} repeats what section {number % 5 + 1} "
        "already says."
    )


def _reply(number: int) -> str:
    subject, detail = SUBJECTS[(number + 3) % len(SUBJECTS)], DETAILS[(number + 2) % len(DETAILS)]
    return (
        f"Done for item {number}. I shortened the {subject} to {number % 7 + 2} paragraphs, moved "
        f"the {detail} into an appendix, and left a note where a figure from last year still has to "
        f"be checked. The next step is a short call about the {detail}; I suggest half an hour in "
        "the morning, before the others read the draft."
    )
