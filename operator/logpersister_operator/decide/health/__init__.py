"""Decisions about the health of a resource: pods, members, the consumer group, and the stored records. Pure."""
