"""The objects of a replay: what its processes read, the Job that stores, and those that switch readers. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from logpersister.forms.quantity import format_size
from logpersister.manifest.log_replay import ReplaySpec
from logpersister_operator.cluster.kinds import CONFIG_MAP, JOB, Document, Reference
from logpersister_operator.member_defaults import MemberDefaults
from logpersister_operator.render import instance_ids, workload
from logpersister_operator.render.application import MEMBER, REPLAY, Application, secret_names
from logpersister_operator.render.network import HTTP_PORT, network_policy
from logpersister_operator.render.ownership import COMPONENT_LABEL, Owner
from logpersister_operator.render.pod import member_template
from logpersister_operator.render.pod_frame import CONFIG_DIRECTORY, MANIFEST_KEY
from logpersister_operator.replays.plans import BACKUP_KEY, ReplayPlan, text_of

MOST_FAILURES: Final = 20
"""Processes that may fail before the Job gives up: with the pauses of Kubernetes between them, well over an hour."""
_FOR_A_PERSON: Final = (2, 4)
"""Exit codes of commands that a repetition does not help: a wrong manifest, a hole, a partition that is held."""
_NOT_COUNTED: Final = (3, 130, 143)
"""Exit codes that are no failures: a server is away, or the process was told to end."""
_LONGEST_PLANNING: Final = 3600
"""Seconds until a process must serve its health: before that it lists what is stored, and may be asked nothing."""
_POLL: Final = 2


@dataclass(frozen=True, slots=True)
class ReplayObjects:
    """Makes the objects of one replay."""

    app: Application
    spec: ReplaySpec
    plan: ReplayPlan

    @classmethod
    def of(cls, owner: Owner, spec: ReplaySpec, plan: ReplayPlan, image: str, defaults: MemberDefaults) -> Self:
        """Return what makes the objects that a replay owns; its pods are those of members with other arguments."""
        app = Application.of(
            plan.manifest,
            namespace=owner.namespace,
            uid=owner.uid,
            image=plan.manifest.spec.image or image,
            secrets_digest="",  # a process reads Secrets as they are then
            defaults=defaults,
        )
        more = () if plan.backup is None else tuple(secret_names(plan.backup.spec))
        return cls(replace(app, component=REPLAY, owned_by=owner, more_secrets=more), spec, plan)

    def config_map(self) -> Document:
        """Return what keeps the plan, which nothing changes any more."""
        document = workload.config_map(self.app)
        if self.plan.backup is not None:
            document["data"] = {**document["data"], BACKUP_KEY: text_of(self.plan.backup)}
        return {**document, "immutable": True}

    def network_policy(self) -> list[Document]:
        """Return the policy that the resource asks for, for the pods of the replay."""
        wants = self.plan.manifest.spec.network_policy != "None"
        return [network_policy(self.app.owner, self.app.revision_name)] if wants else []

    def storing(self) -> Document:
        """Return the Job whose processes store."""
        spec, backup = self.spec, self.plan.backup
        rate = None if spec.max_bytes_per_second is None else max(1, spec.max_bytes_per_second // spec.processes)
        source = "kafka" if spec.source.kafka else "backup" if spec.source.backup else "auto"
        options = {
            "--source": source,
            "--backup": None if backup is None else f"{CONFIG_DIRECTORY}/{BACKUP_KEY}",
            "--topics": None if spec.topics is None else ",".join(spec.topics),
            "--from": spec.since,
            "--to": spec.until,
            "--max-bytes-per-second": None if rate is None else str(format_size(rate)),
        }
        arguments = [
            *("replay", "--file", f"{CONFIG_DIRECTORY}/{MANIFEST_KEY}"),
            *(word for option, value in options.items() if value is not None for word in (option, value)),
            *("--cores", "$(CORES)", "--http", f":{HTTP_PORT}", "--log-format", "json"),
        ]
        return self._job(storing_job(self.app.owner.name), arguments, serves=True)

    def switching(self, *, delete_old: bool) -> Document:
        """Return the Job that switches readers, or deletes what does not count any more."""
        owner, spec = self.app.owner, self.spec
        arguments = [
            *("switch", "--file", f"{CONFIG_DIRECTORY}/{MANIFEST_KEY}", "--to-generation", str(spec.generation)),
            *(("--topics", ",".join(spec.topics)) if spec.topics is not None else ()),
            *(("--delete-old",) if delete_old else ()),
        ]
        name = deleting_job(owner.name) if delete_old else switching_job(owner.name)
        return self._job(name, arguments, serves=False)

    def _job(self, name: str, arguments: Sequence[str], *, serves: bool) -> Document:
        spec = {
            **(self.tuning if serves else {"parallelism": 1}),  # no completions: it is done when one has seen the end
            "backoffLimit": MOST_FAILURES,
            "podFailurePolicy": {
                "rules": [
                    _on_codes("FailJob", _FOR_A_PERSON),
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
                    _on_codes("Ignore", _NOT_COUNTED),
                ]
            },
            "template": self._template(arguments, serves=serves),
        }
        return self.app.child(JOB, name, {"spec": spec}, labels={COMPONENT_LABEL: REPLAY})

    @property
    def tuning(self) -> Document:
        """Fields of a Job that may change while it runs."""
        return {"parallelism": self.spec.processes, "suspend": self.spec.suspend}

    def _template(self, arguments: Sequence[str], *, serves: bool) -> Document:
        """Return the template of a member's pods that runs this command instead."""
        template = member_template(self.app)
        pod: dict[str, Any] = template["spec"]
        pod["restartPolicy"] = "Never"
        container = next(one for one in pod["containers"] if one["name"] == MEMBER)
        container["args"] = list(arguments)
        container["env"] = [one for one in container["env"] if one["name"] != instance_ids.VARIABLE]
        if serves:
            container["startupProbe"] = {
                **container["startupProbe"],
                "periodSeconds": _POLL,
                "failureThreshold": _LONGEST_PLANNING // _POLL,
            }
        else:
            for name in ("ports", "startupProbe", "livenessProbe", "readinessProbe"):
                container.pop(name, None)
        return template


def storing_job(name: str) -> str:
    """Return the name of the Job of a replay that stores."""
    return name


def switching_job(name: str) -> str:
    return f"{name}-switch"


def deleting_job(name: str) -> str:
    return f"{name}-delete-old"


def plan_reference(name: str) -> Reference:
    """Return the ConfigMap that keeps the plan of a replay."""
    return Reference(CONFIG_MAP.name, f"{name}-{REPLAY}")


def _on_codes(action: str, codes: Sequence[int]) -> Document:
    return {"action": action, "onExitCodes": {"containerName": MEMBER, "operator": "In", "values": list(codes)}}
