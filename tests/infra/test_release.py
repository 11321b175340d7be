"""A release is whole, says what changed, and can be checked."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from infra import release
from tests.infra.conftest import Template
from tests.releases.fixture import NOTES, RELEASES, digest, releases

CLIENT = "palimpsest_client/__init__.py"
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


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A release of this tree, as `make release` builds it."""
    folder = tmp_path_factory.mktemp("releases") / release.version()
    release.build(folder, release.version())
    yield folder
    shutil.rmtree(folder)  # it has some hundred megabytes


def test_a_release_holds_wheels_assembly_bill_notes_and_checksums_of_all(built: Path) -> None:
    version = release.version()
    names = {path.name for path in built.iterdir() if path.is_file()}
    assert names == {
        f"palimpsest-{version}-py3-none-any.whl",
        f"palimpsest_memory-{version}-py3-none-any.whl",
        f"palimpsest-{version}-assembly.zip",
        release.BILL,
        release.NOTES,
        release.SUMS,
    }
    summed = {line.split()[1] for line in (built / release.SUMS).read_text().splitlines()}
    assert summed == names - {release.SUMS}
    check = ["sha256sum", "--check", "--strict", "--quiet", release.SUMS]
    assert subprocess.run(check, cwd=built, check=False).returncode == 0  # noqa: S603
    notes = (built / release.NOTES).read_text()
    assert notes == release.notes(version, release.CHANGELOG.read_text())


def test_the_wheels_of_a_release_hold_library_and_client_in_its_version(built: Path) -> None:
    held = {"palimpsest": "palimpsest/recall/recall.py", "palimpsest_memory": CLIENT}
    for name, module in held.items():
        (wheel,) = built.glob(f"{name}-*.whl")
        with ZipFile(wheel) as packed:
            assert module in packed.namelist()
            (about,) = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
            assert f"\nVersion: {release.version()}\n" in packed.read(about).decode()


def test_the_assembly_of_a_release_can_be_deployed_without_this_tree(built: Path) -> None:
    """It has each file that a template or a list of assets names."""
    (archive,) = built.glob("*-assembly.zip")
    with ZipFile(archive) as packed:
        names = set(packed.namelist())
        manifest = json.loads(packed.read("manifest.json"))
        stacks = {name for name in manifest["artifacts"] if name.startswith("Palimpsest-")}
        assert {"Palimpsest-dev", "Palimpsest-prod"} <= stacks
        assert "Palimpsest-local" not in stacks
        for stage in ("dev", "prod"):
            template = json.loads(packed.read(f"Palimpsest-{stage}.template.json"))
            kinds = [resource["Type"] for resource in template["Resources"].values()]
            assert kinds.count("AWS::Lambda::Function") >= 10
            listed = json.loads(packed.read(f"Palimpsest-{stage}.assets.json"))["files"]
            for asset in listed.values():
                place = asset["source"]["path"]
                assert place in names or any(name.startswith(f"{place}/") for name in names), place
        layers = [name for name in names if name.endswith("/python/palimpsest/recall/recall.py")]
        assert layers


def test_the_bill_of_a_release_names_what_its_layers_and_client_hold(built: Path) -> None:
    bill = json.loads((built / release.BILL).read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert {"pydantic", "onnxruntime", "openai"} <= {each["name"] for each in bill["components"]}
