"""The script that one writes to copy a topic: ``python -m bench.peer.copy_records BROKERS FROM TO`` (kafka-python)."""

import sys

from kafka import KafkaConsumer, KafkaProducer, TopicPartition


def main(brokers: str, source: str, target: str) -> None:
    """Copy all records of a topic, record by record, each into its partition."""
    consumer = KafkaConsumer(bootstrap_servers=brokers, enable_auto_commit=False)
    producer = KafkaProducer(bootstrap_servers=brokers, acks="all", linger_ms=5, batch_size=256 << 10)
    partitions = [TopicPartition(source, number) for number in consumer.partitions_for_topic(source)]
    consumer.assign(partitions)
    consumer.seek_to_beginning()
    left = sum(consumer.end_offsets(partitions).values())
    while left:
        for records in consumer.poll(timeout_ms=1000).values():
            for one in records:
                producer.send(target, one.value, one.key, list(one.headers), one.partition, one.timestamp)
            left -= len(records)
    producer.close()
    consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
