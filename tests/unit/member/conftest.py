import pytest

from tests.unit.member.fakes import FakeDependencies


@pytest.fixture
def fakes() -> FakeDependencies:
    return FakeDependencies()
