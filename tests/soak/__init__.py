"""Everything that is too long or too random for each run of the tests: ``make soak``, docs/chaos.md."""
