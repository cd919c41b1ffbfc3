"""The bound for bytes on their way."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait

from logpersister.storage.budget import ByteBudget


def test_the_bound_holds_under_contention_and_everybody_gets_through() -> None:
    budget, most, lock = ByteBudget(100), [0], threading.Lock()

    def use(amount: int) -> None:
        budget.take(amount)
        with lock:
            most[0] = max(most[0], budget._used)
        budget.give_back(amount)

    with ThreadPoolExecutor(8) as pool:
        done, waiting = wait([pool.submit(use, 1 + index % 60) for index in range(400)], timeout=20)
        assert not waiting
        for future in done:
            future.result()
    assert 0 < most[0] <= 100
    assert budget._used == 0


def test_a_demand_above_the_bound_waits_until_it_is_alone() -> None:
    budget = ByteBudget(10)
    budget.take(1)
    taken = threading.Event()

    def take_much() -> None:
        budget.take(1000)
        taken.set()

    thread = threading.Thread(target=take_much)
    thread.start()
    assert not taken.wait(0.05)
    budget.give_back(1)
    assert taken.wait(10)
    thread.join()
    assert budget._used == 1000
