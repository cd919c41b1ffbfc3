"""Proves from Kafka and the bucket alone that every record is in exactly one object (``logpersister verify``)."""
