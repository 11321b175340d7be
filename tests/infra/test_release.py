"""A release is whole, says what changed, and can be checked."""

import shutil
import subprocess
from pathlib import Path

import pytest

from infra import release
from tests.infra.conftest import Template
from tests.releases.fixture import NOTES, RELEASES, digest, releases

CHANGELOG = """# Changelog

## Unreleased

### Added
- Something new.

## 0.2.0 - 2026-12-01

### Fixed
- Something old.

## 0.1.0 - 2026-11-25

### Added
- Everything.
"""


def test_library_and_client_have_one_version_and_the_changelog_says_what_is_in_it() -> None:
    assert release.notes(release.version(), release.CHANGELOG.read_text())
    assert release.notes("0.1.0", release.CHANGELOG.read_text())


def test_notes_are_the_section_of_their_release() -> None:
    assert release.notes("0.2.0", CHANGELOG) == "### Fixed\n- Something old.\n"
    assert release.notes("0.3.0.dev0", CHANGELOG) == "### Added\n- Something new.\n"
    with pytest.raises(SystemExit, match=r"no section `## 0\.3\.0 - <date>`"):
        release.notes("0.3.0", CHANGELOG)


def test_a_release_needs_a_commit_and_a_fixture_of_the_data_that_it_writes(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="Not committed"):
        release.check("0.2.0", changes=" M infra/stack.py", fixtures=tmp_path)
    with pytest.raises(SystemExit, match=r"no fixture of what 0\.2\.0 writes"):
        release.check("0.2.0", changes="", fixtures=tmp_path)
    release.check("0.2.0.dev0", changes=" M infra/stack.py", fixtures=tmp_path)


def test_every_release_of_the_changelog_has_a_fixture() -> None:
    sections = release.CHANGELOG.read_text().split("\n## ")[1:]
    named = {section.split(" - ")[0] for section in sections if not section.startswith("Unrel")}
    assert named == set(releases())


@pytest.mark.parametrize("version", releases())
def test_a_change_after_a_release_is_noted_under_unreleased(version: str) -> None:
    notes = release.notes(version, release.CHANGELOG.read_text())
    assert digest(notes) == (RELEASES / version / NOTES).read_text().strip()


def test_an_archive_is_the_same_for_the_same_files_and_its_checksum_holds(
    prod_on_tables: Template, tmp_path: Path
) -> None:
    small = tmp_path / "assembly"
    small.mkdir()
    for file in prod_on_tables.path.parent.glob("*.json"):
        shutil.copy(file, small)
    folder = tmp_path / "release"
    folder.mkdir()
    for name in ("first.zip", "second.zip"):
        release.pack(small, folder / name)
    assert (folder / "first.zip").read_bytes() == (folder / "second.zip").read_bytes()
    (folder / release.SUMS).write_text(release.checksums(folder))
    check = ["sha256sum", "--check", "--strict", release.SUMS]
    assert subprocess.run(check, cwd=folder, check=False).returncode == 0  # noqa: S603
    with (folder / "first.zip").open("ab") as spoiled:
        spoiled.write(b"x")
    assert subprocess.run(check, cwd=folder, check=False).returncode == 1  # noqa: S603
