"""Runs work in parallel on threads. Each thread has the caller's context variables and a deadline
of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from time import monotonic
from typing import Generic, TypeVar

THREADS = 8  # threads of one call of `run_each`, unless it asks for more

First = TypeVar("First")
Second = TypeVar("Second")
Given = TypeVar("Given")
Made = TypeVar("Made")


class Task(Generic[Made]):
    """Work in progress on a thread of its own. It sees the context variables of the thread that
    began it.
    """

    def __init__(self, work: Callable[[], Made], *, until: float | None) -> None:
        self._future: Future[Made] = Future()
        self._until = until
        run = copy_context().run
        # the process does not wait for the thread when it ends
        threading.Thread(target=run, args=(self._run, work), daemon=True).start()

    def _run(self, work: Callable[[], Made]) -> None:
        try:
            self._future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
            self._future.set_exception(error)

    def result(self) -> Made:
        """Wait for the result and return it, or raise the error that the work ended with.

        Raises `TimeoutError` once the deadline has passed. The work then continues, and its result
        or error is dropped.
        """
        return self._future.result(
            timeout=None if self._until is None else max(0.0, self._until - monotonic())
        )


def begin(work: Callable[[], Made], *, until: float | None = None) -> Task[Made]:
    """Start the work and return at once. `until` is the deadline of the result, in the time of
    `time.monotonic()`. None sets no deadline.
    """
    return Task(work, until=until)


def run_both(first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """Call `first` and `second` at the same time and return both results. Raises the error of the
    call that fails. If `second` fails, its error is raised at once, without waiting for `first`.
    """
    task = begin(first)
    mine = second()
    return task.result(), mine


def run_each(
    work: Callable[[Given], Made], arguments: Sequence[Given], *, threads: int = THREADS
) -> list[Made]:
    """Call `work` with each of `arguments`, in at most `threads` threads at a time, and return the
    results in the same order. Waits until all calls have ended. If calls failed, raises the first
    error in the order of `arguments`.
    """
    if len(arguments) < 2:  # noqa: PLR2004 - a single one needs no thread
        return [work(item) for item in arguments]
    with ThreadPoolExecutor(min(threads, len(arguments))) as pool:
        tasks = [pool.submit(copy_context().run, work, argument) for argument in arguments]
    return [task.result() for task in tasks]
