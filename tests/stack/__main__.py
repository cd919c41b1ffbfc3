"""``python -m tests.stack up|down|status``: the servers of ``make stack``."""

import argparse
import sys
from pathlib import Path

from examples import produce_clicks
from tests.stack.artifacts import MissingArtifactError
from tests.stack.detached import DIRECTORY, S3_SERVERS, STANDARD_PORTS, Stack
from tests.stack.server import ServerError

BUCKET = "logs"


def main() -> int:
    """Return 0, or 1 when a server did not start or (``status``) does not run."""
    parser = argparse.ArgumentParser(prog="python -m tests.stack", description="Kafka and an S3 server on loopback")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="of data and logs (default .cache/stack)")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start what does not run and print the addresses")
    up.add_argument(
        "--s3", choices=list(S3_SERVERS), help="the S3 server (default: the former one, at first seaweedfs)"
    )
    down = commands.add_parser("down", help="stop both; topics and buckets stay")
    down.add_argument("--wipe", action="store_true", help="forget topics and buckets too")
    commands.add_parser("status", help="print addresses, and exit with 1 unless both run")
    arguments = parser.parse_args()

    stack = Stack(arguments.directory, s3=arguments.s3 if arguments.command == "up" else None)
    try:
        if arguments.command == "up":
            print(f"Starting {stack.kafka.name} and {stack.s3.name} ...", flush=True)
            stack.up()
            prepare(stack)
        elif arguments.command == "down":
            stack.down(wipe=arguments.wipe)
            print("Kafka and the S3 server are stopped." + ("" if arguments.wipe else " Topics and buckets are kept."))
            return 0
    except (ServerError, MissingArtifactError) as error:
        print(error, file=sys.stderr)
        return 1
    return _show(stack)


def prepare(stack: Stack) -> None:
    """Make what examples/clicks.yaml names: its bucket and its topics, which are empty at first."""
    client = stack.s3.client()
    if BUCKET not in {bucket["Name"] for bucket in client.list_buckets()["Buckets"]}:
        client.create_bucket(Bucket=BUCKET)
    client.close()
    produce_clicks.create_topics(stack.kafka.bootstrap)


def example(stack: Stack) -> str:
    """Return the shell words that give examples/clicks.yaml with the addresses of these servers to a command."""
    if (stack.kafka.port, stack.s3.port) == (STANDARD_PORTS["kafka"], STANDARD_PORTS[stack.s3.name]):
        return ".venv/bin/logpersister {} -f examples/clicks.yaml"
    changed = f"s/127.0.0.1:9092/{stack.kafka.bootstrap}/; s/127.0.0.1:9000/{stack.s3.host}:{stack.s3.port}/"
    return f"sed '{changed}' examples/clicks.yaml | .venv/bin/logpersister {{}} -f -"


def _show(stack: Stack) -> int:
    alive = stack.alive()
    if not any(alive.values()):
        print("Neither Kafka nor an S3 server runs; start them with `make stack`.")
        return 1
    kafka, s3 = stack.kafka, stack.s3
    addresses = {kafka.name: kafka.bootstrap, s3.name: s3.endpoint}
    logs = {kafka.name: kafka.log, s3.name: s3.log}
    for name, runs in alive.items():
        print(f"{name:9} {addresses[name] if runs else 'does not run':30} log: {logs[name]}")
    print(
        f"""
In a manifest:
  kafka:   {{bootstrapServers: "{kafka.bootstrap}"}}
  storage: {{endpoint: "{s3.endpoint}", region: {s3.region}, secretName: s3}}
In the shell, for the manifest's secret and for the aws command:
  export LOGPERSISTER_SECRETS_DIR={stack.secrets_dir}
  export AWS_ACCESS_KEY_ID={s3.access_key} AWS_SECRET_ACCESS_KEY={s3.secret_key}
  export AWS_ENDPOINT_URL={s3.endpoint} AWS_REGION={s3.region}
To store sample records with it:
  .venv/bin/python -m examples.produce_clicks --bootstrap {kafka.bootstrap}
  {example(stack).format("run")}
Stop them with `make stack-down`."""
    )
    return 0 if all(alive.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
