"""Context of every command: the manifest, and secrets that cannot leave in a log line."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.tables import printable
from logpersister.forms.sparse import sparse
from logpersister.forms.substitution import SWITCH
from logpersister.manifest import FeedCollector, LogPersister, load, load_collector, load_either, parse
from logpersister.manifest.kubernetes_resource import API_VERSION
from logpersister.manifest.resource import KIND
from logpersister.manifest.secrets import DIRECTORY_VARIABLE, Secrets, SecretValue
from logpersister.report import logs

_NOT_SECRET: Final = frozenset(
    {"username", "ca.crt", "tls.crt", "client-id", "scope", "token-url", "AWS_ACCESS_KEY_ID"}
)
"""Keys whose values are names. Hiding "admin" would blank that word in every log line."""


class HiddenSecrets(Secrets):
    """Secrets that are told to the redactor of the logs as soon as they are read."""

    def get(self, name: str, key: str) -> SecretValue | None:
        value = super().get(name, key)
        if value is not None and key not in _NOT_SECRET:
            logs.redactor.hide(value.reveal())
        return value


def manifest(file: str) -> LogPersister:
    """Load the manifest that ``-f`` names. Raises ManifestError, which ends the command."""
    return load(file, _variables())


def collector(file: str) -> FeedCollector:
    """Load the manifest of a FeedCollector the same way."""
    return load_collector(file, _variables())


def either(file: str) -> LogPersister | FeedCollector:
    """Load the manifest of a command that takes both kinds, the same way."""
    return load_either(file, _variables())


def begin(arguments: argparse.Namespace, topic: str | None = None) -> tuple[LogPersister, Secrets]:
    """Return the manifest and the secrets of a command that logs only errors. Raises ManifestError, CommandError.

    A `topic` that the manifest does not select is refused: it would look like one of which nothing is stored.
    """
    logs.configure(level="error")
    loaded = manifest(arguments.file)
    if topic is not None and not loaded.spec.kafka.selects(topic):
        raise CommandError(f"--topic: {printable(topic)} is no topic that spec.kafka selects", Exit.INVALID)
    return loaded, secrets(arguments)


def resource(name: str, kafka: Mapping[str, object], storage: Mapping[str, object]) -> LogPersister:
    """Return the resource with these sections, for commands that are asked without a manifest."""
    spec = {"kafka": kafka, "storage": storage}
    return parse({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec})


def changed(resource: LogPersister, **sections: Mapping[str, object]) -> LogPersister:
    """Return a resource with other sections of its spec. Raises ManifestError."""
    return replaced(resource, {**sparse(resource.spec), **sections})


def replaced(resource: LogPersister, spec: Mapping[str, object]) -> LogPersister:
    """Return a resource with another spec. Raises ManifestError."""
    return parse({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": resource.name}, "spec": spec})


def _variables() -> Mapping[str, str] | None:
    """Return what ``${NAME}`` refers to; None in pods, where a manifest is taken as the resource has it."""
    substitutes = os.environ.get(SWITCH, "yes")
    if substitutes not in {"yes", "no"}:
        raise CommandError(f'{SWITCH}: "{substitutes}" is neither yes nor no; correct or unset it', Exit.INVALID)
    return os.environ if substitutes == "yes" else None


def secrets(arguments: argparse.Namespace) -> Secrets:
    """Return the secrets, from ``--secrets-dir`` when it is given.

    The directory goes into the environment, because Spark's workers resolve secrets themselves and inherit it.
    """
    if arguments.secrets_dir is not None:
        directory = Path(arguments.secrets_dir).resolve()
        if not directory.is_dir():
            raise CommandError(
                f"--secrets-dir {arguments.secrets_dir}: is not a directory; name the one that has <secret name>/<key>",
                Exit.INVALID,
            )
        os.environ[DIRECTORY_VARIABLE] = str(directory)
    return HiddenSecrets()
