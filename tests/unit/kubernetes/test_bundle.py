"""What `kubectl logpersister diagnose` leaves out of its archive."""

import json
import re
import subprocess
from pathlib import Path

import yaml

PLUGIN = Path(__file__).parents[3] / "kubectl" / "kubectl-logpersister"
SECRET = "t0p"
LEFT_OUT = "left out"


def without_values(text: str) -> str:
    """Return what the plugin makes of a text."""
    found = re.search(r"^without_values\(\) \{.*?^\}", PLUGIN.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    script = f"{found[0]}\nwithout_values"
    return subprocess.run(["sh", "-c", script], input=text, capture_output=True, text=True, check=True).stdout


def test_values_of_variables_are_left_out_however_they_are_written() -> None:
    env = [{"name": "LOGIN", "value": SECRET}, {"name": "NOTE", "value": f"{SECRET}\n\nand {SECRET}\n"}]
    assert yaml.safe_load(without_values(yaml.safe_dump({"env": env, "image": "x"}))) == {
        "env": [{"name": "LOGIN", "value": LEFT_OUT}, {"name": "NOTE", "value": LEFT_OUT}],
        "image": "x",
    }
    for separators in ((",", ":"), (", ", ": ")):
        quoted = [{"name": "LOGIN", "value": f'{SECRET}"{SECRET}'}, *env]
        told = without_values(
            yaml.safe_dump({"applied-by-a-tool": json.dumps(quoted, separators=separators)}, width=9999)
        )
        assert SECRET not in told


def test_credentials_in_addresses_are_left_out_and_nothing_else() -> None:
    for login in (f"user:{SECRET}", f"user:p@{SECRET}", SECRET):
        told = without_values(f'proxy: {{"http":"http://{login}@proxy:3128/x","owner":"ann@example"}}\n')
        assert told == 'proxy: {"http":"http://left-out@proxy:3128/x","owner":"ann@example"}\n'
    plain = '  url: "https://host", mail: ann@example\n  see: https://host/a@b\n'
    assert without_values(plain) == plain
