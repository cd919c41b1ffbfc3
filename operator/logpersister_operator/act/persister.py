"""A LogPersister as the reconciler sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from logpersister_operator.cluster.kinds import Document, Reference
from logpersister_operator.decide import decision
from logpersister_operator.decide.validity import Validity
from logpersister_operator.observe.resource import resource_of
from logpersister_operator.observed_state import ObservedState, Refusal
from logpersister_operator.plan import Plan


@dataclass(frozen=True, slots=True)
class ObservedPersister:
    """What is observed of a LogPersister, with the spec that is to run (`act.reconciler.Subject`)."""

    document: Document
    state: ObservedState
    validity: Validity

    def decide(self) -> Plan:
        return decision.decide(self.state, self.validity)

    def after(self, status: Document, refusals: Mapping[Reference, Refusal]) -> "ObservedPersister":
        """Return the same with the status that is written by now, and with what was refused meanwhile."""
        resource = resource_of({**self.document, "status": status})
        return replace(self, state=replace(self.state, resource=resource, refusals=refusals))
