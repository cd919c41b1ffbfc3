"""A member: one process of the group, a Kafka group member and a Spark driver."""
