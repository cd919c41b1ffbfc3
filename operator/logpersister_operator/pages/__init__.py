"""Pages for people: where all groups stand, and plots of the last hours. They change nothing."""
