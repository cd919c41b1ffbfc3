"""Bytes of Parquet files across builds: for the same rows they stay the same as long as the footer names one writer."""

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from logpersister.formats.registry import RULES
from logpersister.manifest.blocks.output import OutputSpec
from tests.unit.formats.events import EVERYTHING, RECORDS, files
from tests.unit.formats.samples import batch

GOLDEN: Final = Path(__file__).parent / "golden" / "parquet.json"
SMALL: Final = {"rowGroupBytes": "64Ki", "pageBytes": "16Ki"}
OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "defaults": {},
    "several row groups and pages": {**SMALL, "kafkaColumns": EVERYTHING, "tombstones": "null"},
    "indexes": {
        **SMALL,
        "pageIndex": True,
        "withoutDictionary": ["text"],
        "bloomFilters": [{"field": "n"}, {"field": "text"}],
    },
}


def noted(options: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of the files of some records: without compression, whose libraries are others'."""
    written = files(OutputSpec.of("parquet", compression="none", **options), [batch(RECORDS)])
    assert written.keys() == {"", "_quarantine"}
    metadata = pq.ParquetFile(io.BytesIO(written[""])).metadata
    return {
        "created by": metadata.created_by,
        "rules": RULES["parquet"],
        "bytes": {path: hashlib.sha256(content).hexdigest() for path, content in written.items()},
    }


@pytest.mark.parametrize("name", OPTIONS)
def test_the_same_writer_gives_the_same_bytes(name: str) -> None:
    found = noted(OPTIONS[name])
    if os.environ.get("UPDATE_GOLDEN") == "1":
        known = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(json.dumps({**known, name: found}, indent=2, sort_keys=True) + "\n")
    assert found == json.loads(GOLDEN.read_text())[name], (
        "the writer of Parquet gives other bytes than before. If it is meant to: since the last release, CREATED_BY in "
        "native/src/parquet/mod.rs and RULES in formats/parquet/write.py must have been raised once; then `make golden`"
    )
