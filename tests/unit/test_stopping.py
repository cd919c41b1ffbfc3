import os
import signal

from logpersister.stopping import SIGNALS, Stop


def test_the_first_signal_asks_and_the_second_insists() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    stop = Stop()
    with stop.on_signals():
        assert not stop.asked
        os.kill(os.getpid(), signal.SIGTERM)
        assert (stop.asked, stop.at_once, stop.wake.is_set()) == (True, False, True)
        stop.wake.clear()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as Spark does when it starts
        stop.listen()
        os.kill(os.getpid(), signal.SIGINT)
        assert (stop.at_once, stop.wake.is_set()) == (True, True)
    assert [signal.getsignal(number) for number in SIGNALS] == before
