"""OCI image layouts: folders of blobs by digest, which any tool pushes to a registry without a change.

Source: https://github.com/opencontainers/image-spec/blob/main/image-layout.md, and for charts
https://helm.sh/docs/topics/registries/#oci-artifacts
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"
_CHART_CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_NAME = "org.opencontainers.image.ref.name"

Descriptor = dict[str, Any]


def digest(layout: Path) -> str:
    """Return the digest of the only manifest of a layout, as ``sha256:...``, after a check of all that it names.

    Raises:
        ValueError: there are several, or a blob is missing or damaged.
    """
    manifests = json.loads((layout / "index.json").read_text())["manifests"]
    if len(manifests) != 1:
        raise ValueError(f"{layout} has {len(manifests)} manifests")
    manifest = json.loads(_checked(layout, manifests[0]))
    for blob in (manifest["config"], *manifest["layers"]):
        _checked(layout, blob)
    return str(manifests[0]["digest"])


def _checked(layout: Path, blob: Descriptor) -> bytes:
    kind, _, value = blob["digest"].partition(":")
    try:
        content: bytes = (layout / "blobs" / kind / value).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{layout} has no blob {blob['digest']}") from None
    if (len(content), hashlib.new(kind, content).hexdigest()) != (blob["size"], value):
        raise ValueError(f"{layout}: blob {blob['digest']} is damaged")
    return content


def write_chart(layout: Path, tag: str, chart: Mapping[str, Any], package: bytes) -> None:
    """Write a packed chart as a layout.

    Args:
        layout: a folder that is not there yet.
        tag: name of the manifest in the layout.
        chart: the content of its Chart.yaml.
        package: what ``helm package`` made.
    """
    blobs = layout / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(kind: str, content: bytes) -> Descriptor:
        value = hashlib.sha256(content).hexdigest()
        (blobs / value).write_bytes(content)
        return {"mediaType": kind, "digest": f"sha256:{value}", "size": len(content)}

    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": blob(_CHART_CONFIG, _json(chart)),
        "layers": [blob(_CHART_CONTENT, package)],
        "annotations": {
            "org.opencontainers.image.title": chart["name"],
            "org.opencontainers.image.version": chart["version"],
            "org.opencontainers.image.description": chart["description"],
        },
    }
    named = blob(_MANIFEST, _json(manifest)) | {"annotations": {_NAME: tag}}
    (layout / "index.json").write_bytes(_json({"schemaVersion": 2, "manifests": [named]}))
    (layout / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
