"""What is kept of a resource ends with the actor that reconciles it."""

from logpersister_operator.managed_resources import ManagedResource, ManagedResources
from logpersister_operator.observed_state import ResourceKey
from logpersister_operator.plan import Plan

KEY = ResourceKey("logs", "clicks-backup")
OTHER = ResourceKey("logs", "orders-backup")


def nobody() -> None:
    """Wake no actor."""


def test_an_actor_that_was_replaced_forgets_nothing() -> None:
    forgotten: list[ResourceKey] = []
    managed = ManagedResources(forgotten.append, ManagedResource)
    managed.register(KEY, nobody)
    forgotten.clear()
    managed.unregister(KEY, lambda: None)
    managed.unregister(OTHER, nobody)
    assert forgotten == []
    managed.unregister(KEY, nobody)
    assert forgotten == [KEY]
    assert managed.find(KEY) is None


def test_what_is_kept_of_a_resource_ends_with_its_name_being_registered_anew() -> None:
    managed = ManagedResources(lambda _: None, ManagedResource)
    managed.register(KEY, nobody)
    managed.get(KEY).member_names = frozenset({"clicks-backup-0a1b2c3d4e5f-0"})
    managed.get(KEY).last = Plan({"revision": "0a1b2c3d4e5f"})
    managed.get(OTHER)
    assert {key for key, one in managed.all().items() if one.last is not None} == {KEY}
    managed.register(KEY, nobody)
    assert managed.get(KEY).member_names == frozenset()
    assert managed.get(KEY).last is None
