"""``status.autoscale``: how many members the lag asks for, and what that is decided from."""

from datetime import datetime
from typing import Literal

from logpersister.forms.constraint import Model
from logpersister_operator.field_types import Cause, Count, Revision


class Watch(Model):
    """The lag is watched, because a change of members may follow from it."""

    lag: Literal["OverTarget", "WellBelowTarget"]
    """What is to last."""

    since: datetime
    """Since when it has been so, or when what follows was written down anew."""

    pressure: Count
    """How much of the time that may pass, beyond the one for which records wait anyway, had passed for the oldest
    record; in percent."""

    partitions: Count
    """Partitions of the group's topics at that time."""

    stored: Count
    """Sum of the offsets that were stored."""

    written: Count
    """Sum of the ends of the partitions."""


class Scaled(Model):
    """A change of the number of members."""

    time: datetime
    """When it was decided."""

    before: Count
    """Members before."""

    after: Count
    """Members since."""

    cause: Cause
    """The cause of the change."""


class Autoscale(Model):
    """How many members the lag asks for. The operator goes on from here after it was restarted: do not change it."""

    members: Count
    """How many members there shall be."""

    watch: Watch | None = None
    """What the next change may follow from; not set while none is in sight."""

    revision: Revision | None = None
    """The revision that the next field is about."""

    rate: Count | None = None
    """Records an hour that a member was seen to store while the lag was over its target; not set before it was."""

    last: Scaled | None = None
    """The last change."""
