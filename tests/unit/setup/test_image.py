"""Which wheels of a machine run in an image that is another system."""

import zipfile
from pathlib import Path

import pytest
from image import GLIBC, runs_in_image

FITTING = "native-0.1.0-cp311-abi3-linux_x86_64.whl"
NEWEST = f"GLIBC_{GLIBC[0]}.{GLIBC[1]}"
TOO_NEW = f"GLIBC_{GLIBC[0]}.{GLIBC[1] + 1}"


@pytest.mark.parametrize(
    ("name", "wanted", "runs"),
    [
        (FITTING, ["GLIBC_2.2.5", NEWEST, "GCC_3.0"], True),
        (FITTING, ["GLIBC_2.2.5", TOO_NEW], False),
        (FITTING, ["GLIBC_3.0"], False),
        (FITTING, [], False),
        (FITTING.replace("abi3", "cp311"), [NEWEST], False),
        (FITTING.replace("cp311", "cp312"), [NEWEST], False),
    ],
)
def test_a_wheel_runs_where_its_python_and_its_glibc_are(
    tmp_path: Path, name: str, wanted: list[str], runs: bool
) -> None:
    wheel = tmp_path / name
    with zipfile.ZipFile(wheel, "w") as files:
        files.writestr("native/__init__.py", TOO_NEW)
        files.writestr("native/native.abi3.so", "\0".join(["\x7fELF", *wanted, ""]))
    assert runs_in_image(wheel) is runs
