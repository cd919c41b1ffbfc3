"""A clock that only a test moves."""


class Clock:
    """Seconds, which pass when a test says so, or when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        """How long somebody has slept."""

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)
