"""Set-up by groups: what a target waits for, in which order, and which programs of the machine it asks for."""

import threading
from pathlib import Path

import preflight
import pytest
from inventory import parts
from part import GROUPS, Part, next_part, selected
from prepare import prepare_all


def names_of(*names: str) -> set[str]:
    return {part.name for part in selected(parts(), names)}


def part(name: str, *after: str) -> Part:
    return Part(name, name, "code", Path(name), lambda: None, after=after)


def test_each_group_is_made_with_no_more_than_it_needs() -> None:
    assert names_of("code") == {"uv", "python"}
    assert names_of("unit") - names_of("code") == {"native-wheel-quick", "native-quick"}
    assert names_of("stack") - names_of("code") == {"native-wheel", "native", "kafka", "seaweedfs"}
    assert names_of("stack") < names_of("test")
    assert {"minio", "kube-apiserver", "promtool", "spark-kafka", "registry", "bytecode"} <= names_of("test")
    assert names_of("soak") - names_of("test") == {"oldest-kafka", "iceberg-spark"}
    assert {"kubelet", "pause"} <= names_of("cluster") - names_of("test")
    assert set(GROUPS) == {part.group for part in parts().values()}


def test_a_part_is_not_made_where_a_better_one_is_wanted_or_ready(tmp_path: Path) -> None:
    better = Part("better", "", "stack", tmp_path / "better", lambda: None)
    quick = Part("quick", "", "unit", tmp_path / "quick", lambda: None, better=better)
    known = {"better": better, "quick": quick}
    assert selected(known, ["unit"]) == [quick]
    assert selected(known, ["stack"]) == [better]
    assert not quick.ready()
    better.stamp.write_text(better.fingerprint())
    assert quick.ready()
    better.stamp.write_text("of other sources")
    assert not quick.ready()


def test_preflight_names_each_missing_tool_once_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    preflight.check([])
    with pytest.raises(preflight.MissingError) as caught:
        preflight.check([preflight.MAVEN, preflight.GO, preflight.MAVEN])
    message = str(caught.value)
    assert message.count("Maven (no mvn on the PATH)") == message.count("Go 1.24 or newer (no go on the PATH)") == 1
    assert "install maven, golang-go" in message
    assert "Java" not in message


def test_a_part_waits_for_those_it_needs_while_they_are_made() -> None:
    python, wheel, native, kafka = part("python"), part("wheel"), part("native", "python", "wheel"), part("kafka")
    assert next_part([python, wheel, native, kafka], []) is python
    assert next_part([native, kafka], [python, wheel]) is kafka
    assert next_part([native], [wheel]) is None
    assert next_part([native], []) is native


def test_a_part_that_fails_ends_what_is_being_made_and_nothing_else_begins() -> None:
    made: list[str] = []
    stopped = threading.Event()

    def make(one: Part) -> None:
        if one.name == "broken":
            raise ValueError("no compiler")
        assert stopped.wait(60)
        made.append(one.name)

    with pytest.raises(ValueError, match="no compiler"):
        prepare_all([part("long"), part("broken"), part("later"), part("last", "long")], make, stopped.set)
    assert made == ["long"]
