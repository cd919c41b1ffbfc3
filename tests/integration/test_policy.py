"""Members run under exactly the rights that ``check --print-policy`` prints, on MinIO and on a broker with ACLs."""

import json
import shlex
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from logpersister.cli import main
from logpersister.cli.exits import Exit
from logpersister.finish.telling import Message, NotTakenError
from logpersister.finish.topic_records import TopicRecords
from logpersister.group.offsets import LogReader
from logpersister.kafka_client import client_config
from logpersister.manifest import load
from logpersister.manifest.secrets import Secrets
from logpersister.storage.finished import FolderContent
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.scene import Scene
from tests.integration.harness.verification import Verify
from tests.stack import KafkaBroker, MinioServer
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import create_topic, read_all

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

USER, PASSWORD = "persister", "a-password"


@pytest.fixture
def guarded(tmp_path: Path, secrets_dir: Path) -> Iterator[KafkaBroker]:
    """A broker that allows nothing to who logs in, unless an ACL does."""
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    (secrets_dir / "login").mkdir()
    (secrets_dir / "login" / "username").write_text(USER)
    (secrets_dir / "login" / "password").write_text(PASSWORD)
    with KafkaBroker(
        tmp_path / "guarded", listeners=["SASL_PLAINTEXT"], users={USER: PASSWORD}, properties=properties
    ) as broker:
        yield broker


def test_a_member_runs_under_the_printed_rights(
    tmp_path: Path,
    guarded: KafkaBroker,
    minio: MinioServer,
    s3: "S3Client",
    s3_proxy: FaultProxy,
    bucket: str,
    unique: str,
    secrets_dir: Path,
    verify: Verify,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One member is killed in the middle of an upload, so that its successor has to find and abort that."""
    with Scene(tmp_path, guarded, s3, bucket=bucket, endpoint=s3_proxy.endpoint, group=unique) as scene:
        name = f"{unique}.clicks"
        told = f"{unique}-told"
        create_topic(guarded.bootstrap, name)
        create_topic(guarded.bootstrap, told)
        login = {"protocol": "SASL_PLAINTEXT", "mechanism": "SCRAM-SHA-512", "secretName": "login"}
        manifest = scene.manifest(
            kafka={
                "bootstrapServers": guarded.address("SASL_PLAINTEXT"),
                "topicPattern": f"^{unique}\\.",
                "security": login,
            },
            storage={"secretName": "restricted", "partSize": "5Mi"},
            output={"text": {"compression": "none"}, "partitionBy": [{"date": {"granularity": "day"}}]},
            finish={"policy": ["kafka"], "kafka": {"topic": told}},
            rollout={"shadow": {"groupId": f"{unique}-shadow", "prefix": "shadows"}},
        )
        password = secrets_dir / "login" / "password"
        password.write_text("mistyped")
        assert main(["lag", "-f", str(manifest)]) == Exit.INVALID
        assert "the login was refused" in capsys.readouterr().err
        password.write_text(PASSWORD)
        _write_keys(secrets_dir, minio, [{"Effect": "Deny", "Action": ["s3:*"], "Resource": ["arn:aws:s3:::*"]}])
        assert main(["check", "-f", str(manifest)]) == Exit.UNREACHABLE
        assert "this user may not use the group" in (out := capsys.readouterr().out)
        assert "AccessDenied" in out
        assert main(["check", "-f", str(manifest), "--print-policy", "--json"]) == Exit.OK
        printed = json.loads(capsys.readouterr().out)
        _write_keys(secrets_dir, minio, printed["iamPolicy"]["Statement"])
        config = client_config(load(manifest).spec.kafka, Secrets())
        message = Message(
            "id", "clicks/dt=2026-03-28", 1, b"{}", FolderContent("clicks", "dt=2026-03-28", "", 1, {}, ())
        )
        with (
            pytest.raises(NotTakenError, match="who logs in may write to it"),
            TopicRecords(config, told).session() as send,
        ):
            send(message)
        for tool, option, _, *arguments in printed["kafkaAcls"]:
            assert (tool, option) == ("kafka-acls", "--bootstrap-server")
            guarded.run_tool("org.apache.kafka.tools.AclCommand", option, guarded.bootstrap, *arguments)

        with closing(LogReader(config, read_committed=True)) as reader:
            assert reader.compacted(name) is False, "a shadow has to know"
        with TopicRecords(config, told).session() as send:
            send(message)
        assert [one.value for one in read_all(guarded.bootstrap, told)[0]] == [b"{}"]

        scene.workload.write(name, 800, size=10_000)
        fault = stalled_puts("partNumber=2")
        s3_proxy.inject(fault)
        member = scene.member(manifest, "one")
        member.wait("the upload is half way", lambda: fault.met >= 1)
        member.kill()
        member.wait_gone()
        s3_proxy.clear()
        scene.run_until_current(manifest)

        scene.assert_stored(name)
        assert not scene.bucket.unfinished_uploads()
        assert verify(manifest, "--deep")["ok"]
        for command in ("check", "lag", "ls"):
            assert main([command, "-f", str(manifest)]) == Exit.OK
        capsys.readouterr()
        assert main(["check", "-f", str(manifest), "--print-policy"]) == Exit.OK
        assert shlex.join(printed["kafkaAcls"][0]) in capsys.readouterr().out


def _write_keys(secrets_dir: Path, minio: MinioServer, statements: list[dict[str, Any]]) -> None:
    """Write keys that may only what the statements allow, as the Secret of the manifest."""
    (secrets_dir / "restricted").mkdir(exist_ok=True)
    for key, value in minio.keys_for(*statements).items():
        (secrets_dir / "restricted" / key).write_text(value)
