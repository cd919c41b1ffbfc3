"""How many members the lag asks for. Pure; what must be remembered stands in ``status.autoscale``.

Up: the lag is over its target and does not fall fast enough for a while; as many more as what came in and what is
behind ask for, at most twice as many as before. Down: it was well below the target for a while; one at a time, and only
if the others are not known to be unable to store what comes. What a member can store is seen whenever the lag is over
its target, for then members have as much to do as they can. Between "well below" and "over" nothing changes.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from logpersister.manifest.blocks.autoscale import AutoscaleSpec
from logpersister.report.human import duration, number, plural
from logpersister_operator.crd.status_autoscale import Autoscale, Scaled, Watch
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.field_types import LONGEST_CAUSE

LOW: Final = 0.5
"""A lag ratio below this one is well below the target."""
ROOM: Final = 0.8
"""Fraction of what a member was seen to store that it may have to, after another one was taken away."""
MOST_GROWTH: Final = 2.0
LATE: Final = timedelta(minutes=10)
"""How much older than needed a watch may get, unless records wait and none is stored: then nobody has looked."""
LOOK: Final = timedelta(seconds=5)
"""How often to look whether the lag was asked anew when a decision is due."""
_HOUR: Final = 3600


@dataclass(frozen=True, slots=True)
class AutoscaleInputs:
    """The inputs of autoscaling: the lag of the group, as Kafka reports it."""

    at: datetime
    lag_ratio: float
    """The age of the oldest record of a partition that makes progress: 0 below ``maxAge``, 1 at the target lag."""
    overall_lag_ratio: float
    """This ratio over all partitions; infinite while the age of one is unknown."""
    age: float
    """The age of the record that `lag_ratio` is about, in seconds."""
    target: float
    """Seconds that this record may wait."""
    partitions: int
    stored: int
    """Sum of the offsets that are stored."""
    written: int
    """Sum of the ends of the partitions."""


@dataclass(frozen=True, slots=True)
class AutoscaleDecision:
    """The output of autoscaling."""

    state: Autoscale
    """What is written before members are."""
    reason: Reason
    words: str
    """What is going on now."""
    acts: bool = True
    """Whether the number of members follows the lag, and can go where that leads."""
    change: Scaled | None = None
    """A change that was just decided."""
    due: datetime | None = None
    """When time alone may change something."""

    @property
    def members(self) -> int:
        return self.state.members


@dataclass(frozen=True, slots=True)
class _Rates:
    """Records a second, of all members together."""

    stored: float
    written: float


def begin(spec: AutoscaleSpec, first: int) -> Autoscale:
    """Return the state of a resource that has none: as many members as the spec says, within the bounds."""
    return Autoscale(members=_within(spec, first, None))


def hold(
    spec: AutoscaleSpec, state: Autoscale, reason: Reason, words: str, *, forget: bool = True
) -> AutoscaleDecision:
    """Keep the number of members within the bounds; ``forget`` says whether watching begins anew afterwards."""
    members = _within(spec, state.members, None)
    return AutoscaleDecision(
        _changed(state, members=members, watch=None if forget else state.watch), reason, words, acts=False
    )


def change(state: Autoscale, members: int, at: datetime, cause: str) -> AutoscaleDecision:
    """Change the number of members; what was watched is about the one before."""
    last = Scaled(time=at.replace(microsecond=0), before=state.members, after=members, cause=cause[:LONGEST_CAUSE])
    after = _changed(state, members=members, watch=None, last=last)
    words = "members are added" if members > state.members else "a member is taken away"
    return AutoscaleDecision(after, _last(after), words, change=last)


def autoscale(spec: AutoscaleSpec, state: Autoscale, seen: AutoscaleInputs, revision: str) -> AutoscaleDecision:
    """Decide for members that are all ready, of the one revision that there is."""
    if state.revision != revision:
        state = _changed(state, revision=revision, rate=None)
    most = _within(spec, spec.max_members, seen.partitions)
    if state.members > most:
        only = "spec.autoscale.maxMembers" if most == spec.max_members else plural(seen.partitions, "partition")
        return change(state, most, seen.at, f"more would not help: {only}")
    if state.members < spec.min_members:
        return change(state, spec.min_members, seen.at, "spec.autoscale.minMembers")
    if seen.lag_ratio > 1.0:
        return _behind(spec, _watching(state, "OverTarget", seen, spec.scale_up_stabilization), seen, most)
    if seen.overall_lag_ratio < LOW and state.members > spec.min_members:
        return _ahead(spec, _watching(state, "WellBelowTarget", seen, spec.scale_down_stabilization), seen)
    return AutoscaleDecision(_changed(state, watch=None), _last(state), "the lag is within its target")


def _behind(spec: AutoscaleSpec, state: Autoscale, seen: AutoscaleInputs, most: int) -> AutoscaleDecision:
    watch, wait = state.watch, spec.scale_up_stabilization
    assert watch is not None
    finding = f"the oldest record waits longer than {duration(seen.target)}"
    rates = _rates(watch, seen)
    if rates is None or seen.at - watch.since < wait:
        if state.members >= most:
            return _full(spec, state, finding, most)
        words = f"{finding}; members are added if that lasts for {duration(wait.total_seconds())} without improvement"
        return AutoscaleDecision(state, _last(state), words, due=watch.since + wait)
    if rates.stored <= 0:
        words = f"{finding}, and nothing is stored: more members would not help"
        return AutoscaleDecision(state, Reason.NOTHING_STORED, words, acts=False)
    recovers = _recovers(watch, seen, spec.scale_down_stabilization)
    state = _changed(state, rate=_seen_rate(state, seen, rates.stored, spec, recovers=recovers))
    again = _changed(state, watch=_watch("OverTarget", seen))
    if state.members >= most:
        return _full(spec, again, finding, most)
    if recovers:
        return AutoscaleDecision(again, _last(state), f"{finding}, and the backlog shrinks", due=seen.at + wait)
    factor = max(seen.age / seen.target, rates.written / rates.stored)
    wanted = math.ceil(state.members * min(factor, MOST_GROWTH))
    return change(
        state,
        min(max(wanted, state.members + 1), most),
        seen.at,
        f"the oldest record waited {duration(seen.age)}, more than {duration(seen.target)}; "
        f"{_hourly(rates.written)} records an hour arrived, {_hourly(rates.stored)} were stored",
    )


def _full(spec: AutoscaleSpec, state: Autoscale, finding: str, most: int) -> AutoscaleDecision:
    """Say that there are as many members as there may be: the same as long as the lag is over its target."""
    limit = "spec.autoscale.maxMembers" if most == spec.max_members else "the number of partitions"
    return AutoscaleDecision(state, Reason.LIMIT_REACHED, f"{finding}, and {limit} allows no more members", acts=False)


def _ahead(spec: AutoscaleSpec, state: Autoscale, seen: AutoscaleInputs) -> AutoscaleDecision:
    """Take a member away, unless the others cannot store what comes."""
    watch, wait = state.watch, spec.scale_down_stabilization
    assert watch is not None
    rates = _rates(watch, seen)
    if rates is None or seen.at - watch.since < wait:
        lasts = duration(wait.total_seconds())
        words = f"the lag is well below its target; a member is removed if it stays there for {lasts}"
        return AutoscaleDecision(state, _last(state), words, due=watch.since + wait)
    if state.rate is not None:  # members that keep up show that they can
        state = _changed(state, rate=max(state.rate, round(rates.stored / state.members * _HOUR)))
    share = max(0.0, rates.written) / (state.members - 1) * _HOUR
    if state.rate is not None and share > ROOM * state.rate:
        words = (
            f"all are needed: with one member less, each would have to store {number(round(share))} records an hour, "
            f"and a member was seen to store {number(state.rate)}"
        )
        return AutoscaleDecision(
            _changed(state, watch=_watch("WellBelowTarget", seen)), _last(state), words, due=seen.at + wait
        )
    cause = (
        f"the lag was well below its target of {duration(seen.target)} for {duration(wait.total_seconds())}; "
        f"{_hourly(rates.written)} records an hour arrived"
    )
    return change(state, state.members - 1, seen.at, cause)


def _within(spec: AutoscaleSpec, members: int, partitions: int | None) -> int:
    """Return the nearest number within the bounds: each partition has one member, and ``minMembers`` is a promise."""
    most = spec.max_members if not partitions else min(spec.max_members, partitions)
    return max(spec.min_members, min(members, most))


def _watching(state: Autoscale, lag: str, seen: AutoscaleInputs, wait: timedelta) -> Autoscale:
    """Go on watching, or begin when what was watched was something else, or long ago."""
    watch = state.watch
    if (
        watch is not None
        and (watch.lag, watch.partitions) == (lag, seen.partitions)
        and watch.stored <= seen.stored
        and watch.written <= seen.written
        and timedelta(0) <= seen.at - watch.since
        and (seen.at - watch.since <= wait + LATE or (lag == "OverTarget" and watch.stored == seen.stored))
    ):
        return state
    return _changed(state, watch=_watch(lag, seen))


def _watch(lag: str, seen: AutoscaleInputs) -> Watch:
    percent = round(min(seen.lag_ratio, 1e6) * 100)
    since = seen.at.replace(microsecond=0)
    return Watch.model_validate(
        {"lag": lag, "since": since, "pressure": percent, "partitions": seen.partitions}
        | {"stored": seen.stored, "written": seen.written}
    )


def _rates(watch: Watch, seen: AutoscaleInputs) -> _Rates | None:
    seconds = (seen.at - watch.since).total_seconds()
    if seconds < 1.0:
        return None
    return _Rates((seen.stored - watch.stored) / seconds, (seen.written - watch.written) / seconds)


def _seen_rate(state: Autoscale, seen: AutoscaleInputs, stored: float, spec: AutoscaleSpec, *, recovers: bool) -> int:
    """Return how many records an hour a member is known to store, now that so many a second were stored."""
    found = round(stored / state.members * _HOUR)
    known, last = state.rate, state.last
    if known is None:
        return found
    if recovers:  # what was stored in a short time may have been read before
        return max(known, (known + found) // 2)
    just_came = last is not None and last.after > last.before and seen.at - last.time < spec.scale_down_stabilization
    return max(known, found) if just_came else found


def _recovers(watch: Watch, seen: AutoscaleInputs, within: timedelta) -> bool:
    """Whether the lag falls so fast that it is back at its target in time."""
    fallen = watch.pressure / 100 - seen.lag_ratio
    elapsed = (seen.at - watch.since).total_seconds()
    return fallen > 0 and elapsed * (seen.lag_ratio - 1.0) / fallen <= within.total_seconds()


def _last(state: Autoscale) -> Reason:
    if state.last is None:
        return Reason.ENOUGH_MEMBERS
    return Reason.SCALED_UP if state.last.after > state.last.before else Reason.SCALED_DOWN


def _changed(state: Autoscale, **fields: object) -> Autoscale:
    return state.model_copy(update=fields)


def _hourly(rate: float) -> str:
    return number(round(rate * _HOUR))
