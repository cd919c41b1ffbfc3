"""What prevents a comparison is reported and not raised; where and how the old revision's bucket is read."""

import threading
from collections.abc import Mapping

import structlog

from logpersister.member.shadow.comparer import Comparer
from logpersister.member.shadow.watch import ShadowWatch, remark_on, stable_storage
from logpersister.ranges import Offset, TopicPartition
from logpersister.report.shadow import ShadowReport
from tests.unit.manifest.documents import accepted
from tests.unit.member.shadow.samples import CLICKS, FakeGroup, FakeStore, compared_group

S = "spec.storage."


class Watched:
    """A watch over two groups."""

    def __init__(self) -> None:
        self.stable, self.shadow = FakeGroup("g", FakeStore("raw")), FakeGroup("s", FakeStore("shadow"))
        self.shown: list[ShadowReport] = []
        self.looked = threading.Event()
        groups = compared_group(self.stable, in_folders=False), compared_group(self.shadow, in_folders=False)
        comparer = Comparer(groups[0], groups[1], lambda: {CLICKS}, same_layout=True)
        self.watch = ShadowWatch(comparer, 0.01, self._aim, self.shown.append)

    def _aim(self, targets: Mapping[TopicPartition, Offset]) -> None:
        self.looked.set()


def test_what_prevents_a_look_is_told_until_it_has_gone() -> None:
    watched = Watched()
    watched.stable.progress.error = OSError("no broker")
    with structlog.testing.capture_logs() as logs:
        watched.watch.compare_new()
        watched.watch.compare_new()
    told = watched.shown[-1]
    watched.stable.progress.error = None
    watched.watch.compare_new()
    assert (told.error, watched.shown[-1].error) == ("no broker", None)
    assert [entry["event"] for entry in logs] == ["shadow.not_compared"]


def test_it_looks_until_it_is_closed() -> None:
    watched = Watched()
    watched.watch.start()
    assert watched.shown[0].figures.offsets == 0, "who asks before the first comparison sees that it is a shadow"
    for _ in range(2):
        assert watched.looked.wait(60)
        watched.looked.clear()
    watched.watch.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "shadow"]


def test_the_bucket_is_read_with_our_own_credentials_if_it_is_the_same() -> None:
    own = accepted({S + "prefix": "shadow/1", S + "secretName": "new"}).spec.storage
    old = accepted({S + "prefix": "raw", S + "secretName": "old"}).spec.storage
    read = stable_storage(own, old)
    assert (read.bucket, read.prefix, read.secret_name) == ("logs", "raw", "new")
    for elsewhere in ({S + "bucket": "other"}, {S + "endpoint": "https://s3.example.org"}):
        old = accepted({S + "prefix": "raw", S + "secretName": "old", **elsewhere}).spec.storage
        assert stable_storage(own, old) == old


def test_manifests_that_read_differently_are_told_with_each_difference() -> None:
    of_all = accepted({"spec.kafka.isolationLevel": "read_uncommitted"})
    assert remark_on(of_all, accepted({})).startswith(" (isolationLevel is")
    assert remark_on(of_all, of_all) == ""
