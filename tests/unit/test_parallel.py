import threading
import time
from contextvars import ContextVar

import pytest
from palimpsest import parallel

WHO: ContextVar[str] = ContextVar("WHO")


def test_results_come_in_the_order_of_what_was_given() -> None:
    def work(number: int) -> int:
        time.sleep((20 - number) / 1000)
        return number

    assert parallel.run_each(work, range(20)) == list(range(20))


def test_work_for_several_goes_on_at_the_same_time_and_for_one_on_the_callers_thread() -> None:
    together = threading.Barrier(parallel.THREADS)
    parallel.run_each(lambda _: together.wait(timeout=30), range(parallel.THREADS))
    assert parallel.run_each(lambda _: threading.current_thread(), [1]) == [
        threading.current_thread()
    ]
    assert parallel.run_each(str, []) == []


def test_of_several_errors_the_first_in_order_is_raised_after_all_have_ended() -> None:
    ended: list[int] = []

    def work(number: int) -> None:
        time.sleep((5 - number) / 100)
        ended.append(number)
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        parallel.run_each(work, range(5))
    assert sorted(ended) == [0, 1, 2, 3, 4]


def test_both_results_are_had_at_the_same_time() -> None:
    together = threading.Barrier(2)
    first, second = parallel.run_both(
        lambda: together.wait(timeout=30), lambda: together.wait(timeout=30)
    )
    assert {first, second} == {0, 1}


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_of_either_of_both_is_raised(failing: int) -> None:
    def fail() -> None:
        raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        parallel.run_both(*((fail, lambda: None) if failing == 0 else (lambda: None, fail)))


def test_a_task_that_is_too_slow_is_waited_for_no_longer_and_goes_on_by_itself() -> None:
    go_on, ended = threading.Event(), threading.Event()

    def work() -> None:
        go_on.wait(timeout=30)
        ended.set()

    task = parallel.begin(work, until=time.monotonic() + 0.01)
    with pytest.raises(TimeoutError):
        task.result()
    assert not ended.is_set()
    go_on.set()
    assert ended.wait(timeout=30)


def test_what_is_done_is_had_after_the_deadline_too() -> None:
    task = parallel.begin(lambda: "done", until=time.monotonic() + 30)
    assert task.result() == "done"
    is_done, due = threading.Event(), time.monotonic() + 0.02
    late = parallel.begin(lambda: "done", until=due)
    late._future.add_done_callback(lambda _: is_done.set())
    assert is_done.wait(timeout=30)
    time.sleep(max(0.0, due - time.monotonic()))
    assert late.result() == "done"


def test_work_sees_the_context_of_whoever_began_it() -> None:
    WHO.set("sarah")
    task = parallel.begin(WHO.get)
    each = parallel.run_each(lambda _: WHO.get(), [1, 2])
    WHO.set("david")
    assert [task.result(), *each] == ["sarah"] * 3
