"""The pages of the operator: groups, collectors and replays on the first one, and one for each group and collector."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from logpersister.pages.history import History, Reading
from logpersister.pages.views import Page, Wanted, without_plots
from logpersister_operator.crd.replay_status import ReplayStatus
from logpersister_operator.observed_state import ResourceKey
from logpersister_operator.pages.collector_glance import CollectorGlance
from logpersister_operator.pages.collector_source import CollectorSource
from logpersister_operator.pages.glance import Glance
from logpersister_operator.pages.group_source import GroupSource
from logpersister_operator.pages.replay_table import replay_tables

EVERY_SECONDS: Final = 60.0
POINTS: Final = 360
"""Readings that are kept: of six hours."""
SUBJECTS: Final = 500
"""Groups and collectors with plots: 9 and 12 kB each."""


class OperatorSource:
    """What the operator knows of the resources of all kinds."""

    name: Final = "LogPersister operator"
    word: Final = GroupSource.word
    depth: Final = 2
    paths: Final = (("Metrics", "metrics"),)

    def __init__(
        self,
        groups: Callable[[], Mapping[ResourceKey, Glance]],
        collectors: Callable[[], Mapping[ResourceKey, CollectorGlance]],
        replays: Callable[[], Mapping[ResourceKey, ReplayStatus]],
    ) -> None:
        """Begin; each parameter returns what is known now of all resources of a kind."""
        self._groups, self._collectors, self._replays = GroupSource(groups), CollectorSource(collectors), replays
        self.folders: Final = {one.word: one.page for one in (self._groups, self._collectors)}

    def readings(self) -> Mapping[str, Reading]:
        return {**self._groups.readings(), **self._collectors.readings()}

    def home(self, history: History, wanted: Wanted) -> Page:
        page = self._collectors.added_to(self._groups.home(history, wanted), history, wanted.namespace)
        replays = replay_tables(self._replays(), wanted.namespace)
        return replace(page, tables=(*page.tables, *replays), notes=without_plots(history, "resource"))
