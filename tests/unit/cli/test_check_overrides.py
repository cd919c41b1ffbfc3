"""What ``logpersister check`` says of overrides, by the topics that Kafka has."""

from logpersister.cli.check.finding import Finding
from logpersister.cli.check.spec import overrides_findings
from tests.unit.manifest.documents import accepted


def test_it_says_which_entry_applies_to_which_topics() -> None:
    patterns = [("topicPattern", "^web"), ("topicPattern", "^web[.]eu"), ("topicPattern", "^wbe"), ("topics", ["x"])]
    overrides = [{name: value, "upload": {"maxAge": "1m"}} for name, value in patterns]
    spec = accepted({"spec.kafka": {"bootstrapServers": "a:1", "topicPattern": "."}, "spec.overrides": overrides}).spec
    assert list(overrides_findings(spec, ["web.us", "web.eu", "x", "y"])) == [
        Finding("overrides", "ok", "spec.overrides[0]: web.eu, web.us"),
        Finding(
            "overrides",
            "warning",
            "spec.overrides[1]: applies to no topic, because entries before it have what it names (web.eu); the first "
            "entry that names a topic applies",
        ),
        Finding("overrides", "warning", "spec.overrides[2]: names no topic that Kafka has and spec.kafka selects"),
        Finding("overrides", "ok", "spec.overrides[3]: x"),
    ]
