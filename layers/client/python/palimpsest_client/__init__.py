"""The client of Palimpsest: memory for agents, over HTTPS.

memory = Palimpsest()
chat = memory.session("s1", user="sarah")
turn = chat.say("Where do I live?")
turn = chat.answer(llm(turn.messages, turn.tools))
"""

from palimpsest_client.awaited import AsyncJob, AsyncPalimpsest, AsyncSession, AsyncUser
from palimpsest_client.blocking import Job, Palimpsest, Session, User
from palimpsest_client.errors import (
    ConnectionLost,
    JobFailed,
    JobNotEnded,
    NotAPath,
    NotConfigured,
    PalimpsestError,
    Problem,
)
from palimpsest_client.sessions import Turn
from palimpsest_client.wrapping import wrap_anthropic, wrap_openai

__all__ = [
    "AsyncJob",
    "AsyncPalimpsest",
    "AsyncSession",
    "AsyncUser",
    "ConnectionLost",
    "Job",
    "JobFailed",
    "JobNotEnded",
    "NotAPath",
    "NotConfigured",
    "Palimpsest",
    "PalimpsestError",
    "Problem",
    "Session",
    "Turn",
    "User",
    "wrap_anthropic",
    "wrap_openai",
]
