"""A conversation of Sarah from Marketing with the HR assistant, taken in by a memory within this
process.
"""

from __future__ import annotations

from typing import Any

from palimpsest import AgentMemory
from palimpsest_client.types import Context

ROLES = ("user", "assistant")
POLICY = "Employees may work remotely up to 3 days a week, after 6 months with the company."
TALK = (
    ("Hi, I'm Sarah and I work in Marketing.", "Hello Sarah! How can I help you?"),
    ("What are the rules for remote work?", "Up to 3 days a week, once you are eligible."),
    ("I joined the company 2 years ago.", "Then you are eligible."),
    ("How do I apply?", "Fill in form HR-101 with the weekdays, and hand it to your manager."),
    (
        "And if my manager declines?",
        "Then you get the reason in writing, and may apply again after 3 months.",
    ),
    (
        "My back hurts after a day at the kitchen table.",
        "There is an allowance of $300 for an office chair.",
    ),
    ("Perfect. I will hand in the form today.", "Good choice, Sarah."),
)
FLUSH = {"strategy": "flush", "max_tokens": 320, "keep_recent_turns": 2}


def memory_after_talk(session: str = "monday", **more: Any) -> AgentMemory:
    memory = AgentMemory(user="sarah", static_facts=[POLICY], **more)
    for question, answer in TALK:
        memory.append(session, question, {"role": "assistant", "content": answer})
    return memory


def texts(context: Context) -> list[str]:
    return [str(message["content"]) for message in context["messages"]]
