"""The promise, checked in a simulated world in which production's planner, book, recovery, cycle and ownership run.

`world` puts it together and decides what happens next, by a seed: `kafka` (logs, commits, the group's broker side),
`bucket`, `jobs` (Spark), `member` (a process: the production cycle, and kafka-python's side of the group). `ledger`
knows what must hold, and uses no production code but the names of things. `mutants` are protocols broken on purpose,
each of which the model must catch.
"""
