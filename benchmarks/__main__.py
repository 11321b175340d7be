"""Runs the benchmarks, or some of them, and prints their results. With --write it also writes them
into benchmarks/results.md.

python -m benchmarks [append context peers race tenant fresh sizes resident retrieval friends assistants messages
helpers memory crowd tables index service cost idle truth prompt summaries] [--write] [--quick]
[--set PATH] [--beside COMMIT]
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from benchmarks import report
from benchmarks.beside import tables as beside
from benchmarks.conversation import QUICK_SIZES, SIZES
from benchmarks.cost import idle
from benchmarks.cost import operations as cost
from benchmarks.load import (
    context_beside,
    fresh,
    growth,
    indexing,
    large_tenant,
    local_stack,
    memory,
    race,
    sizes,
)
from benchmarks.load import figures as costs
from benchmarks.load.race import Course
from benchmarks.prompt import run as prompt
from benchmarks.report import Table
from benchmarks.retrieval import growth as retrieval_growth
from benchmarks.retrieval import quality as retrieval
from benchmarks.retrieval.labelled.dataset import (
    ASSISTANTS,
    FRIENDS,
    HELPERS,
    MESSAGES,
    Dataset,
    UnusableDataset,
    load,
)
from benchmarks.retrieval.labelled.dataset import OURS as OUR_SET
from benchmarks.service import Place, place
from benchmarks.summaries import run as summaries
from benchmarks.truth import run as truth
from infra import paths
from infra.local import ministack
from infra.local.opensearch import jars

OURS = ("botocore", "pydantic", "aws-lambda-powertools", "tiktoken")


class Run:
    """One run of benchmarks. Measurements that several tables show are made once."""

    def __init__(
        self, at: Place, dataset: Dataset, *, quick: bool, commit: str | None = None
    ) -> None:
        self._at = at
        self._quick = quick
        endpoint = at.endpoint
        self.benchmarks: dict[str, Callable[[], list[Table]]] = {
            "append": lambda: [costs.append_table(self._figures)],
            "context": lambda: [costs.context_table(self._figures)],
            "peers": self._peers,
            "race": lambda: [race.table(at, course=Course(5, 5) if quick else Course(10, 20))],
            "tenant": lambda: [large_tenant.table(at, sessions=3_000 if quick else 100_000)],
            "fresh": lambda: [fresh.table(at, times=3 if quick else 7, beside=commit)],
            "sizes": lambda: [sizes.table()],
            "resident": lambda: [memory.table(at)],
            "retrieval": lambda: retrieval.tables(dataset, endpoint=endpoint),
            "friends": lambda: retrieval.tables(load(FRIENDS), endpoint=endpoint),
            "assistants": lambda: retrieval.tables(load(ASSISTANTS), endpoint=endpoint),
            "messages": lambda: retrieval.tables(load(MESSAGES), endpoint=endpoint),
            "helpers": lambda: retrieval.tables(load(HELPERS), endpoint=endpoint),
            "memory": lambda: retrieval_growth.growth(dataset, endpoint=endpoint, quick=quick),
            "crowd": lambda: retrieval_growth.crowd(dataset, endpoint=endpoint, quick=quick),
            "tables": lambda: [retrieval_growth.in_tables(dataset, endpoint=endpoint, quick=quick)],
            "index": lambda: [indexing.table(dataset)],
            "service": lambda: [
                *local_stack.tables(quick=quick),
                *context_beside.tables(quick=quick),
            ],
            "cost": lambda: cost.tables(at, quick=quick),
            "idle": lambda: idle.tables(at),
            "truth": truth.tables,
            "prompt": lambda: prompt.tables(60) if quick else prompt.tables(),
            "summaries": summaries.tables,
        }

    @cached_property
    def _figures(self) -> costs.Figures:
        return growth.measured(self._at, sizes=self._sizes, rounds=15 if self._quick else 50)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return QUICK_SIZES if self._quick else SIZES

    def _peers(self) -> list[Table]:
        return beside.tables(
            self._at, self._figures, sizes=self._sizes, seconds=10 if self._quick else 120
        )


def main() -> None:
    options = arguments()
    try:
        dataset = load(options.set)
    except UnusableDataset as error:
        sys.exit(str(error))
    with place() as at:
        run = Run(at, dataset, quick=options.quick, commit=options.beside)
        names = options.names or list(run.benchmarks)
        unknown = set(names) - set(run.benchmarks)
        if unknown:
            sys.exit(
                f"There is no benchmark {', '.join(sorted(unknown))}; there are "
                f"{', '.join(run.benchmarks)}."
            )
        print(f"{report.machine()}\n{_versions()}\n")
        where = f"{report.machine()}. {_versions()}."
        every: list[Table] = []
        for name in names:
            tables = list(_measured(name, run.benchmarks[name]))
            if goes_into_results(options):
                # at once: a benchmark that fails costs none of those before it
                report.amend(where, tables)
            every += tables
    if not goes_into_results(options):
        return
    if set(names) == set(run.benchmarks):
        report.write(where, every)
    print(f"Written: {report.RESULTS.relative_to(Path.cwd())}")


def _measured(name: str, benchmark: Callable[[], list[Table]]) -> Iterator[Table]:
    """Yield the tables of one benchmark, each with the machine's load during the measurement."""
    print(f"{name} …", file=sys.stderr, flush=True)
    before = report.load()
    begun = time.monotonic()
    tables = benchmark()
    print(f"{name}: {time.monotonic() - begun:.0f} s\n", file=sys.stderr, flush=True)
    under = f"Load average before {before}, after {report.load()}."
    for table in tables:
        marked = Table(table.title, table.columns, table.rows, (*table.notes, under))
        print(report.for_terminal(marked), end="\n\n", flush=True)
        yield marked


def _versions() -> str:
    engines = f"dynoxide {_engine_version()} (a file database), OpenSearch {jars.VERSION}, MiniStack {_ministack()}"
    return ", ".join([f"Engines: {engines}", *(f"{name} {version(name)}" for name in OURS)])


def _engine_version() -> str:
    locked = json.loads((paths.PROJECT / "tests" / "engines" / "package-lock.json").read_text())
    return str(locked["packages"]["node_modules/@dynoxide/linux-x64"]["version"])


def _ministack() -> str:
    (line,) = (
        line for line in ministack.LOCK.read_text().splitlines() if line.startswith("ministack==")
    )
    return line.removeprefix("ministack==").split()[0]


def goes_into_results(options: argparse.Namespace) -> bool:
    """Return whether the tables are written to the results. They are written only with `--write`,
    and never for a quick run, a run with another set, or a run beside another commit.
    """
    is_ours = Path(options.set) == OUR_SET and options.beside is None
    return options.write and not options.quick and is_ours


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, add_help=True
    )
    parser.add_argument(
        "names", nargs="*", help="the parts to measure, as above; all of them if none is named"
    )
    parser.add_argument(
        "--set", default=OUR_SET, help="another labelled set: a JSON file, or a folder of them"
    )
    parser.add_argument(
        "--write", action="store_true", help="write what was measured into benchmarks/results.md"
    )
    parser.add_argument(
        "--quick", action="store_true", help="smaller sizes and fewer calls: under two minutes"
    )
    parser.add_argument(
        "--beside", metavar="COMMIT", help="measure `fresh` beside this commit too, in turns"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
