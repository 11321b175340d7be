from pathlib import Path

from benchmarks.paths import LIMITS, files_of, within_process


def test_an_append_and_a_recall_run_through_few_files() -> None:
    trails = {trail.call: trail.files for trail in within_process().trails()}
    assert trails.keys() == LIMITS.keys()
    assert trails["recall"][0] == "api/app.py"  # where a call comes in
    assert any(
        name.startswith("palimpsest_local/embedded/") for name in trails["recall"]
    )  # asked on threads of its own
    for call, files in trails.items():
        assert len(files) <= LIMITS[call], f"{call}: {', '.join(files)}"


def test_what_does_not_call_the_library_runs_through_no_file_of_it() -> None:
    assert files_of(Path.cwd) == ()
