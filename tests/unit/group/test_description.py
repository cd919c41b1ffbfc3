"""Names of members, from what a coordinator tells."""

from types import SimpleNamespace
from typing import Any

from logpersister.group.description import describe


def member(client: str, number: int, instance: str | None = None) -> dict[str, Any]:
    return {
        "client_id": client,
        "member_id": f"{client}-{number:032x}",
        "group_instance_id": instance,
        "client_host": "/10.0.0.1",
        "member_assignment": None,
    }


def names(*members: dict[str, Any]) -> list[str]:
    found = {"clicks": {"error": None, "group_state": "Stable", "members": members}}
    admin: Any = SimpleNamespace(describe_groups=lambda _: found)
    return [one.name for one in describe(admin, "clicks").members]


def test_a_member_is_known_by_the_name_that_it_gave_itself() -> None:
    assert names(member("host-17", 1), member("host-18", 2, "member-0")) == ["host-17", "member-0"]


def test_a_client_id_that_others_have_too_names_nobody() -> None:
    found = names(member("logpersister", 1), member("logpersister", 2), member("", 3))
    assert found == sorted(["-" + f"{3:032x}", f"logpersister-{1:032x}", f"logpersister-{2:032x}"])
