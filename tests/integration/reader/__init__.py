"""The reader on real brokers: what it reads, and what it does when they fail."""
