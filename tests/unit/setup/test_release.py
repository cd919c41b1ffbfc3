"""What is no release yet says why, with the remedy."""

import subprocess
from pathlib import Path

import pytest
import release


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose state is a release, but for the digests of its bases."""
    monkeypatch.setattr(release, "ROOT", tmp_path)
    for variable in release.BASES:
        monkeypatch.setenv(variable, "debian:bookworm-slim")
    (tmp_path / "CHANGELOG.md").write_text("## [0.1.0] - 2026-11-24\n\n### Added\n\n- All.\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=all")
    git(tmp_path, "tag", "v0.1.0")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *author, *arguments], cwd=folder, check=True)


def test_bases_are_named_by_their_digests(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = release.obstacles("0.1.0")
    assert first.startswith("BASE_IMAGE has no digest")
    assert second.startswith("RUST_IMAGE has no digest")
    for variable in release.BASES:
        monkeypatch.setenv(variable, "debian:bookworm-slim@sha256:" + "0" * 64)
    assert release.obstacles("0.1.0") == []
    told = release.labels("0.1.0")
    assert told["org.opencontainers.image.base.name"] == "debian:bookworm-slim"
    assert told["org.opencontainers.image.base.digest"] == "sha256:" + "0" * 64


def test_a_release_is_a_clean_commit_with_its_tag_and_its_changes(repository: Path) -> None:
    (repository / "new").touch()
    changes, tag, changelog, *_ = release.obstacles("0.2.0")
    assert changes == "there are changes that are not committed; commit them"
    assert tag.startswith("this commit has no tag v0.2.0; set it")
    assert changelog.startswith("CHANGELOG.md says nothing of [0.2.0]; give [Unreleased] this name")
