"""The promise, checked in a simulated world in which production's planner, protocol, recovery, cycle and ownership run.

The world: `kafka` (logs, commits, the group's broker side), `bucket`, `jobs` (Spark), `member` (a process: production's
cycle behind `ports`, beside a `client`, kafka-python's side of the group); `world` puts them together. `ledger` knows
what must hold, and uses no production code but the names of things.

What happens is decided (`decisions`) in one of two ways. `histories`: by a seed, thousands of steps in large worlds;
`shrinking` makes a story short. `small`: in the worlds of `scenes`, `search` plays every path within bounds of faults
and pauses (`paths`), and knows by `fingerprint` where it has been.

`mutants` are protocols broken on purpose, each of which both ways must catch.
"""
