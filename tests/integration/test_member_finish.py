"""Finished folders: never early, each once, what comes late is told; also across partitions that come, and SIGKILL."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from examples import finished_folders
from logpersister.cli import main
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.finishing import HOUR_MS, MIDNIGHT_MS, Finishing, hour
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify
from tests.stack import MinioServer
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import add_partitions, read_all
from tests.stack.webhooks import Receiver, receiving

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@pytest.fixture
def finishing(scene: Scene, s3: "S3Client", bucket: str, topic: CreateTopic) -> Finishing:
    return Finishing(scene, s3, bucket, topic(2))


@pytest.fixture
def webhook() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def wait_for(member: MemberProcess, reason: str, folder: str) -> None:
    """Wait until a member says what its oldest folder waits for."""

    def told() -> bool:
        waiting = (member.status().get("finish") or {}).get("waiting", {}).get("first", [])
        return any(one["folder"] == folder and reason in one["reason"] for one in waiting)

    member.wait(f"{folder} waits: {reason}", told)


def assert_read_by_the_example(
    finishing: Finishing,
    directory: Path,
    minio: MinioServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Run the example twice: it tells each number of a folder once."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", minio.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", minio.secret_key)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    options = ["--bucket", finishing.bucket, "--topic", f"raw/{finishing.topic}", "--endpoint", minio.endpoint]
    monkeypatch.setattr("sys.argv", ["finished_folders", *options, "--state", str(directory / "seen.json")])
    capsys.readouterr()
    assert finished_folders.main() == 0
    told = capsys.readouterr().out.splitlines()
    numbers = [line for line in told if " number " in line]
    assert numbers == [
        f"raw/{finishing.topic}/{hour(number)} number {content['number']}: {content['records']} records in"
        for number in range(3)
        for content in [finishing.content(hour(number))]
    ]
    assert sum(line.startswith("  s3://") for line in told) == len(told) - 3 > 3
    assert finished_folders.main() == 0
    assert capsys.readouterr().out == ""


def test_folders_are_finished_when_all_partitions_have_passed(
    finishing: Finishing,
    scene: Scene,
    verify: Verify,
    tmp_path: Path,
    minio: MinioServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    topic: CreateTopic,
    webhook: Receiver,
) -> None:
    """Others are told, too: a server that is away at first, and a topic."""
    every = {"_SUCCESS", "_manifest.json", ".0.done", ".1.done"}
    webhook.answers = [(503, "not now"), (204, "")]
    told = topic(1)
    policy = ["successFile", "manifest", "done", "webhook", "kafka"]
    manifest = finishing.manifest(policy=policy, webhook={"url": webhook.url}, kafka={"topic": told})
    member = scene.member(manifest)

    finishing.write(0, 0.5, count=10)
    finishing.write(1, 0.5, count=5)
    finishing.write(0, 1 + 9 / 60)
    finishing.write(1, 2)
    wait_for(member, "partition 0 has no record of 2026-03-28T01:10:00Z or later, and is idle", hour(0))
    member.wait("partition 1 is done", lambda: finishing.keys() == {hour(0): {".1.done"}})

    finishing.write(0, 1 + 10 / 60)
    member.wait("the first hour is finished", lambda: finishing.keys() == {hour(0): every})
    content = finishing.content(hour(0))
    assert (content["number"], content["records"], content["lateRecords"]) == (1, 15, 0)
    assert content["end"] == "2026-03-28T01:00:00Z"
    assert content["offsets"] in ({"0": 11, "1": 6}, {"0": 12, "1": 6}), "what has passed the end need not be stored"

    finishing.write(1, 0.75, count=3)  # time goes back
    member.wait("the late records are told", lambda: member.status()["finish"]["lateRecords"] == 3)
    content = finishing.content(hour(0))
    assert (content["number"], content["records"], content["lateRecords"]) == (2, 18, 3)
    member.wait("their note is deleted", lambda: [hour(0)] not in finishing.arrivals())

    member.kill()
    member.wait_gone()
    add_partitions(scene.kafka.bootstrap, finishing.topic, 3)
    finishing.write(0, 3.5)
    finishing.write(1, 3.5)
    finishing.write(2, 1.5, count=7)
    after = scene.member(manifest)
    wait_for(after, "partition 2 has no record of 2026-03-28T02:10:00Z or later", hour(1))
    others = {hour(number): {".0.done", ".1.done"} for number in (1, 2)}
    after.wait("the other two are done", lambda: finishing.keys() == {hour(0): every, **others})
    finishing.write(2, 4)
    after.wait("both are finished", lambda: finishing.finished() == {hour(0), hour(1), hour(2)})
    assert [finishing.content(hour(it))["number"] for it in range(3)] == [2, 1, 1]
    assert finishing.content(hour(1))["records"] == 9
    assert [one["folder"] for one in after.events("folder.finished")] == [hour(1), hour(2)]
    assert [one["duty"] for one in member.events("duty.failed")] == ["webhook"], "it was away"
    assert after.events("duty.failed") == []
    finished = {hour(0), hour(1), hour(2)}
    after.wait("notes are deleted", lambda: not any(finished.issuperset(one) for one in finishing.arrivals()))
    assert_read_by_the_example(finishing, tmp_path, minio, monkeypatch, capsys)
    verify(manifest, "--deep", finds={})
    assert after.metrics()[f'logpersister_finished_folders_total{{topic="{finishing.topic}"}}'] == 2
    scene.group.wait_current(finishing.topic, explain=after.tail)
    scene.assert_stored(finishing.topic)
    assert_told(after, finishing, webhook, told)


def wait_told(
    member: MemberProcess, finishing: Finishing, webhook: Receiver, told: str, hours: Iterable[int]
) -> Mapping[int, Mapping[str, Any]]:
    """Wait until both ways have told what stands in the folders of these hours, and of no others; return that."""
    contents = {it: finishing.content(hour(it)) for it in hours}
    expected = {hour(it): content for it, content in contents.items()}
    bootstrap = finishing.scene.kafka.bootstrap

    def are_told(documents: Iterable[Mapping[str, Any]]) -> bool:
        last = {one["folder"]: {key: one.get(key) for key in expected[one["folder"]]} for one in documents}
        return last == expected

    member.wait("the server knows all", lambda: are_told([json.loads(one.body) for one in webhook.posted]))
    member.wait(
        "the topic knows all", lambda: are_told([json.loads(one.value or b"") for one in read_all(bootstrap, told)[0]])
    )
    return contents


def assert_told(member: MemberProcess, finishing: Finishing, webhook: Receiver, told: str) -> None:
    """Each number that stands in a folder was told at least once, as it stands there, by both ways."""
    expected = wait_told(member, finishing, webhook, told, range(3))
    messages = read_all(finishing.scene.kafka.bootstrap, told)[0]
    assert {one.key for one in messages} == {f"{finishing.topic}/{hour(it)}".encode() for it in expected}
    place = f"{finishing.scene.group.name}/{finishing.bucket}/raw/{finishing.topic}"
    for one in messages:  # repeats can be told
        content = json.loads(one.value or b"")
        number = str(content["number"])
        assert dict(one.headers) == {"id": f"{place}/{content['folder']}/{number}".encode(), "number": number.encode()}
    ids = [one.headers["idempotency-key"] for one in webhook.posted]
    assert ids[0] == f'"{place}/{hour(0)}/1"', "which the server did not take; by then there may be number 2"
    assert set(ids) <= {f'"{place}/{hour(it)}/{number}"' for it, number in ((0, 1), (0, 2), (1, 1), (2, 1))}
    assert {one["policy"]: one["refused"] for one in member.status()["finish"]["telling"]} == {"webhook": 0, "kafka": 0}


def test_idle_partitions_do_not_hold_folders_back(finishing: Finishing, scene: Scene) -> None:
    """One partition has no record at all, the other stops within an hour. What is old comes late, in a new folder."""
    finishing.write(0, 5.5, count=4)
    member = scene.member(finishing.manifest(idleAfter="3s"))
    member.wait("the folder is finished", lambda: "_SUCCESS" in finishing.keys().get(hour(5), set()))
    assert finishing.content(hour(5))["offsets"] == {"0": 4, "1": 0}
    said = {"count": 1, "last": {"topic": finishing.topic, "folder": hour(5), "idle": [0, 1]}}
    member.wait("that is said", lambda: member.status()["finish"]["guessed"] == said)

    finishing.write(1, 2)
    member.wait("the late record is told", lambda: member.status()["finish"]["lateRecords"] == 1)
    content = finishing.content(hour(2))
    assert (content["number"], content["lateRecords"], content["offsets"]) == (1, 1, {"0": 4, "1": 1})
    assert "_SUCCESS" in finishing.keys()[hour(2)]
    member.stop()


def test_by_hand(finishing: Finishing, scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    """While no member works: why not, what would be, and then it is done."""
    finishing.write(0, 5.5, count=4)
    manifest = finishing.manifest()
    member = scene.member(manifest)
    wait_for(member, "and is idle for", hour(5))
    member.stop()

    def finish(*options: str) -> tuple[str, str, Mapping[str, str]]:
        capsys.readouterr()
        assert main(["finish", "-f", str(manifest), "--json", *options]) == 0
        ((topic,),) = [json.loads(capsys.readouterr().out)["topics"]]
        (folder,) = topic["folders"]
        return folder["folder"], folder["state"], folder["waitsFor"]

    folder, state, waits = finish()
    assert (folder, state, set(waits)) == (hour(5), "waits", {"0", "1"})
    assert "has no record of 2026-03-28T06:10:00Z or later" in waits["1"]
    assert finish("--assume-idle", "--dry-run")[1] == "finished-now"
    assert finishing.keys() == {}
    assert finish("--assume-idle")[1] == "finished-now"
    assert "_SUCCESS" in finishing.keys()[hour(5)]
    span = "--from", "2026-03-28T00:00:00Z", "--to"
    assert finish(*span, "2026-03-28T06:00:00Z")[1:] == ("finished", {})
    assert main(["finish", "-f", str(manifest), *span, "2026-03-28T05:00:00Z"]) == 0
    assert hour(5) not in capsys.readouterr().out
    assert main(["finish", "-f", str(manifest)]) == 0
    assert capsys.readouterr().out == "0 folders finished\n"


@pytest.mark.parametrize("late", [pytest.param("folder", marks=pytest.mark.soak), "quarantine"])
def test_late_records_stand_apart(
    finishing: Finishing,
    scene: Scene,
    s3_proxy: FaultProxy,
    verify: Verify,
    capsys: pytest.CaptureFixture[str],
    late: str,
) -> None:
    """A folder is finished between the promise of a range with its records and the writing: the promise decides."""
    storage, allowed = {"endpoint": s3_proxy.endpoint}, "10m"
    of = "finish-late" if late == "folder" else "finish"
    manifest = finishing.manifest(of, storage, late=late, allowedLateness=allowed)
    finishing.write(0, 0.5, count=10)
    finishing.write(1, 0.5, count=5)
    finishing.write(0, 2.5)
    finishing.write(1, 1 + 10 / 60)
    first = scene.member(manifest)
    first.wait_event("folder.finished")  # behind the note of it, which promises go by
    assert finishing.finished() == {hour(0)}
    first.kill()
    first.wait_gone()

    fault = stalled_puts("/hr=01/1_0_")
    s3_proxy.inject(fault)
    finishing.write(0, 0.75, count=3)
    finishing.write(0, 1.5, count=2)
    second = scene.member(manifest)
    second.wait("the second hour is on its way", lambda: fault.met)
    promised = scene.group.pending(finishing.topic)
    finishing.write(1, 2.5)
    second.wait_event("folder.finished")
    assert "_SUCCESS" in finishing.keys()[hour(1)]
    assert finishing.content(hour(1))["records"] == 1
    second.kill()
    second.wait_gone()
    assert scene.group.pending(finishing.topic)[0] == promised[0] == (16,)

    s3_proxy.clear()
    third = scene.member(manifest)
    third.wait("the second hour has its records", lambda: finishing.document(hour(1))["number"] == 2)
    finishing.write(0, 1.75, count=4)
    scene.group.wait_current(finishing.topic, explain=third.tail)
    third.wait("all that came late is counted", lambda: third.status()["uploads"]["late"] == 2 + 3 + 4)
    assert third.status()["finish"]["lateRecords"] == 2
    metrics, topic = third.metrics(), f'topic="{finishing.topic}"'
    counted = [metrics[f'logpersister_late_records_total{{to="{to}",{topic}}}'] for to in (late, "append")]
    assert counted == [3 + 4, 2]
    apart = [(one["records"], one["to"]) for one in third.events("records.late")]
    assert apart == [(3, late), (4, late)]
    third.stop()

    assert [finishing.content(hour(it))["number"] for it in (0, 1)] == [1, 2]
    assert finishing.content(hour(1))["lateRecords"] == 2, "they were promised before it was finished"
    objects = scene.assert_stored(finishing.topic)
    places = [f"_late/{hour(it)}" if late == "folder" else "_quarantine" for it in (0, 1)]
    assert [(one.start, one.path, len(one.values)) for one in objects if one.path[0] == "_"] == [
        (11, places[0], 3),
        (16, places[1], 4),
    ]
    assert [one.metadata["horizon"] for one in objects if one.start in (11, 16)] == [
        *[str(MIDNIGHT_MS + HOUR_MS)] * 2,
        str(MIDNIGHT_MS + 2 * HOUR_MS),
    ]
    assert all(set(folders).isdisjoint([hour(0), *places]) for folders in finishing.arrivals())
    verify(manifest, "--deep", finds={})
    if late == "quarantine":
        assert_replayed_into_their_folders(finishing, verify, capsys)


def assert_replayed_into_their_folders(
    finishing: Finishing, verify: Verify, capsys: pytest.CaptureFixture[str]
) -> None:
    """What came late leaves quarantine when the manifest says that late records are appended."""

    def run(*arguments: str) -> Mapping[str, Any]:
        capsys.readouterr()
        assert main([*arguments, "--json"]) == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    as_before, appending = finishing.manifest(late="quarantine"), finishing.manifest()
    (reason,) = run("quarantine", "ls", "-f", str(as_before))["reasons"]
    assert (reason["reason"], reason["records"]) == ("late", 7)
    replay = ("quarantine", "replay", "-f")
    totals = {"objects": 2, "records": 7, "leftOut": 0, "deleted": 0, "adjusted": {"values": 0, "reasons": {}}}
    assert run(*replay, str(as_before))["totals"] == {**totals, "accepted": 0, "refused": 7}
    assert run(*replay, str(appending))["totals"] == {**totals, "accepted": 7, "refused": 0}
    run("finish", "-f", str(appending), "--from", "2026-03-28T00:00:00Z")
    told = [finishing.content(hour(it)) for it in (0, 1)]
    assert [(one["number"], one["records"], one["lateRecords"]) for one in told] == [(2, 18, 3), (3, 7, 6)]
    verify(appending, "--deep", finds={})


@pytest.mark.soak
def test_hours_by_a_field_and_their_day_are_told_with_a_token(
    finishing: Finishing, scene: Scene, topic: CreateTopic, webhook: Receiver, secrets_dir: Path
) -> None:
    """As in the example. The day is finished, too, when it is over, and the next one is not."""
    (secrets_dir / "folders-hook").mkdir()
    (secrets_dir / "folders-hook" / "token").write_text("t0ken")
    told = topic(1)
    days: dict[str, Any] = {"policy": ["successFile", "manifest", "webhook", "kafka"], "outerLevels": True}
    manifest = finishing.manifest("finish-told", webhook={"url": webhook.url}, kafka={"topic": told}, **days)
    for partition in (0, 1):
        finishing.write_events(partition, 20.25, 20.9, 28.5)
    member = scene.member(manifest)
    member.wait("the hour and its day are finished", lambda: finishing.finished() == {hour(20), "dt=2026-03-28"})
    (content,) = wait_told(member, finishing, webhook, told, [20]).values()
    assert (content["number"], content["records"], content["lateRecords"]) == (1, 4, 0)
    assert {one.headers["authorization"] for one in webhook.posted} == {"Bearer t0ken"}
