"""The files of the library through which one call runs. A reader who follows the call has to open
them.

python -m benchmarks.paths [--json]
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import logging
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import palimpsest
from palimpsest.scope import Scope
from palimpsest_graph import cypher
from palimpsest_local import in_process as in_process_of
from palimpsest_local.in_process import in_process

from benchmarks.service import TENANT, body_of, event
from tests.contract.tables import memories_table, sessions_table, tenants_table
from tests.doubles.meanings import Meanings
from tests.unit.api.gateway import LambdaContext

LIBRARY = f"{Path(palimpsest.__file__).parent}{os.sep}"
BESIDE = tuple(
    f"{Path(str(package.__file__)).parents[1]}{os.sep}" for package in (in_process_of, cypher)
)
"""The folders of the packages outside the core layer. Their files are listed with the name of their
package in front.
"""
LIMITS = {"append": 39, "recall": 78}
"""The most files that a call may run through on the engines of this process. Lower a limit whenever
the call runs through fewer files. A third of the files decides whose words a text has, and whether
these may be remembered. Two files of this third only skip patterns that can't match.
"""
TALK = "/v1/sessions/talk/messages"
OF_SARAH = "/v1/users/sarah"

Handler = Callable[[Mapping[str, Any], Any], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Trail:
    """One call on one set of engines, and the files whose functions ran during the call, in the
    order of their first use.
    """

    call: str
    engines: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Service:
    """The handlers of the two functions that answer an append and a recall. `work` does the work
    that calls leave to queues.
    """

    engines: str
    sessions: Handler
    memories: Handler
    work: Callable[[], object]

    def trails(self) -> Iterator[Trail]:
        """Yield the trails. The same calls were made before, so nothing is loaded for the first
        time.
        """
        self._append("I live in Rome and drink tea.")
        self._remember("Lives in Rome.")
        self._remember("Lives in Paris.")
        self._recall("Which tea does she drink?")
        self._append("My home is in Paris now.")
        yield Trail(
            "append", self.engines, files_of(lambda: self._append("The new house has a garden."))
        )
        yield Trail("recall", self.engines, files_of(lambda: self._recall("Where is her home?")))

    def _append(self, text: str) -> None:
        body = {"user_id": "sarah", "messages": [{"role": "user", "content": text}]}
        body_of(
            self.sessions(event("POST", TALK, body, key=text.replace(" ", "-")), LambdaContext())
        )
        self._work_untraced()

    def _remember(self, content: str) -> None:
        body = {"memories": [{"type": "fact", "content": content, "topic_key": "residence"}]}
        body_of(self.memories(event("POST", f"{OF_SARAH}/memories", body), LambdaContext()))
        self._work_untraced()

    def _recall(self, query: str) -> None:
        body = {"query": query, "k": 3}
        answer = body_of(self.memories(event("POST", f"{OF_SARAH}/recall", body), LambdaContext()))
        assert answer["memories"], "a recall that finds nothing runs through less"

    def _work_untraced(self) -> None:
        """Do the work in the queues without tracing it, because the call does not wait for it."""
        noted = sys.getprofile()
        sys.setprofile(None)
        self.work()
        sys.setprofile(noted)


def files_of(call: Callable[[], object]) -> tuple[str, ...]:
    """Return the library's files whose functions run during a call, on any thread that the call
    starts.
    """
    seen: dict[str, None] = {}

    def note(frame: FrameType, what: str, _: object) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED  # the body of a module or class is not
        if what == "call" and is_function and code.co_filename.startswith((LIBRARY, *BESIDE)):
            seen.setdefault(_name_of(code.co_filename))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return tuple(seen)


def _name_of(file: str) -> str:
    folder = next(folder for folder in (LIBRARY, *BESIDE) if file.startswith(folder))
    return file.removeprefix(folder)


def within_process() -> Service:
    from palimpsest.api.app import HttpApp
    from palimpsest.api.operations import operations_of

    service = in_process(Scope(TENANT), memory={}, embedder=Meanings())
    return Service(
        engines="in process",
        sessions=HttpApp(lambda: service.service, operations_of("sessions")),
        memories=HttpApp(lambda: service.service, operations_of("memories")),
        work=service.work,
    )


@contextlib.contextmanager
def on_dynamodb() -> Iterator[Service]:
    """Run the functions as the stack does: tables on DynamoDB (moto), the index in a file, and no
    embedding model.

    This changes the environment variables. Use it in a process of its own.
    """
    from moto import mock_aws

    os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
    with mock_aws(), tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "STAGE": "local",
            "POWERTOOLS_SERVICE_NAME": "paths",
            "SESSIONS_TABLE": sessions_table(),
            "MEMORIES_TABLE": memories_table(),
            "TENANTS_TABLE": tenants_table(),
            "SEARCH_URL": f"file://{folder}/index.sqlite",
            "EMBEDDING_MODEL": "none",
            "EMBEDDING_DIMENSION": "4",
            "CHAT_MODEL": "none",
            "CONTENTS_BUCKET": "none",
            "OPENAI_KEY_PARAMETER": "/none",
        }
        from functions.memories import handler as memories
        from functions.sessions import handler as sessions

        memories.service().index.prepare()
        yield Service("DynamoDB", sessions.app, memories.app, work=lambda: None)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paths", description=__doc__)
    parser.add_argument("--json", action="store_true", help="for a program to read")
    options = parser.parse_args()
    logging.disable()  # what the functions log
    trails = list(within_process().trails())
    with on_dynamodb() as service:
        trails += service.trails()
    if options.json:
        print(json.dumps([asdict(trail) for trail in trails]))
        return
    for trail in trails:
        print(f"{trail.call}, {trail.engines}: {len(trail.files)} files")
        print("".join(f"  {name}\n" for name in trail.files))


if __name__ == "__main__":
    main()
