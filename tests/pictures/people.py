"""A made-up tenant for pictures of the console: users, conversations, memories and a graph."""

from collections.abc import Iterator
from typing import Any

from tests.e2e.stack import Client, eventually

OTHERS = {
    "tom": ("I am vegetarian.", "I play the cello in an orchestra.", "I moved to Leipzig in May."),
    "priya": ("I work night shifts at the clinic.", "My daughter Anu starts school in August."),
    "lena": ("I'm allergic to peanuts.", "I ride to work by bike.", "I like window seats."),
    "marco": ("My flight to Oslo leaves on Friday.",),
}
USAGE = {"model": "gpt-4.1-mini", "tokens_in": 2140, "cached_tokens": 1780, "tokens_out": 210}
TURNS = (
    (
        "Hi, I'm Sarah. I work in Marketing. Which trips can I combine with a few days off?",
        "Hello Sarah! You may add private days before or after any business trip, as long as your manager agrees in writing first.",
    ),
    (
        "Good. In October I'm at the fair in Lisbon for three days, with my colleague Priya.",
        "Then add your days in Lisbon to the same booking, and pay only the difference of the fares yourself.",
    ),
    (
        "I always want an aisle seat. And I'm vegetarian, so please book the meal too.",
        "Noted: an aisle seat and a vegetarian meal, for every flight from now on.",
    ),
    (
        "My sister Mira lives in Porto. I'd like to see her on the way back, by train.",
        "There are nine trains a day from Lisbon to Porto, about three hours each. The return flight can leave from Porto.",
    ),
    (
        "Perfect. What does the hotel cost, and who pays the extra nights?",
        "The company pays up to 140 euros a night for the days of the fair. The private nights are yours.",
    ),
    (
        "By the way, please look for flights from Bremen.",
        "I looked them up again. The first flight leaves at 06:40.",
    ),
    (
        "That is early. I'd rather take the one after nine.",
        "The 09:25 by Frankfurt arrives in Lisbon at 14:10. I hold a seat on it until tomorrow.",
    ),
    (
        "Please remind me to hand in the travel form by Friday.",
        "I will. The travel form needs your manager's signature and the dates of your private days.",
    ),
)
MEMORIES: tuple[dict[str, Any], ...] = (
    {"type": "fact", "content": "Sarah works for Hansa Coffee as head of campaigns.", "topic_key": "employer", "importance": 0.85},
    {"type": "fact", "content": "Sarah speaks German, English and some Portuguese.", "topic_key": "languages", "importance": 0.7},
    {"type": "event", "content": "Sarah presented the autumn campaign in Rotterdam.", "occurs_at": "2026-09-17", "importance": 0.6},
    {"type": "instruction", "content": "Answer in two sentences, and name the source.", "topic_key": "style_of_answers", "importance": 0.9},
    {"type": "task", "content": "Hand in the travel form.", "due_at": "2026-11-27", "importance": 0.75},
    {"type": "fact", "content": "Sarah's back hurts after long flights.", "topic_key": "health_back", "importance": 0.8},
)  # fmt: skip
HOMES = (
    ("Sarah lives in Kiel.", "2024-03-01T09:00:00Z"),
    ("Sarah lives in Hamburg.", "2025-06-14T09:00:00Z"),
    ("Sarah lives in Bremen.", "2026-11-18T09:00:00Z"),
)
PREFERENCES = {"seat": "aisle", "meal": "vegetarian", "language": "en", "trains": True}
ENTITIES = (
    ("hansa", "Company", "Hansa Coffee"),
    ("lisbon", "Place", "Lisbon"),
    ("porto", "Place", "Porto"),
    ("bremen", "Place", "Bremen"),
    ("mira", "Person", "Mira"),
    ("priya", "Person", "Priya"),
    ("fair", "Event", "Coffee fair"),
)
RELATIONSHIPS = (
    ("WORKS_FOR", "sarah", "hansa"),
    ("LIVES_IN", "sarah", "bremen"),
    ("SISTER_OF", "mira", "sarah"),
    ("LIVES_IN", "mira", "porto"),
    ("TRAVELS_TO", "sarah", "fair"),
    ("TAKES_PLACE_IN", "fair", "lisbon"),
    ("WORKS_FOR", "priya", "hansa"),
    ("TRAVELS_TO", "priya", "fair"),
)
SYSTEM = "You are the travel assistant of Hansa Coffee. Answer briefly, and name the rule that you follow."
MAIL = (
    "Can you sum this up for me?\n\n> From: Bookings <bookings@example.com>\n> Subject: Your stay\n>\n"
    "> Dear guest, your room is confirmed from 12 to 15 October.\n> I look forward to your visit. Breakfast is included."
)


def settle_in(call: Client) -> None:
    """Store the whole tenant. It returns once what was said is found by recall."""
    for path, body in _puts():
        answer = call("PUT", path, body)
        assert answer.status < 300, answer.text
    for path, body in _posts():
        answer = call("POST", path, body)
        assert answer.status < 300, answer.text
    _talk(call)
    question = {"query": "aisle seat", "k": 3}
    eventually(lambda: call("POST", "/v1/users/sarah/recall", question).json["memories"])


def _puts() -> Iterator[tuple[str, object]]:
    yield (
        "/v1/static-facts/private-days",
        {"content": "Private days need the manager's consent in writing."},
    )
    yield "/v1/static-facts/hotel", {"content": {"euros a night": 140, "breakfast": True}}
    for key, value in PREFERENCES.items():
        yield f"/v1/users/sarah/preferences/{key}", {"value": value}


def _posts() -> Iterator[tuple[str, object]]:
    for content, since in HOMES:
        home = {
            "type": "fact",
            "content": content,
            "topic_key": "residence",
            "valid_from": since,
            "importance": 0.85,
        }
        yield "/v1/users/sarah/memories", {"memories": [home]}
    yield "/v1/users/sarah/memories", {"memories": list(MEMORIES)}
    entities = [{"id": id_, "type": kind, "name": name} for id_, kind, name in ENTITIES]
    yield "/v1/users/sarah/graph/entities", {"entities": entities}
    edges = [{"type": kind, "from": start, "to": end} for kind, start, end in RELATIONSHIPS]
    yield "/v1/users/sarah/graph/relationships", {"relationships": edges}
    for user, sentences in OTHERS.items():
        messages = [{"role": "user", "content": sentence} for sentence in sentences]
        body = {"user_id": user, "messages": messages, "usage": USAGE}
        yield f"/v1/sessions/{user}-monday/messages", body
        yield f"/v1/sessions/{user}-monday/end", {}


def _talk(call: Client) -> None:
    memory = {
        "max_tokens": 900,
        "reserve_tokens": 100,
        "trigger_ratio": 0.35,
        "keep_recent_turns": 2,
    }
    begun = {"session_id": "trip-to-lisbon", "user_id": "sarah", "system": SYSTEM, "memory": memory}
    assert call("POST", "/v1/sessions", begun).status == 201
    for question, answer in (
        *TURNS,
        (MAIL, "Your room is confirmed from 12 to 15 October, with breakfast."),
    ):
        messages = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        answered = call(
            "POST", "/v1/sessions/trip-to-lisbon/messages", {"messages": messages, "usage": USAGE}
        )
        assert answered.status == 201, answered.text
        if overflow := answered.json["overflow"]:
            call.job(overflow["job_id"])
