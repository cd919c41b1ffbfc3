"""The command line: commands, options, their help. Loads nothing but the standard library."""

import argparse
from typing import Final, Literal

from logpersister import __version__
from logpersister.cli import operating_arguments, storing_arguments
from logpersister.cli.argument_types import count, positive, seconds, topics, window, words

FRAMINGS: Final = ("confluent", "apicurio", "glue", "singleObject")
REGISTERED: Final = ("avro", "protobuf", "json")
_EPILOG: Final = """\
exit codes:
  0  done
  1  started, but failed
  2  the command line, the manifest or a secret is wrong, or a server refuses keys or login
  3  Kafka or the bucket could not be reached or read, or a topic does not exist
  4  run --until-current: all remaining partitions are held, or wait for a schema, until someone acts; replay: also a
     hole, or offsets that it cannot plan
  5  run: another process has taken this member's name
  6  verify: the promise is broken or cannot be proven
  130, 143  ended by Ctrl-C or SIGTERM; a running member finishes its work and exits with 0
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    root = argparse.ArgumentParser(
        prog="logpersister",
        description="Copies Kafka topics into S3, every record exactly once.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"logpersister {__version__}")
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _init(_command(commands, "init", "write a manifest from what the brokers and the bucket have", file=None))
    _check(_command(commands, "check", "validate a manifest and test its brokers and bucket"))
    storing_arguments.run(_command(commands, "run", "run a member of the group until it is stopped"))
    _collect(_command(commands, "collect", "poll feeds over HTTP, new contents become records", kind="FeedCollector"))
    either = "LogPersister or FeedCollector"
    operating_arguments.drain(_command(commands, "drain", "store or send what waits now, then end", kind=either))
    operating_arguments.top(_command(commands, "top", "show members or collectors at a glance, live", kind=either))
    _schema(commands)
    _try(_command(commands, "try", "show how the last records of a topic would be stored; writes nothing"))
    _lag(_command(commands, "lag", "show what is not stored yet"))
    _ls(_command(commands, "ls", "show what is stored"))
    _head(_command(commands, "head", "show the first records of an object", file="optional"))
    _quarantine(commands)
    _finish(_command(commands, "finish", "finish folders by hand, and say why others are not finished"))
    storing_arguments.replay(_command(commands, "replay", "store history again under the manifest, in its generation"))
    storing_arguments.switch(
        _command(commands, "switch", "say which generation counts: that of a replay, or what members have stored")
    )
    _verify(_command(commands, "verify", "prove from Kafka and the bucket that every record is stored exactly once"))
    _restore(_command(commands, "restore", "produce the records of a backup back into topics"))
    _retrieve(_command(commands, "retrieve", "fetch what is stored into a directory"))
    operating_arguments.delete(_command(commands, "delete", "delete what is stored of a time, and note that"))
    commands.add_parser("version", help="print versions", description="Print versions.")
    return root


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    summary: str,
    *,
    file: Literal["required", "optional"] | None = "required",
    kind: str = "LogPersister",
) -> argparse.ArgumentParser:
    sentence = f"{summary[0].upper()}{summary[1:]}."
    command = commands.add_parser(name, help=summary, description=sentence)
    if file is not None:
        command.add_argument(
            "-f",
            "--file",
            required=file == "required",
            metavar="FILE",
            help=f"the {kind} manifest (YAML); - reads it from standard input",
        )
    command.add_argument(
        "--secrets-dir",
        metavar="DIR",
        help="directory with DIR/<secret name>/<key> files, as Kubernetes mounts them (default: "
        "$LOGPERSISTER_SECRETS_DIR, else environment variables LOGPERSISTER_SECRET_<NAME>_<KEY>)",
    )
    command.add_argument(
        "--timeout",
        type=seconds,
        default=10.0,
        metavar="DURATION",
        help="how long to wait for Kafka and for the bucket (default: 10s)",
    )
    return command


def _restore(command: argparse.ArgumentParser) -> None:
    _json(command)
    command.add_argument(
        "--to",
        required=True,
        metavar="HOST:PORT,… | FILE",
        help="brokers that get the records, or a file with a block kafka as in manifests (bootstrapServers, security)",
    )
    command.add_argument(
        "--topics", required=True, type=words, metavar="NAME,…", help="topics of the backup; missing ones are made"
    )
    command.add_argument("--rename", type=words, metavar="OLD=NEW,…", help="restore a topic under another name")
    command.add_argument(
        "--groups",
        type=words,
        metavar="NAME,… | FILE",
        help="consumer groups that go on where they were: their offsets are read from the brokers of the manifest, or "
        "from a file with lines group,topic,partition,offset",
    )
    command.add_argument("--offsets", metavar="FILE", help="a file for the table of old and new offsets (JSON)")
    command.add_argument("--dry-run", action="store_true", help="produce nothing, and say what would be")


def _retrieve(command: argparse.ArgumentParser) -> None:
    _json(command)
    command.add_argument(
        "--target", required=True, metavar="DIR", help="directory for the files; made if it is missing"
    )
    window(
        command,
        since="this time and later ones, rounded down to the begin of a folder (default: all)",
        until="before this time, rounded up to the end of a folder (default: all)",
    )
    topics(command)
    command.add_argument(
        "--folders",
        type=words,
        metavar="PATH,…",
        help="only these folders below that of the topic, such as that of a feed (default: all)",
    )
    command.add_argument(
        "--store",
        type=count,
        default=0,
        metavar="N",
        help="fetch archives from a copy: 1 is the first of spec.storage.copies (default: 0, the bucket itself)",
    )
    command.add_argument("--unpack", action="store_true", help="unpack archives beside their files")
    command.add_argument("--collapse-topics", action="store_true", help="no folders by topic: file names begin with it")
    command.add_argument("--collapse-time", action="store_true", help="no folders by time: file names begin with those")
    command.add_argument(
        "--parallel", type=positive, default=8, metavar="N", help="how many objects to fetch at once (default: 8)"
    )
    command.add_argument("--dry-run", action="store_true", help="fetch nothing, and say what would be")


def _finish(command: argparse.ArgumentParser) -> None:
    command.add_argument("--topic", metavar="TOPIC", help="only this topic")
    window(
        command,
        since="folders that end after this time, finished ones too, whose content is made known anew where it has "
        "changed (default: those that are not finished)",
        until="folders that end by this time",
    )
    command.add_argument(
        "--assume-idle",
        action="store_true",
        help="take each partition for idle whose records are all stored, without waiting for idleAfter",
    )
    command.add_argument("--dry-run", action="store_true", help="write nothing")
    _json(command)


def _init(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--bootstrap-servers", required=True, metavar="HOST:PORT,…", help="brokers for the first connection"
    )
    command.add_argument("--bucket", required=True, metavar="BUCKET", help="bucket for the objects")
    command.add_argument("--prefix", default="raw", metavar="FOLDER", help="folder of the bucket (default: raw)")
    chosen = command.add_mutually_exclusive_group()
    chosen.add_argument(
        "--topics",
        type=words,
        metavar="NAME,…",
        help="topics to store (default: all existing ones except internal ones)",
    )
    chosen.add_argument(
        "--pattern", metavar="REGEX", help="regular expression of topics to store, including later ones"
    )
    command.add_argument("--name", metavar="NAME", help="name of the resource and of its consumer group")
    command.add_argument("--output", metavar="FILE", help="a new file for the manifest (default: standard output)")
    command.add_argument("--protocol", metavar="WORD", help="protocol of the listener: SSL, SASL_PLAINTEXT, SASL_SSL")
    command.add_argument("--mechanism", metavar="WORD", help="login mechanism, for example SCRAM-SHA-512")
    command.add_argument(
        "--kafka-secret", metavar="NAME", help="Secret with the login and certificates: username, password, ca.crt, …"
    )
    command.add_argument(
        "--kafka-ca-secret", metavar="NAME", help="Secret with ca.crt, if that is not in --kafka-secret"
    )
    _storage(command)


def _check(command: argparse.ArgumentParser) -> None:
    _json(command)
    command.add_argument(
        "--print-policy",
        action="store_true",
        help="print the IAM policy and the kafka-acls commands that members of this manifest need, without connecting",
    )


def _collect(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--check", action="store_true", help="ask each feed once and look for the topic; writes nothing"
    )
    command.add_argument(
        "--replica-name",
        metavar="NAME",
        help="name in records; of several replicas, a number at its end says which one this is, as in prices-0 "
        "(default: host and process)",
    )
    operating_arguments.spool(command)
    storing_arguments.served(command)
    storing_arguments.logged(command)


def _schema(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser("schema", help="find a schema for values", description="Find a schema for values.")
    actions = command.add_subparsers(dest="action", required=True, metavar="ACTION")
    infer = _command(actions, "infer", "print a schema for the JSON, Avro or protobuf values of a topic, to start from")
    _sample(infer)
    infer.add_argument(
        "--registry", metavar="URL", help="schema registry with the schemas of the values, or glue://REGION/REGISTRY"
    )
    infer.add_argument(
        "--registry-secret",
        metavar="NAME",
        help="Secret with the login of the registry (docs/manifest.md#secrets)",
    )
    infer.add_argument(
        "--framing",
        choices=FRAMINGS,
        default="confluent",
        help="header of the values (default: %(default)s); with --registry",
    )
    infer.add_argument(
        "--parser",
        choices=REGISTERED,
        default="avro",
        help="kind of the values (default: %(default)s); with --registry",
    )


def _try(command: argparse.ArgumentParser) -> None:
    _sample(command)
    command.add_argument("-n", "--rows", type=count, default=5, metavar="N", help="how many rows to show (default: 5)")
    command.add_argument("--type", metavar="NAME", help="with spec.types: show rows, folders and sizes of this type")


def _sample(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--topic", metavar="TOPIC", help="the topic (default: that of the manifest, if it has only one)"
    )
    command.add_argument(
        "--last",
        type=positive,
        default=10_000,
        metavar="N",
        help="how many of the last records to read (default: 10000; fewer if they have more than 64 MiB)",
    )


def _lag(command: argparse.ArgumentParser) -> None:
    _json(command)
    command.add_argument("--all", action="store_true", help="list every partition, not only the worst")
    command.add_argument(
        "--watch",
        type=seconds,
        nargs="?",
        const=5.0,
        metavar="DURATION",
        help="repeat until Ctrl-C, every 5s or as given",
    )


def _ls(command: argparse.ArgumentParser) -> None:
    _json(command)
    command.add_argument("--topic", metavar="TOPIC", help="this topic only")
    command.add_argument("--generation", type=count, metavar="N", help="this generation only (default: all)")
    command.add_argument(
        "--current", action="store_true", help="what counts only, after a replay and logpersister switch"
    )
    command.add_argument("--objects", action="store_true", help="list single objects instead of folders")
    command.add_argument(
        "--facts", action="store_true", help="also show records, group and revision (one request per object)"
    )
    command.add_argument("--limit", type=count, default=0, metavar="N", help="show at most N lines (default: all)")


def _head(command: argparse.ArgumentParser) -> None:
    _json(command)
    command.add_argument("what", metavar="s3://BUCKET/KEY | TOPIC", help="an object, or with -f a topic")
    command.add_argument("partition", metavar="PARTITION", type=count, nargs="?", help="partition of the topic")
    command.add_argument("offset", metavar="OFFSET", type=count, nargs="?", help="offset of the first record")
    command.add_argument(
        "-n", "--records", type=count, default=10, metavar="N", help="how many records to show (default: 10)"
    )
    _storage(command)


def _quarantine(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "quarantine",
        help="show and replay the records that the parser refused",
        description="Show and replay the records that the parser refused.",
    )
    actions = command.add_subparsers(dest="action", required=True, metavar="ACTION")
    _refused(_command(actions, "ls", "count refused records by reason, as the parser of the manifest judges them now"))
    show = _command(actions, "show", "show the first refused records with their reasons")
    _refused(show)
    show.add_argument("--reason", metavar="REASON", help="this reason only, for example wrong_type")
    show.add_argument(
        "-n", "--records", type=count, default=10, metavar="N", help="how many records to show (default: 10)"
    )
    show.add_argument("--whole", action="store_true", help="show long values whole; else they are cut")

    replay = _command(actions, "replay", "store refused records that the manifest now accepts in their folders")
    _refused(replay)
    replay.add_argument("--dry-run", action="store_true", help="count what would be stored; write nothing")
    replay.add_argument(
        "--leave-out",
        action="store_true",
        help="delete records that spec.keep or spec.types leaves out; else they stay in quarantine",
    )
    replay.add_argument(
        "--without-kafka",
        action="store_true",
        help="do not ask Kafka whether ranges are committed: for a group that no longer has members",
    )


def _refused(command: argparse.ArgumentParser) -> None:
    _json(command)
    command.add_argument("--topic", metavar="TOPIC", help="this topic only")


def _storage(command: argparse.ArgumentParser) -> None:
    """Add the options for a bucket that no manifest describes."""
    command.add_argument("--endpoint", metavar="URL", help="S3 server (default: $AWS_ENDPOINT_URL, otherwise AWS)")
    command.add_argument("--region", metavar="REGION", help="region of the bucket (default: from the AWS SDK's chain)")
    command.add_argument(
        "--s3-secret",
        metavar="NAME",
        help="Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (default: keys from the AWS SDK's chain)",
    )
    command.add_argument("--s3-ca-secret", metavar="NAME", help="Secret with ca.crt, the CA of the endpoint")


def _verify(command: argparse.ArgumentParser) -> None:
    _json(command)
    command.add_argument("--topic", metavar="TOPIC", help="this topic only")
    command.add_argument(
        "--deep", action="store_true", help="also read every object and compare it with the records in Kafka"
    )
    command.add_argument(
        "--backup", metavar="BACKUP", help="the LogPersister manifest of a backup, which has what Kafka has deleted"
    )


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="machine-readable output (docs/commands.md)")
