"""Folders by time of topics whose types have folders of their own: below the folder of each type, as its entry says.

All of them are over at instants, so whoever knows up to which instant a topic is stored knows it of all types.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from logpersister.manifest.blocks.finish import FinishSpec
from logpersister.manifest.spec import Spec
from logpersister.records.record_times import RecordTimes
from logpersister.records.time_folders import TimeFolder, TimeFolders, digest_of, time_folders
from logpersister.records.type_names import TypeNames


@dataclass(frozen=True, slots=True)
class TypeFolders:
    """Folders by time of a topic with types, as `records.time_folders.TimeFolders` without types."""

    names: TypeNames
    layouts: Sequence[TimeFolders | None]
    """Layouts by rule; None: its types have no folders by time."""
    times: RecordTimes
    """Time that names the folders of all rules, if they agree."""
    _stored: Sequence[TimeFolders] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_stored", [one for one in self.layouts if one is not None])

    @property
    def field_name(self) -> str:
        """Name of the field whose time counts; empty: the record's timestamp."""
        return self.times.name

    @property
    def field_digest(self) -> str:
        """What stands for the field, in few characters."""
        return digest_of(self.field_name)

    def of_type(self, segment: str) -> TimeFolders | None:
        """Return what is in a folder below that of the topic; None: it is no folder of a type, or has none by time."""
        rule = self.names.rule_at(segment)
        return None if rule is None else self.layouts[rule]

    def folder_of(self, path: str) -> TimeFolder | None:
        """Return the folder that a partition path stands for; None: none by time."""
        segment, _, inner = path.partition("/")
        layout = self.of_type(segment)
        found = None if layout is None else layout.folder_of(inner)
        return None if found is None else replace(found, path=f"{segment}/{found.path}")

    def outer_of(self, folder: TimeFolder) -> Iterator[TimeFolder]:
        """Yield the folders of outer levels by date around a folder."""
        segment, _, inner = folder.path.partition("/")
        layout = self.of_type(segment)
        for one in () if layout is None else layout.outer_of(replace(folder, path=inner)):
            yield replace(one, path=f"{segment}/{one.path}")

    def last_end(self, instant: int) -> int:
        """Return when the last folder of any type was over of those that are over at an instant."""
        return max(layout.last_end(instant) for layout in self._stored)

    def begin_of(self, folder: TimeFolder) -> int:
        """Return the first instant at which a record belongs into a folder."""
        segment, _, inner = folder.path.partition("/")
        layout = self.of_type(segment)
        assert layout is not None, "it is a folder of a type"
        return layout.begin_of(replace(folder, path=inner))

    def all_over(self, instant: int) -> int:
        """Return an instant by which all folders are over that have begun before another one; not the first of them."""
        return max(layout.all_over(instant) for layout in self._stored)


AnyFolders = TimeFolders | TypeFolders


def finished_folders(spec: Spec) -> tuple[FinishSpec, AnyFolders] | None:
    """Return when the folders of a spec are finished, and which these are; None: none is ever finished."""
    layout = None if spec.finish is None else folders_by_time(spec)
    return None if spec.finish is None or layout is None else (spec.finish, layout)


def folders_by_time(spec: Spec) -> AnyFolders | None:
    """Return the folders by time of a spec, its overrides aside; None: it has none."""
    if spec.types is None:
        return time_folders(spec.output.partition_by)
    rules = zip(spec.type_rules, spec.of_types(), strict=True)
    layouts = [time_folders(one.output.partition_by) if rule.action == "store" else None for rule, one in rules]
    times = {
        RecordTimes.of(one.output.partition_by, spec.types.frame)
        for one, layout in zip(spec.of_types(), layouts, strict=True)
        if layout is not None
    }
    if not times:
        return None
    return TypeFolders(TypeNames(spec.types), layouts, times.pop() if len(times) == 1 else RecordTimes())
