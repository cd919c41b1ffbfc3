"""Any bytes for the native module: builds its libFuzzer targets (spark-app/native/fuzz), and runs each for a while.

They are built by the toolchain that there is, with the coverage that ``cargo fuzz`` asks for, without its sanitizers,
which only nightly has. What libFuzzer kept stays in ``.cache/fuzz``, so the next run goes on from there.
"""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

TARGETS: Final[Mapping[str, int]] = {
    "avro": 512, "decode": 8192, "json": 512, "protobuf": 512, "rows": 1024, "values": 512,
}  # fmt: skip
"""The longest input of each, in bytes."""
_ROOT: Final = Path(__file__).parents[2]
CRATE: Final = _ROOT / "spark-app/native/fuzz"
KEPT: Final = _ROOT / ".cache/fuzz"
_COVERAGE: Final = ("level=4", "inline-8bit-counters", "pc-table", "trace-compares")
_FLAGS: Final = (
    "--cfg=fuzzing",
    "-Cdebug-assertions",
    "-Ccodegen-units=1",
    "-Cpasses=sancov-module",
    *(f"-Cllvm-args=-sanitizer-coverage-{one}" for one in _COVERAGE),
)
_FOUND, _TROUBLE = 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 for no finding, 1 for a finding, 2 where nothing could be tried."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="for all targets together, built already")
    parser.add_argument("--seed", type=int, default=0, help="0: a random one")
    parser.add_argument("--only", choices=TARGETS, action="append", help="run this target; may be repeated")
    options = parser.parse_args(arguments)
    targets = options.only or [*TARGETS]
    binaries = built(targets)
    if binaries is None:
        return _TROUBLE
    found = [one for one in targets if _run(binaries / one, options.seconds / len(targets), options.seed) != 0]
    for one in found:
        sys.stdout.write(f"{one}: the input is in {KEPT / 'found' / one}\n")
    return _FOUND if found else 0


def built(targets: Sequence[str]) -> Path | None:
    """Return where the binaries are; None: they cannot be built."""
    host = (
        subprocess.run(["rustc", "-vV"], capture_output=True, check=True, text=True)
        .stdout.split("host: ")[1]
        .split()[0]
    )
    command = ["cargo", "build", "--release", "--target", host, *(word for one in targets for word in ("--bin", one))]
    environment = {**os.environ, "RUSTFLAGS": " ".join(_FLAGS), "CARGO_TARGET_DIR": str(KEPT / "target")}
    build = subprocess.run(command, cwd=CRATE, env=environment, check=False)
    return KEPT / "target" / host / "release" if build.returncode == 0 else None


def _run(binary: Path, seconds: float, seed: int) -> int:
    corpus, found = (KEPT / name / binary.name for name in ("corpus", "found"))
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    bounds = {"max_total_time": max(1, round(seconds)), "max_len": TARGETS[binary.name], "timeout": 20}
    bounds |= {"rss_limit_mb": 3000, "seed": seed, "print_final_stats": 1}
    options = [f"-{name}={value}" for name, value in bounds.items()]
    sys.stdout.write(f"==> {binary.name}\n")
    sys.stdout.flush()
    return subprocess.run([binary, *options, f"-artifact_prefix={found}/", corpus], check=False).returncode


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TROUBLE))  # and what runs is killed
    sys.exit(main())
