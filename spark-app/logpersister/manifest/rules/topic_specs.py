"""Spec of one topic: that of the group, with what the entry of ``overrides`` for the topic replaces."""

from logpersister.manifest.blocks.finish import date_levels
from logpersister.manifest.blocks.overrides import Override
from logpersister.manifest.rules.type_specs import AnySpec, stored_specs


def with_override(spec: AnySpec, override: Override | None) -> AnySpec:
    """Return what holds for topics of an entry, as a spec without entries; None: for those that no entry names."""
    if not spec.overrides:
        return spec
    if override is None:
        return spec.model_copy(update={"overrides": ()})
    update: dict[str, object] = {"overrides": ()}
    if override.value is not None:
        update |= {"value": override.value, "types": None}
    others = {name: getattr(override, name) for name in ("key", "quarantine", "output", "keep")}
    update |= {name: block for name, block in others.items() if block is not None}
    if override.table is not None and spec.table is not None:
        update["table"] = spec.table.model_copy(update=dict(override.table))
    if override.upload is not None:
        set_here = {name: value for name, value in dict(override.upload).items() if value is not None}
        update["upload"] = spec.upload.model_copy(update=set_here)
    found = spec.model_copy(update=update)
    if override.output is not None and not any(date_levels(one.output.partition_by) for one in stored_specs(found)):
        return found.model_copy(update={"finish": None})
    return found
