"""A user whose calls go through the handlers of a service in this process, with a clock to move."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import httpx2
from palimpsest.clock import FakeClock
from palimpsest_local.in_process import in_process
from palimpsest_local.transport import InProcessTransport

from tests.service import TENANT

MINUTE = 60


class Caller:
    """`user` is a user's path. Each text is said in a session of its own."""

    user = "/v1/users/sarah"

    def __init__(self, day: str) -> None:
        self.clock = FakeClock(datetime.fromisoformat(f"{day}T09:00:00+00:00"))
        here = self._here = in_process(TENANT, memory={}, clock=self.clock)
        transport = InProcessTransport(here.service, tenant=TENANT, work=here.work)
        self._http = httpx2.Client(base_url="http://in-process.invalid", transport=transport)
        self._sessions = 0

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._http.request(method, path, json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def says(self, *texts: str) -> None:
        for text in texts:
            self._sessions += 1
            session = f"/v1/sessions/session-{self._sessions}"
            messages = [{"role": "user", "content": text}]
            self("POST", f"{session}/messages", {"user_id": "sarah", "messages": messages})
            self("POST", f"{session}/extract", {})
            self.clock.advance(MINUTE)

    def waits_until(self, day: str) -> None:
        morning = datetime.fromisoformat(f"{day}T09:00:00+00:00")
        self.clock.advance((morning - self.clock.now()).total_seconds())

    def memories(self, status: str = "current") -> list[dict[str, Any]]:
        listed = self("GET", f"{self.user}/memories?status={status}")
        return list(listed["memories"])

    def recall(self, query: str, **more: Any) -> Any:
        return self("POST", f"{self.user}/recall", {"query": query, **more})

    def export(self) -> str:
        job = self("POST", f"{self.user}/export")["job_id"]
        service = self._here.service
        return service.export.text(service.read_job(TENANT, job, wait=0))
