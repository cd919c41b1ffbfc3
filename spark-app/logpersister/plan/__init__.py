"""The decisions of a member, pure: which ranges are due, what a commit says, how to go on after a crash."""
