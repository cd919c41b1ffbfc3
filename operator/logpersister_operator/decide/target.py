"""How old the oldest record may get before the lag is called too large. Pure."""

from logpersister.manifest.resource import Spec

SLACK_SECONDS = 60.0


def target_lag_seconds(spec: Spec, topic: str) -> float:
    """Return ``spec.targetLag``; unless set, twice the ``maxAge`` of the topic and a minute."""
    if spec.target_lag is not None:
        return spec.target_lag.total_seconds()
    return 2 * spec.upload.for_topic(topic).max_age.total_seconds() + SLACK_SECONDS
