"""How the members of a new revision take over from those of the old one: a state machine. Pure.

`step.step` is the one way in: what is remembered and what is seen, and out come what is to be remembered and how many
members each revision shall have. docs/design/rollout.md tells why it is as it is.
"""
