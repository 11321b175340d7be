"""The means of measuring: CPU time of this process and of the database, medians, and growth. It
uses the standard library only, because it also runs in the environments of other libraries.
"""

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Cost:
    """The milliseconds of one call: CPU time of this process (all threads), CPU time of the
    database's process, and clock time.
    """

    cpu: float
    engine: float
    clock: float


def cost_of(call: Callable[[], Result], *, engine: int | None = None) -> tuple[Result, Cost]:
    """Return the call's result and its cost. `engine` is the process of the database, if that is
    another process.
    """
    engine_before, clock_before, before = _cpu_of(engine), time.perf_counter(), time.process_time()
    result = call()
    cpu, clock = time.process_time() - before, time.perf_counter() - clock_before
    return result, Cost(cpu * 1e3, (_cpu_of(engine) - engine_before) * 1e3, clock * 1e3)


def _cpu_of(pid: int | None) -> float:
    """Return the seconds of CPU time that another process has used, by its own clock (Linux:
    clock_getcpuclockid).
    """
    return 0.0 if pid is None else time.clock_gettime((~pid << 3) | 2)


def typical(costs: Sequence[Cost]) -> Cost:
    """Return the median of each time."""
    return Cost(
        *(
            statistics.median(getattr(cost, name) for cost in costs)
            for name in ("cpu", "engine", "clock")
        )
    )


def exponent(points: Mapping[int, float]) -> float | None:
    """Return the k in cost ~ size^k, by least squares on logarithms. 0 means no growth, 1 means
    growth in proportion to the size. Return None for a single point.
    """
    if len(points) < 2:
        return None
    sizes, costs = zip(*points.items(), strict=True)
    return statistics.linear_regression(
        [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    ).slope


def within(seconds: float, calls: Iterable[Callable[[], Result]], *, least: int) -> list[Result]:
    """Return the results of as many calls as fit into this number of seconds, but of at least
    `least`.
    """
    deadline = time.monotonic() + seconds
    results: list[Result] = []
    for call in calls:
        if len(results) >= least and time.monotonic() > deadline:
            break
        results.append(call())
    return results
