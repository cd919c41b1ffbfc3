"""The way to Kafka that all clients share: addresses, TLS, login, and a check that says what is wrong with them."""

from logpersister.kafka_client.check import BrokerReport, KafkaCheckError, check_broker
from logpersister.kafka_client.config import client_config

__all__ = ["BrokerReport", "KafkaCheckError", "check_broker", "client_config"]
