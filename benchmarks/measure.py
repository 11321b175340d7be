"""How things are measured: CPU of this process and of the engine, medians, growth. Standard library
only: it also runs in the environments of the libraries that stand beside us.
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
    """Milliseconds of one call: CPU of this process (all threads), CPU of the engine's process, and
    by the clock.
    """

    cpu: float
    engine: float
    clock: float


def cost_of(call: Callable[[], Result], *, engine: int | None = None) -> tuple[Result, Cost]:
    """The call's result and its cost; `engine` is the process that stores, where that is not this
    one.
    """
    engine_before, clock_before, before = _cpu_of(engine), time.perf_counter(), time.process_time()
    result = call()
    cpu, clock = time.process_time() - before, time.perf_counter() - clock_before
    return result, Cost(cpu * 1e3, (_cpu_of(engine) - engine_before) * 1e3, clock * 1e3)


def _cpu_of(pid: int | None) -> float:
    """Seconds of CPU that another process has used, by its own clock (Linux:
    clock_getcpuclockid).
    """
    return 0.0 if pid is None else time.clock_gettime((~pid << 3) | 2)


def typical(costs: Sequence[Cost]) -> Cost:
    """Medians."""
    return Cost(
        *(
            statistics.median(getattr(cost, name) for cost in costs)
            for name in ("cpu", "engine", "clock")
        )
    )


def exponent(points: Mapping[int, float]) -> float | None:
    """The k in cost ~ size^k, by least squares on logarithms: 0 = no growth, 1 = as the size. None:
    one point.
    """
    if len(points) < 2:
        return None
    sizes, costs = zip(*points.items(), strict=True)
    return statistics.linear_regression(
        [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    ).slope


def within(seconds: float, calls: Iterable[Callable[[], Result]], *, least: int) -> list[Result]:
    """The results of the calls as far as the time reaches, but of `least` in any case."""
    deadline = time.monotonic() + seconds
    results: list[Result] = []
    for call in calls:
        if len(results) >= least and time.monotonic() > deadline:
            break
        results.append(call())
    return results
