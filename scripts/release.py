"""Makes a release in ``dist/<version>``: ``make release``. It pushes nothing, and says how to.

images/<name>   both images, as OCI layouts: what is pushed has the digests that are told here
sbom/<name>.cdx.json   what is in them: packages of Debian and Python, jars, crates (CycloneDX)
logpersister-<version>.tgz, chart   the chart, which installs these images by their digests; also as an OCI layout
logpersisters.yaml, …, kubectl-logpersister   the definitions of our kinds, and the plugin of kubectl
release.json, SHA256SUMS   the commit, the digests and what the images are built on; checksums of the files
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import image
import logged
import oci
import release_chart
from logged import CACHE, ROOT
from version import VersionError, version

DIST = ROOT / "dist"
SYFT = CACHE / "syft" / "syft"
_SYFT = {"SYFT_CHECK_FOR_APP_UPDATE": "false", "SYFT_FILE_METADATA_SELECTION": "none"}
"""Packages count; single files would be thousands."""
BASES = ("BASE_IMAGE", "RUST_IMAGE")
"""Variables that name what images are built on."""


def obstacles(new: str) -> list[str]:
    """Return why this is no state to release; each with its remedy."""
    found = []
    if _git("status", "--porcelain"):
        found.append("there are changes that are not committed; commit them")
    if f"v{new}" not in _git("tag", "--points-at", "HEAD").split():
        found.append(f"this commit has no tag v{new}; set it, or another version by scripts/version.py")
    if not release_chart.changes((ROOT / "CHANGELOG.md").read_text(), new):
        found.append(f"CHANGELOG.md says nothing of [{new}]; give [Unreleased] this name and a date")
    return found + [
        f"{variable} has no digest; set it to an image as NAME@sha256:... (the Dockerfile has the name)"
        for variable in BASES
        if "@sha256:" not in os.environ.get(variable, "")
    ]


def labels(new: str) -> dict[str, str]:
    """Return what the images say of themselves, in the words of the OCI."""
    told = {
        "title": "LogPersister",
        "version": new,
        "revision": _git("rev-parse", "HEAD"),
        "created": _git("show", "--no-patch", "--format=%cI", "HEAD"),
        "licenses": "Apache-2.0",
    }
    if base := os.environ.get("BASE_IMAGE"):
        told |= {"base.name": base.partition("@")[0], "base.digest": base.partition("@")[2]}
    return {f"org.opencontainers.image.{name}": value for name, value in told.items()}


def make(new: str, folder: Path) -> dict[str, str]:
    """Make all files of a release in an empty folder; return the digests of the images by their names."""
    tool, digests = image.release_builder(), {}
    for name in ("images", "sbom"):
        (folder / name).mkdir()
    for target, name in image.TARGETS.items():
        layout = folder / "images" / name
        image.build(target)
        tool.lay_out(image.reference(target), labels(new), layout, new)
        digests[name] = oci.digest(layout)
        _list_components(layout, folder / "sbom" / f"{name}.cdx.json", new)
    operator, member = digests["logpersister-operator"], digests["logpersister"]
    package, chart = release_chart.pack(folder, new, operator, member)
    release_chart.check(package, new, operator, member)
    oci.write_chart(folder / "chart", new, chart, package.read_bytes())
    for file in (*sorted((ROOT / "crds").glob("*.yaml")), ROOT / "kubectl" / "kubectl-logpersister"):
        shutil.copy(file, folder)
    told = {
        "version": new,
        "commit": _git("rev-parse", "HEAD"),
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "images": digests,
        "chart": oci.digest(folder / "chart"),
        "builtOn": {variable: os.environ.get(variable) or "this machine" for variable in BASES},
    }
    (folder / "release.json").write_text(json.dumps(told, indent=2) + "\n")
    _write_checksums(folder)
    return digests


def _list_components(layout: Path, file: Path, new: str) -> None:
    """Write what is in an image; raises `logged.FailedError`, and `image.ImageError` when our own code is not."""
    name = layout.name
    what = ["--select-catalogers", "+sbom-cataloger"]  # crates are in the list that comes with the native decoder
    what += ["--source-name", name, "--source-version", new, "--output", f"cyclonedx-json={file}"]
    logged.begin(f"sbom-{name}")
    logged.run(f"sbom-{name}", [str(SYFT), "scan", f"oci-dir:{layout}", *what], _SYFT)
    components = json.loads(file.read_text())["components"]
    if not any((one["name"], one.get("version")) == ("logpersister", new) for one in components):
        raise image.ImageError(f"the image {name} does not have version {new} of our code")
    print(f"    {len(components):,} components: {file.relative_to(ROOT)}", flush=True)


def _write_checksums(folder: Path) -> None:
    files = sorted(file for file in (*folder.iterdir(), *(folder / "sbom").iterdir()) if file.is_file())
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(folder)}\n" for file in files]
    (folder / "SHA256SUMS").write_text("".join(lines))


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _next_steps(new: str, folder: Path, names: list[str]) -> str:
    place = folder.relative_to(ROOT)
    pushed = [(f"{place}/images/{name}", name) for name in names] + [(f"{place}/chart", "charts/logpersister")]
    commands = [
        f"skopeo copy --preserve-digests oci:{layout}:{new} docker://$REGISTRY/{name}:{new}" for layout, name in pushed
    ]
    return "\n".join(["To push it:", *(f"  {command}" for command in commands)])


def main() -> int:
    """Make a release; return 2 when there is none to make, and 1 when it fails."""
    parser = argparse.ArgumentParser(description="Both images with their contents and the chart, ready to be pushed.")
    parser.add_argument("--rehearsal", action="store_true", help="make it although it is no release yet; say why")
    arguments = parser.parse_args()
    try:
        new = version()
        if found := obstacles(new):
            print(f"This is no release {new}:", *(f"  {one}" for one in found), sep="\n", file=sys.stderr, flush=True)
            if not arguments.rehearsal:
                return 2
        folder = DIST / new
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        digests = make(new, folder)
    except (VersionError, image.ImageError, logged.FailedError, release_chart.ChartError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    for name, digest in digests.items():
        print(f"{name}:{new}@{digest}")
    print(_next_steps(new, folder, list(digests)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
