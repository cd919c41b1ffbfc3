"""Asks members while it happens who says that only a restart helps."""

from tests.chaos.crew import Crew, is_unhealthy
from tests.chaos.looking import Looking


class Watch(Looking):
    """Looks at members, as the probes of Kubernetes do."""

    def __init__(self, crew: Crew) -> None:
        super().__init__()
        self._crew = crew

    def look(self) -> None:
        for place in list(self._crew.places):
            process = place.process
            if process is not None and place.up and is_unhealthy(process):
                place.unhealthy = True
