"""Which Secrets a resource names."""

from logpersister.manifest.resource import Spec


def secret_names(spec: Spec) -> list[str]:
    """Return the names of all Secrets that members and executors need, sorted, each once."""
    named = {spec.kafka.security.secret_name, spec.storage.secret_name, spec.storage.ca_secret_name}
    return sorted(name for name in named if name is not None)
