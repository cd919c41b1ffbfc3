"""What decides, tells and sums up, without any server."""

import ast
import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pytest

from tests.chaos import compactor
from tests.chaos.choices import Choices
from tests.chaos.chronicle import Chronicle
from tests.chaos.deck import deal
from tests.chaos.disturbances import Kill
from tests.chaos.outputs import FILES, ROWS, TABLE, TEXT, Addresses, Output
from tests.chaos.report import Report, Verdict
from tests.chaos.settings import Settings, crews
from tests.chaos.watch import Life, Pace, Sample, Watch
from tests.integration.harness.waiting import eventually

HERE = Path(__file__).parent


def dealt(seed: int, number: int = 60) -> list[str]:
    return [f"{pause:.3f} {disturbance}" for pause, disturbance in islice(deal(Settings(seed)), number)]


def test_a_seed_deals_the_same_again() -> None:
    assert dealt(7) == dealt(7)
    assert dealt(7) != dealt(8)


@pytest.mark.parametrize(
    ("groups", "brokers", "number", "kills"),
    [
        ([TEXT, FILES], 1, 25, 7),
        ([TEXT, FILES], 3, 34, 8),
        ([ROWS], 1, 38, 7),
        ([TABLE], 1, 44, 7),
        ([TEXT, FILES, ROWS, TABLE], 3, 58, 8),
    ],
)
@pytest.mark.parametrize("seed", range(20))
def test_every_kind_is_dealt_before_any_is_dealt_again_and_again(
    seed: int, groups: list[Output], brokers: int, number: int, kills: int
) -> None:
    settings = Settings(seed, brokers=brokers, crews=crews(*(group.name for group in groups)))
    first = [disturbance for _, disturbance in islice(deal(settings), number)]
    second = [disturbance for _, disturbance in islice(deal(settings), number, 2 * number)]
    assert sorted(one.name for one in first) == sorted(one.name for one in second)
    assert sum(one.kills for one in first) == kills
    assert {one.how for one in first if isinstance(one, Kill)} == {"driver", "tree", "jvm"}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("seconds", "latest"), [(60.0, 8), (400.0, 20)])
def test_an_incompatible_version_comes_once_and_early(seed: int, seconds: float, latest: int) -> None:
    settings = Settings(seed, seconds=seconds, choices=Choices(incompatible="pin"))
    names = [disturbance.name for _, disturbance in islice(deal(settings), 200)]
    assert "schema-incompatible" in names[2 : latest + 1]
    assert names.count("schema-incompatible") == 1
    assert "schema-incompatible" not in dealt_names(Settings(seed))
    assert "schema-incompatible" not in dealt_names(replace(settings, crews=crews(TEXT.name)))


def dealt_names(settings: Settings) -> list[str]:
    return [disturbance.name for _, disturbance in islice(deal(settings), 100)]


def test_the_product_is_seen_from_outside() -> None:
    """An examination that shared code with what it examines would share its mistakes."""
    for file in HERE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("logpersister") for name in names), file


def test_a_compactor_that_cannot_start_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compactor, "_BY_PYICEBERG", ["/bin/false"])
    monkeypatch.setattr(compactor.Compactor, "settings", lambda _: "")
    broken = compactor.Compactor(tmp_path, cast("Any", None), cast("Any", None), 7, [], by_spark=False)
    broken.start()
    with pytest.raises(RuntimeError, match=r"again and again; see .*compactor\.err"):
        eventually("it is noticed", broken.tick, pause=0.01)


def test_the_story_is_in_the_file_at_once(tmp_path: Path) -> None:
    now = 100.0
    echoed: list[str] = []
    chronicle = Chronicle(tmp_path / "story", echo=echoed.append, clock=lambda: now)
    now = 103.25
    chronicle.tell("kill-driver", "text-1", log="text-1-1.log")
    document = json.loads((tmp_path / "story").read_text())
    assert (document["seconds"], document["event"], document["log"]) == (3.25, "kill-driver", "text-1-1.log")
    assert echoed == ["[   3.2 s] kill-driver        text-1"]
    assert chronicle.story() == echoed[0]


def test_manifests_of_the_outputs_differ_only_where_they_should() -> None:
    text, files = (output.manifest(Addresses("b:1", "http://s3"), session_seconds=6) for output in (TEXT, FILES))
    assert text["spec"]["storage"]["prefix"] != files["spec"]["storage"]["prefix"]
    assert text["metadata"] != files["metadata"]
    assert text["spec"]["kafka"] == files["spec"]["kafka"]


def test_a_standstill_is_time_without_commits_while_there_is_something_to_store() -> None:
    pace = Pace()
    pace.note(10, committed=0, end=0)
    pace.note(20, committed=0, end=5)
    pace.note(24, committed=0, end=9)
    pace.note(25, committed=9, end=9)
    pace.note(90, committed=9, end=9)
    pace.note(91, committed=9, end=10)
    assert (pace.longest_standstill, pace.largest_lag, pace.lag) == (5, 9, 1)


def test_a_life_is_summed_up() -> None:
    life = Life("text-1", "text-1-1.log", [Sample(n, 10 + n, n * 1_000_000) for n in range(101)])
    document = life.document()
    assert document["seconds"] == 100
    assert document["descriptors"] == {"first": 14, "median": 60, "max": 110, "last": 106}


def test_what_members_count_is_summed_up_over_their_lives() -> None:
    watch = Watch(cast("Any", None), Chronicle(), "b:1", [TEXT])
    failures = 'logpersister_range_failures_total{kind="task"}'
    watch.lives = {
        "1": Life("text-1", "1", metrics={failures: 2.0, "logpersister_rebalances_total": 1.0, "other": 5.0}),
        "2": Life("text-1", "2", metrics={failures: 3.0, "logpersister_lost_partitions_total": 0.0}),
    }
    assert watch.counts() == {"range failures (task)": 5, "rebalances": 1}


def test_a_report_says_how_it_ended() -> None:
    report = Report(7, Verdict.BROKEN, problems=[f"duplicate: {n}" for n in range(30)], evidence=".cache/chaos/x")
    assert "THE PROMISE IS BROKEN" in report.text()
    assert "PROBLEM         duplicate: 19\n" in report.text()
    assert "and 10 more" in report.text()
    assert ".cache/chaos/x" in report.text()
    assert json.loads(json.dumps(report.document()))["verdict"] == "broken"
    assert "was held" in Report(7, Verdict.HELD).text()
    assert "nothing is proven" in Report(7).text()
