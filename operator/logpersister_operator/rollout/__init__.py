"""How the members of a new revision take over from those of the old one: a state machine. Pure.

`step.next_step` is the entry point. Its inputs are the record and what is observed; its outputs are the next record and
the number of members of each revision. docs/design/rollout.md has the reasons.
"""
