"""The demo: a conversation overflows its window, is summarised and unfolded again; then a user is
remembered.

`python -m examples.demo` talks to the local stack through its front door, and starts it if it does
not run.
"""

import uuid
from datetime import datetime
from typing import Any

from examples.demo.conversation import (
    BUDGET,
    KEPT_TURNS,
    LAST_QUESTION,
    MEMORY,
    SYSTEM,
    TRIGGER_RATIO,
    TURNS,
    USER,
)
from examples.demo.memory import USER as MEMORY_USER
from examples.demo.memory import MemoryDemo
from examples.demo.screen import Screen, Window, screen
from examples.demo.service import Service, own_tenant
from infra.local import deploy
from infra.local.processes import CannotRun

NAMES = {"user": "Sarah", "assistant": "HR"}
COLOURS = {"user": "yellow", "assistant": "blue", "system": "dim"}
HOW = {
    "extractive": "the conversation's own sentences; no model was asked",
    "model": "written by a model",
}
TRIGGER = int(BUDGET * TRIGGER_RATIO)
SMALL = 250  # tokens: a model with half the room


class Demo:
    """One conversation, told while it happens."""

    def __init__(self, service: Service, show: Screen) -> None:
        self._service = service
        self._show = show
        self._session = f"demo-{uuid.uuid4().hex[:8]}"
        self._path = f"/v1/sessions/{self._session}"
        self._tokens = 0  # what the last bar showed
        self._said: list[str] = []

    def run(self) -> None:
        self._begin()
        for number, turn in enumerate(TURNS, 1):
            self._show.line(f"\n{self._show.paint(f'Turn {number}', 'dim')}")
            for role, text in zip(("user", "assistant"), turn, strict=True):
                self._append(role, text, shows_window=role == "assistant")
        self._show_context()
        self._unfold()

    def _begin(self) -> None:
        created = {"session_id": self._session, "user_id": USER, "system": SYSTEM, "memory": MEMORY}
        self._service("POST", "/v1/sessions", created)
        self._show.heading("Palimpsest: the context always fits, and nothing is forgotten")
        self._show.entry("service", self._service.url)
        self._show.entry("session", f"{self._session} of the user {USER}")
        self._show.entry(
            "window",
            f"{BUDGET} tokens; from {TRIGGER} on (|) all but the newest {KEPT_TURNS} turns are "
            f"folded into a summary",
        )
        self._show.entry(
            "bars",
            "= summary   # messages   . room       What both say was written before; all else is "
            "real.",
        )

    def _append(self, role: str, text: str, *, shows_window: bool) -> None:
        self._show.entry(NAMES[role], text, colour=COLOURS[role])
        answer = self._service(
            "POST",
            f"{self._path}/messages",
            {"messages": [{"role": role, "content": text}], "context": {}},
        )
        self._said.append(text)
        overflow = answer["overflow"]
        if overflow or shows_window:
            tokens, summary = answer["window"]["tokens"], answer["context"]["tokens"]["summary"]
            self._bar("window", tokens, summary, note="OVERFLOW" if overflow else "")
        if overflow:
            self._compact(answer)

    def _bar(self, title: str, tokens: int, summary: int, *, note: str = "") -> None:
        window = Window(tokens, summary, trigger=TRIGGER, budget=BUDGET)
        self._show.bar(title, window, before=self._tokens, note=note)
        self._tokens = tokens

    def _compact(self, answer: Any) -> None:
        """The window has overflowed: what can be had meanwhile, and what comes of it."""
        job, weighs = answer["overflow"]["job_id"], answer["context"]["tokens"]
        small = self._service("GET", f"{self._path}/context?max_tokens={SMALL}")
        state = answer["context"]["compaction"]
        self._show.entry(
            "pending",
            f"The append did not wait for a summary. It stored {job} with its message.",
            colour="red",
        )
        self._show.entry(
            "",
            f"Meanwhile (compaction: {state}) a context of {weighs['context']} tokens fits "
            f"{weighs['budget']};",
        )
        self._show.entry(
            "",
            f"one for a model with half the room has {small['tokens']['context']} and fits {SMALL}.",
        )
        self._show.entry("", "table -> stream -> dispatch -> queue -> summarize ...", body="dim")
        done = self._service.job(job)
        if done["state"] != "done":
            self._show.entry(
                "summary",
                f"It is {done['state']}; the context fits all the same, and it is tried again.",
            )
            return
        self._committed()

    def _committed(self) -> None:
        (newest,) = self._service("GET", f"{self._path}/messages?order=desc&limit=1")["messages"]
        (folded,) = self._service("GET", f"{self._path}/compactions?order=desc&limit=1")[
            "compactions"
        ]
        weighs = self._service("GET", f"{self._path}/context")["tokens"]
        how = HOW.get(folded["method"], "")
        seconds = (_time(folded) - _time(newest)).total_seconds()
        note = f"{_duration(seconds)} later: messages {folded['from']}-{folded['to']} are part of a summary now"
        self._show.entry("committed", note, colour="green")
        self._show.entry("summary", f"method {folded['method']} ({how})", colour="blue")
        self._show.entry("", folded["summary"], body="dim")
        self._bar(
            "window", weighs["window"], weighs["summary"], note=f"from {folded['tokens_before']}"
        )
        self._show.pause(1.0)

    def _show_context(self) -> None:
        self._show.heading("What a model would see with Sarah's last question")
        context = self._service("POST", f"{self._path}/context", {"message": LAST_QUESTION})
        for message in context["messages"]:
            self._show.entry(message["role"], message["content"], colour=COLOURS[message["role"]])
        whole = self._service("GET", self._path)["totals"]
        self._show.line()
        self._show.entry(
            "context",
            f"{context['tokens']['context']} tokens of {context['tokens']['budget']}; all "
            f"{whole['messages']} messages "
            f"weigh {whole['tokens']}. However long they talk, it never outgrows its window.",
            colour="green",
        )

    def _unfold(self) -> None:
        compactions = self._service("GET", f"{self._path}/compactions")["compactions"]
        if not compactions:
            return
        first = compactions[0]
        self._show.heading(
            f"What stands underneath: the first summary unfolded, messages "
            f"{first['from']}-{first['to']}"
        )
        rows = self._service("GET", f"{self._path}/compactions/{first['n']}/messages?limit=100")[
            "messages"
        ]
        for row in rows:
            self._show.entry(f"{row['seq']:>3} {NAMES[row['role']]}", row["content"], body="dim")
        same = [row["content"] for row in rows] == self._said[first["from"] - 1 : first["to"]]
        self._show.line()
        self._show.entry(
            "unfolded",
            "word for word what was said" if same else "NOT what was said",
            colour="green",
        )


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def _time(stored: Any) -> datetime:
    return datetime.fromisoformat(stored["created_at"])


def main() -> None:
    try:
        with own_tenant((USER, MEMORY_USER)) as service:
            show = screen()
            Demo(service, show).run()
            MemoryDemo(service, show).run()
            show.entry(
                "removed",
                "the demo's tenant: its sessions, memories, facts and key",
                colour="green",
            )
    except (CannotRun, deploy.DeploymentFailed) as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
