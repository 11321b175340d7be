import json
import subprocess
import sys


def test_the_files_of_a_call_are_counted_on_dynamodb_too() -> None:
    """In a process of its own: the functions read their environment once."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.paths", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    trails = {
        trail["call"]: trail["files"]
        for trail in json.loads(done.stdout)
        if trail["engines"] == "DynamoDB"
    }
    assert trails.keys() == {"append", "recall"}
    assert all("engines/dynamodb/table.py" in files for files in trails.values())
