"""A plugin of pytest: each test that fails is run once more, alone. If it passes then it is flaky,
and forgiven.

`make e2e` loads it (`python -m pytest -p tests.again`). At most two tests are forgiven: where more
fail, none is run again. The last lines name each test with both outcomes. FLAKY_RECORD names a file
in which several runs count together: each adds the lines of the tests that it forgives, and `make
test` prints them at its end.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import IO
from xml.etree import ElementTree as ET

import pytest
from _pytest.terminal import TerminalReporter

MOST = 2
RECORD = "FLAKY_RECORD"
SEEN = Path("tests", "e2e", "flaky.toml")
"""The flaky tests that were ever seen, with cause and repair."""


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # a process of xdist's
        config.pluginmanager.register(Again(config))


class Again:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._failed: dict[str, list[pytest.TestReport]] = {}
        self._flaky: list[str] = []
        self._last_lines: list[str] = []
        self._lock = _lock(config.rootpath)
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.setdefault(report.nodeid, []).append(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Before the terminal's summary: it counts flaky tests as such."""
        if not self._failed or not self._is_whole(session):
            return
        fcntl.flock(self._lock, fcntl.LOCK_EX)  # once nothing else runs end to end
        before = len(_recorded())
        if before + len(self._failed) > MOST:
            also = f" and {before} before" if before else ""
            self._last_lines.append(
                f"{len(self._failed)} failed{also}: more than {MOST}, so none is run once more"
            )
            return
        for name in self._failed:
            if self._passes_alone(name):
                self._flaky.append(name)
                self._last_lines.append(
                    f"flaky: {name}: failed, then passed alone; {self._advice(name)}"
                )
            else:
                self._last_lines.append(f"not flaky: {name}: failed, then failed alone")
        _record([line for line in self._last_lines if line.startswith("flaky: ")])
        self._forgive(session)

    def _is_whole(self, session: pytest.Session) -> bool:
        """Whether all was collected, and every test has run."""
        counted = sum(len(reports) for reports in self._failed.values())
        is_stopped = session.shouldstop or session.shouldfail
        return (
            session.exitstatus == pytest.ExitCode.TESTS_FAILED
            and counted == session.testsfailed
            and not is_stopped
        )

    def _passes_alone(self, name: str) -> bool:
        reporter = _reporter(self._config)
        reporter.write_sep("=", f"once more, alone: {name}")
        capture = self._config.pluginmanager.getplugin("capturemanager")
        with tempfile.TemporaryDirectory() as folder, capture.global_and_fixture_disabled():
            outcomes = Path(folder) / "outcomes.xml"
            own = [f"--rootdir={self._config.rootpath}", f"--junit-xml={outcomes}"]
            command = [sys.executable, "-m", "pytest", f"{self._config.rootpath}/{name}", *own]
            reporter.flush()
            done = subprocess.run(command, cwd=self._config.rootpath, check=False)  # noqa: S603 - ourselves
            return done.returncode == pytest.ExitCode.OK and not _skipped(outcomes)

    def _advice(self, name: str) -> str:
        seen = self._config.rootpath / SEEN
        tests = tomllib.loads(seen.read_text())["seen"] if seen.is_file() else []
        is_known = any(name.partition("[")[0] == entry["test"] for entry in tests)
        return f"seen before, see {SEEN}" if is_known else f"find the cause, and add it to {SEEN}"

    def _forgive(self, session: pytest.Session) -> None:
        stats = _reporter(self._config).stats
        for name in self._flaky:
            for kind in ("failed", "error"):
                stats[kind] = [report for report in stats.get(kind, ()) if report.nodeid != name]
            stats.setdefault("flaky", []).append(self._failed[name][0])
            session.testsfailed -= len(self._failed[name])
        if not session.testsfailed:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        for name in self._flaky:
            for report in self._failed[name]:
                terminalreporter.write_sep("=", f"flaky: {name} failed first ({report.when})")
                report.toterminal(terminalreporter._tw)

    def pytest_unconfigure(self) -> None:
        self._lock.close()
        for line in self._last_lines:
            print(line)


def _reporter(config: pytest.Config) -> TerminalReporter:
    reporter = config.pluginmanager.getplugin("terminalreporter")
    assert isinstance(reporter, TerminalReporter)
    return reporter


def _lock(project: Path) -> IO[str]:
    """All runs share this lock. A run that repeats a test alone takes it for itself."""
    (project / ".build").mkdir(exist_ok=True)
    return (project / ".build" / "alone.lock").open("w")


def _skipped(outcomes: Path) -> bool:
    suite = ET.parse(outcomes).find("testsuite")  # noqa: S314 - pytest's own
    return suite is None or suite.get("skipped") != "0"


def _recorded() -> list[str]:
    record = os.environ.get(RECORD)
    return Path(record).read_text().splitlines() if record and Path(record).is_file() else []


def _record(lines: list[str]) -> None:
    if record := os.environ.get(RECORD):
        with Path(record).open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
