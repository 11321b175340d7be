"""The conversation that every memory gets: 200 turns and 12 memories. Every tenth turn changes a
memory, and every fourth turn asks about one. It uses the standard library only.
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
SUBJECTS = [
    "agenda",
    "budget",
    "report",
    "timetable",
    "contract",
    "survey",
    "memo",
    "training",
    "brochure",
    "invoice",
    "forecast",
    "newsletter",
    "handbook",
    "presentation",
    "questionnaire",
    "tender",
    "blueprint",
    "inventory",
    "roster",
    "dashboard",
]
DETAILS = [
    "attendance",
    "drawings",
    "permits",
    "suppliers",
    "interviews",
    "maps",
    "heating",
    "signage",
    "parking",
    "lighting",
    "insurance",
    "catering",
    "acoustics",
    "drainage",
    "scaffolding",
    "ventilation",
    "fencing",
    "cabling",
    "asphalt",
    "glazing",
    "elevators",
    "plumbing",
    "masonry",
    "landscaping",
    "carpentry",
]
ASKED = (
    "Could you shorten the {0} and move the {1} to the end?",
    "Which passages of the {0} repeat themselves, above all around {1}?",
    "Please turn the {0} into six bullet points, with {1} first.",
    "How would you explain the {0} to somebody who has never dealt with {1}?",
    "Can the {0} go out today, or does {1} need another look?",
    "Would a table help the {0}, or is prose better for {1}?",
    "What is missing in the {0} if a lawyer reads it with {1} in mind?",
)
DONE = (
    (
        "The {0} now has {2} paragraphs; whatever concerned {1} sits in an appendix, with a pointer "
        "from the introduction. I kept last year's wording wherever a client had signed it off, and "
        "marked two sentences whose sense I could only guess."
    ),
    (
        "Three places say the same twice. Beneath the heading on {1} the second paragraph can go; near "
        "the close, the remark about the {0} belongs to chapter {2}; and the caption merely echoes its "
        "picture. Everything else reads smoothly."
    ),
    (
        "Here it is: {1} opens, cost follows, then risk, staffing, dates, and an outlook. Each bullet "
        "fits on one line. Should the {0} grow beyond page {2}, the outlook is what I would drop."
    ),
    (
        "Start with an everyday picture: {1} resembles packing for a long trip. Afterwards walk through "
        "the {0} step by step, name the {2} terms nobody can avoid, and finish with one worked example."
    ),
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. `changed` is the topic whose value changes before the turn. `needed` is what a
    context for the turn must contain. `outdated` are the values of that topic that are no longer
    valid.
    """

    number: int
    question: str
    answer: str
    changed: tuple[str, str] | None = None
    needed: str | None = None
    outdated: tuple[str, ...] = ()


def statement(topic: str, value: str) -> str:
    """Return the memory of a topic's value."""
    (verb,) = (verb for name, verb, _ in TOPICS if name == topic)
    return f"Sarah {verb} {value}"


def at_first() -> list[tuple[str, str]]:
    """Return the topic and value of each memory before the conversation."""
    return [(topic, values[0]) for topic, _, values in TOPICS]


def conversation(turns: int = TURNS) -> Iterator[Turn]:
    """Yield the turns, which are always the same."""
    values = {topic: list(values_of_topic[:1]) for topic, _, values_of_topic in TOPICS}
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
    return ASKED[number % len(ASKED)].format(*_things(number))


def _reply(number: int) -> str:
    return DONE[number % len(DONE)].format(*_things(number), number % 7 + 2)


def _things(number: int) -> tuple[str, str]:
    return SUBJECTS[number * 3 % len(SUBJECTS)], DETAILS[number * 7 % len(DETAILS)]
