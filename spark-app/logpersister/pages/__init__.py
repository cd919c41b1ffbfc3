"""Pages for people: where topics or feeds stand, and plots of the last hours. They change nothing."""
