"""The files of another commit, which is measured beside this one."""

import pytest

from benchmarks.load.commits import tree_of
from infra import paths


def test_the_files_of_a_commit_are_there_while_they_are_measured() -> None:
    with tree_of("HEAD") as tree:
        assert (tree / "functions" / "sessions" / "handler.py").is_file()
        assert (tree / ".build").resolve().is_relative_to(paths.BUILD.resolve())
    assert not tree.exists()


def test_a_commit_that_is_not_there_is_named() -> None:
    with pytest.raises(SystemExit, match="no commit 0000000"), tree_of("0000000"):
        pass
