"""The demo's second part: what Sarah said leaves the window into her memory, and a new conversation
knows it.
"""

import time
from typing import Any

from examples.demo.conversation import CORRECTIONS, FLUSHED, LATER_QUESTIONS, POLICY, SYSTEM, TURNS
from examples.demo.screen import Screen
from examples.demo.service import PATIENCE, Service

USER = "sarah.miller"


class MemoryDemo:
    """One user, two conversations; no result is written here beforehand."""

    def __init__(self, service: Service, show: Screen) -> None:
        self._service = service
        self._show = show
        self._user = USER
        self._path = f"/v1/users/{self._user}"

    def run(self) -> None:
        self._flush()
        self._recall()
        self._correct()
        self._show.entry(
            "next",
            f"make logs shows who did what; the API is described at {self._service.url}/v1/docs",
        )

    def _flush(self) -> None:
        self._show.heading(
            "The same conversation with the strategy flush: what leaves the window is remembered"
        )
        session = f"{self._user}-first"
        self._service("PUT", "/v1/static-facts/remote-work", {"content": POLICY})
        settings = {
            "session_id": session,
            "user_id": self._user,
            "system": SYSTEM,
            "memory": FLUSHED,
        }
        self._service("POST", "/v1/sessions", settings)
        for turn in TURNS:
            messages = [
                {"role": role, "content": text}
                for role, text in zip(("user", "assistant"), turn, strict=True)
            ]
            answer = self._service(
                "POST", f"/v1/sessions/{session}/messages", {"messages": messages}
            )
            if answer["overflow"]:
                self._flushed(session, answer)
        self._service("POST", f"/v1/sessions/{session}/end")
        self._until(self._is_extracted)
        for memory in self._memories():
            place = f"message {memory['source']['seqs'][0]}, {memory['method']}"
            self._show.entry(memory["type"], f"{memory['content']}  [{place}]", colour="yellow")

    def _flushed(self, session: str, answer: Any) -> None:
        job = self._done(answer["overflow"]["job_id"])
        window = self._service("GET", f"/v1/sessions/{session}")["window"]
        note = f"messages {job['range']['from']}-{job['range']['to']} left the window, once they were stored"
        weighs = (
            f"{answer['window']['tokens']} -> {window['tokens']} of {window['max_tokens']} tokens"
        )
        self._show.entry("flushed", f"{note}: {weighs}", colour="green")

    def _recall(self) -> None:
        session = f"{self._user}-later"
        self._show.heading("A new conversation of hers, where nothing was said yet")
        settings = {
            "session_id": session,
            "user_id": self._user,
            "memory": {"blocks": FLUSHED["blocks"]},
        }
        self._service("POST", "/v1/sessions", settings)
        question, *others = LATER_QUESTIONS
        self._until(lambda: self._is_found(question))
        context = self._service("POST", f"/v1/sessions/{session}/context", {"message": question})
        self._show.entry("Sarah", question, colour="yellow")
        for line in context["memory_prompt"].splitlines():
            self._show.entry("", line, body="dim")
        for other in (question, *others):
            self._answer(other)

    def _correct(self) -> None:
        self._show.heading("What is corrected is superseded, and can still be read")
        for number, text in enumerate(CORRECTIONS):
            self._show.entry("Sarah", text, colour="yellow")
            transcript = {
                "session_id": f"{self._user}-{number}",
                "messages": [{"role": "user", "content": text}],
            }
            job = self._done(self._service("POST", f"{self._path}/ingest", transcript)["job_id"])
        (newest,) = job["records"]
        versions = self._service("GET", f"{self._path}/memories/{newest}/history")["versions"]
        for version in versions:
            line = f"version {version['version']}, {version['status']}: {version['content']}"
            self._show.entry(
                version["topic_key"],
                line,
                colour="green" if version["status"] == "current" else "dim",
            )
        listed = [
            memory["content"]
            for memory in self._memories()
            if memory["topic_key"] == versions[0]["topic_key"]
        ]
        self._show.entry("listed", " / ".join(listed))

    def _answer(self, question: str) -> None:
        """An answer, and where it comes from."""
        answer = self._ask(question, answer=True)
        cited = {memory["id"]: memory for memory in answer["memories"]}
        self._show.line()
        self._show.entry("recall", question, colour="yellow")
        self._show.entry("answer", answer["answer"] or "(nothing is known of that)", colour="blue")
        for name in answer["citations"]:
            memory = cited[name]
            place = f"{memory['type']}, message {memory['source']['seqs'][0]} of {memory['source']['session_id']}"
            self._show.entry(
                "source", f"{place}, found by {' + '.join(memory['found_by'])}", body="dim"
            )

    def _ask(self, question: str, **more: object) -> Any:
        return self._service("POST", f"{self._path}/recall", {"query": question, "k": 3, **more})

    def _is_found(self, question: str) -> bool:
        """By words and by meaning; where the machine is busy, the reranker may never read all in
        its 400 ms.
        """
        recalled = self._ask(question)
        return bool(recalled["memories"]) and set(recalled["degraded"]) <= {"reranker"}

    def _memories(self) -> list[Any]:
        rows: list[Any] = self._service("GET", f"{self._path}/memories?order=asc")["memories"]
        return rows

    def _is_extracted(self) -> bool:
        jobs = self._service("GET", f"/v1/jobs?user_id={self._user}")["jobs"]
        return all(job["state"] in ("done", "failed") for job in jobs)

    def _done(self, job_id: str) -> Any:
        job = self._service.job(job_id)
        if job["state"] != "done":
            raise SystemExit(f"{job['kind']} {job_id} is {job['state']}: make logs says why")
        return job

    def _until(self, is_so: Any) -> None:
        deadline = time.monotonic() + PATIENCE
        while not is_so() and time.monotonic() < deadline:
            time.sleep(0.2)
