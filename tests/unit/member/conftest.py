import pytest

from tests.unit.member.worlds import FakeWorld


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld()
