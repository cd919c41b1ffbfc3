"""`logpersister delete` on what a member has stored, while it goes on: what all who look tell afterwards."""

from collections import Counter
from contextlib import redirect_stderr
from io import StringIO
from typing import TYPE_CHECKING

import pytest

from logpersister.cli import main
from logpersister.cli.exits import Exit
from tests.integration.harness.examples import example
from tests.integration.harness.scene import PREFIX, CreateTopic, Scene
from tests.integration.harness.verification import Verify, said, said_json
from tests.integration.harness.waiting import eventually

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = pytest.mark.usefixtures("logging_as_before")

HOUR_MS = 3_600_000
FIRST_MS = 1_789_999_200_000
FIRST, SECOND, THIRD = (f"2026-09-21T{hour}:00:00Z" for hour in (14, 15, 16))
RECORDS = 100
"""Of each partition and hour."""


def write(scene: Scene, topic: str, hour: int) -> None:
    begin = FIRST_MS + hour * HOUR_MS
    scene.workload.write(topic, RECORDS, partitions=[0, 1], timestamp=lambda place: begin + place)


def hours(scene: Scene, topic: str) -> dict[str, int]:
    """Return how many records each folder has."""
    found = Counter[str]()
    for one in scene.bucket.objects(topic):
        found[one.path[-2:]] += len(one.values)
    return dict(found)


def test_an_hour_is_deleted_beside_a_member_and_is_no_loss(
    scene: Scene, topic: CreateTopic, verify: Verify, s3: "S3Client", bucket: str, unique: str
) -> None:
    name = topic(2)
    manifest = scene.manifest(kafka={"topics": [name]}, **example("finish"))
    member = scene.member(manifest, "live")
    for hour in range(3):
        write(scene, name, hour)
        scene.group.wait_current(name, explain=member.tail)
    done = f"{PREFIX}/{name}/dt=2026-09-21/hr=14/_SUCCESS"
    eventually(
        "the first hour is finished",
        lambda: s3.list_objects_v2(Bucket=bucket, Prefix=done)["KeyCount"],
        explain=member.tail,
    )

    command = ["delete", "-f", str(manifest), "--to", SECOND]
    assert "2 objects" in said(*command, "--dry-run")
    with redirect_stderr(StringIO()) as told:
        assert main(command) == Exit.INVALID
    assert "--yes: is needed where nobody can be asked" in told.getvalue()
    assert hours(scene, name) == {"14": 200, "15": 200, "16": 200}
    said(*command, "--yes")
    assert hours(scene, name) == {"15": 200, "16": 200}
    verify(manifest, "--deep", finds={("deleted", 0): 1, ("deleted", 1): 1}, compared=[4 * RECORDS])
    assert f"deleted on purpose: 200 offsets of {name}, at 20" in said("ls", "-f", str(manifest), "--current")
    (deleted,) = said_json("ls", "-f", str(manifest), "--current")["deleted"]
    assert (deleted["topic"], deleted["offsets"]) == (name, 200)
    assert said_json("finish", "-f", str(manifest), "--from", FIRST, "--to", SECOND)["errors"] == []

    write(scene, name, 3)
    scene.group.wait_current(name, explain=member.tail)
    page = said("top", "-f", str(manifest), "--status", f"http://{member.address}")
    assert page.startswith(f"Group {unique}: 1 of 1 members running\n")
    assert f"\n{name}  " in page
    member.stop()
    said("delete", "-f", str(manifest), "--to", "2026-09-22T00:00:00Z", "--yes")
    assert hours(scene, name) == {"17": 200}, "the newest range of each partition stays"
    verify(manifest, "--deep", finds={("deleted", 0): 2, ("deleted", 1): 2}, compared=[2 * RECORDS])

    scene.group.wait_empty()
    scene.group.forget(name, [0, 1])  # the group goes on behind the newest objects, and repairs what is before them
    write(scene, name, 4)
    scene.run_until_current(manifest)
    assert hours(scene, name) == {"14": 200, "15": 200, "16": 200, "17": 200, "18": 200}
    verify(manifest, finds={("deleted", 0): 5, ("deleted", 1): 5})
    said("delete", "-f", str(manifest), "--to", "2026-09-22T00:00:00Z", "--yes")
    assert hours(scene, name) == {"18": 200}
    assert verify(manifest, "--deep")["ok"]


def test_a_replay_names_what_was_deleted_of_its_backup(scene: Scene, topic: CreateTopic, unique: str) -> None:
    name = topic()
    scene.workload.write(name, 600, size=1_000, timestamp=lambda place: FIRST_MS + place * HOUR_MS // 200)
    backup = scene.manifest(
        kafka={"topics": [name], "groupId": f"{unique}-backup"},
        storage={"prefix": "backup"},
        upload={"maxBytes": "64Ki"},
        **example("backup"),
    )
    live = scene.manifest(kafka={"topics": [name]}, output={"text": {}})
    beside = scene.member(live, None, "--until-current")
    scene.run_until_current(backup)
    assert beside.wait_end() == Exit.OK, beside.tail()
    command = ["delete", "-f", str(backup), "--from", SECOND, "--to", THIRD, "--yes"]
    assert " objects deleted\n" in said(*command)
    again = scene.manifest(kafka={"topics": [name]}, output={"text": {}}, generation=2)
    with redirect_stderr(StringIO()) as told:
        code = main(["replay", "-f", str(again), "--backup", str(backup), "--source", "backup", "--dry-run"])
    assert code == Exit.HELD
    assert "a hole: no object of the backup has" in told.getvalue()
    assert "(deleted on purpose at 20" in told.getvalue()
