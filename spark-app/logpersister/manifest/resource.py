"""The LogPersister resource as a whole: what ``kubectl apply -f`` and ``logpersister run -f`` both take."""

from collections.abc import Iterator
from typing import Literal

from logpersister.forms.problems import Finding, Problem, path_text
from logpersister.forms.rule import change_rule, refuses, rules_of
from logpersister.manifest.kubernetes_resource import KubernetesResource
from logpersister.manifest.spec import SHADOW, Spec

KIND = "LogPersister"

_GROUP = "(has({0}.spec.kafka.groupId) ? {0}.spec.kafka.groupId : {0}.metadata.name)"
"""CEL: the consumer group of a version of the resource."""
_GENERATION = "(has({0}.spec.generation) ? {0}.spec.generation : 1)"


class LogPersister(KubernetesResource):
    """One consumer group's copy of Kafka topics in a bucket."""

    kind: Literal["LogPersister"]
    """Kind of the resource."""

    spec: Spec
    """What the user wants."""

    @property
    def group_id(self) -> str:
        """The consumer group: ``spec.kafka.groupId``, or the resource's name."""
        return self.spec.kafka.group_id or self.metadata.name

    def for_topic(self, topic: str) -> "LogPersister":
        """Return the resource as it is for a topic: with the entry of ``spec.overrides`` that names it, and no other.

        The resource itself, where nothing in it is about single topics.
        """
        spec = self.spec.for_topic(topic)
        return self if spec is self.spec else self.model_copy(update={"spec": spec})

    def problems_of_change(self, before: "LogPersister") -> list[Problem]:
        """Return why this cannot take the place of what was there before; nothing if it can."""
        rules = [declared for declared in rules_of(type(self)) if declared.is_change]
        findings = [finding for declared in rules for finding in declared.findings(self, before)]
        return [
            Problem(path_text(finding.at), finding.expectation, finding.remedy, finding.found) for finding in findings
        ]

    @refuses
    def _a_shadow_is_another_group(self) -> Iterator[Finding]:
        shadow = self.spec.rollout.shadow
        if shadow is not None and f"{self.group_id}.".startswith(f"{shadow.group_id}."):
            told, remedy = "is the group of the resource itself, or could be", "name a group that only shadows use"
            yield Finding(told, remedy, ("spec", *SHADOW, "groupId"))

    @change_rule(
        f"{_GENERATION.format('self')} >= {_GENERATION.format('oldSelf')}",
        "is lower than before, and objects of the higher generation are there already",
        "set the old value, or a higher one",
        "spec",
        "generation",
    )
    def _the_generation_never_falls(self, before: "LogPersister") -> bool:
        return self.spec.generation >= before.spec.generation

    @change_rule(
        f"{_GROUP.format('self')} == {_GROUP.format('oldSelf')}",
        "cannot be changed: another group begins anew, and would store everything twice",
        "set the old value, or create a resource with another name and prefix",
        "spec",
        "kafka",
        "groupId",
    )
    def _the_group_stays(self, before: "LogPersister") -> bool:
        return self.group_id == before.group_id
