"""What CI plays once more, and what it never does."""

import again


def test_what_is_broken_is_not_played_again() -> None:
    real = [f"tests/cluster/test_it.py::test_{number}" for number in range(9)]
    assert again.may_be_played_again(real[:8], [])
    assert not again.may_be_played_again(real, [])
    assert not again.may_be_played_again([], []), "something else than a test has failed"
    assert again.may_be_played_again(real[:3], ["--maxfail=4"])
    assert not again.may_be_played_again(real[:4], ["--maxfail=4"]), "the others were not played"
    assert not again.may_be_played_again([*real[:1], "tests/model/test_mutants.py::test_it"], [])
    assert not again.may_be_played_again(["tests/integration/test_chaos.py::test_it"], []), "broken once is broken"
