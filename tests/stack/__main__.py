"""``python -m tests.stack up|down|status``: the servers of ``make stack``."""

import argparse
import sys

from tests.stack.artifacts import MissingArtifactError
from tests.stack.detached import Stack
from tests.stack.server import ServerError


def main() -> int:
    """Return 0, or 1 when a server did not start or (``status``) does not run."""
    parser = argparse.ArgumentParser(prog="python -m tests.stack", description="Kafka and MinIO on loopback")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="start what does not run and print the addresses")
    down = commands.add_parser("down", help="stop both; topics and buckets stay")
    down.add_argument("--wipe", action="store_true", help="forget topics and buckets too")
    commands.add_parser("status", help="print addresses, and exit with 1 unless both run")
    arguments = parser.parse_args()

    stack = Stack()
    try:
        if arguments.command == "up":
            print("Starting Kafka and MinIO ...", flush=True)
            stack.up()
        elif arguments.command == "down":
            stack.down(wipe=arguments.wipe)
            print("Kafka and MinIO are stopped." + ("" if arguments.wipe else " Topics and buckets are kept."))
            return 0
    except (ServerError, MissingArtifactError) as error:
        print(error, file=sys.stderr)
        return 1
    return _show(stack)


def _show(stack: Stack) -> int:
    alive = stack.alive()
    if not any(alive.values()):
        print("Neither Kafka nor MinIO runs; start them with `make stack`.")
        return 1
    kafka, minio = stack.kafka, stack.minio
    addresses = {kafka.name: kafka.bootstrap, minio.name: minio.endpoint}
    logs = {kafka.name: kafka.log, minio.name: minio.log}
    for name, runs in alive.items():
        print(f"{name:6} {addresses[name] if runs else 'does not run':30} log: {logs[name]}")
    print(
        f"""
In a manifest:
  kafka:   {{bootstrapServers: "{kafka.bootstrap}"}}
  storage: {{endpoint: "{minio.endpoint}", region: {minio.region}, secretName: s3}}
In the shell, for the manifest's secret and for the aws command:
  export LOGPERSISTER_SECRETS_DIR={stack.secrets_dir}
  export AWS_ACCESS_KEY_ID={minio.access_key} AWS_SECRET_ACCESS_KEY={minio.secret_key}
  export AWS_ENDPOINT_URL={minio.endpoint} AWS_REGION={minio.region}
Stop them with `make stack-down`."""
    )
    return 0 if all(alive.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
