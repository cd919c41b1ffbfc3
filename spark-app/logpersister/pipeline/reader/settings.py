"""Settings of reading; the defaults are right for nearly everybody."""

from dataclasses import dataclass

KIB = 1 << 10
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """Settings of a `KafkaReader`. Bytes are bytes on the wire (compressed), durations are seconds."""

    read_committed: bool = True
    """Leave out records of aborted transactions, as consumers with ``isolation.level=read_committed`` do.
    False also returns the aborted ones. Control records are never returned."""

    headers: bool = False
    """Give batches a ``headers`` column. Only for formats that keep headers: decoding them costs time."""

    client_rack: str | None = None
    """Where we are (availability zone). Brokers with a ``replica.selector.class`` then name a replica near by, which
    saves traffic between zones. None: read from leaders."""

    buffer_bytes: int = 32 * MIB
    """Bound of all fetched bytes: waiting, being decoded, and asked for. Default: several requests of the default
    size, so that other brokers answer while one is consumed. Only a single record batch larger than what is free
    exceeds it, because it cannot be fetched in parts. At least twice `request_bytes`."""

    request_bytes: int = 4 * MIB
    """What one fetch request asks for at most. Smaller ones cost a round trip and a wake-up more often (below 1 MiB
    it shows); larger ones only hold more memory."""

    partition_bytes: int = 64 * KIB
    """What is asked for a range at least, however small it is estimated. Smaller values need a second request where
    the estimate was too low; larger ones fetch more that lies behind the end of the range."""

    decode_bytes: int = 4 * MIB
    """Fetched bytes that become one Arrow batch. What a batch costs whatever it holds, in Python and between it and the
    native module, is half a millisecond: at 1 MiB that was a fifth of all. More than a request brings adds nothing."""

    decoded_bytes: int = 32 * MIB
    """An Arrow batch ends after so many decompressed bytes, for topics that compress extremely well. One record
    batch is always decoded whole."""

    max_wait: float = 0.5
    """How long a broker may hold a request that it has nothing for. Ranges exist when they are planned, so this only
    matters on a replica that lags: it is the pace of asking again."""

    backoff: float = 0.1
    """Pause before the first retry; doubled for each further one, with a random factor of 0.5 to 1."""

    backoff_max: float = 5.0

    stall_timeout: float = 120.0
    """A range that the consumer waits for and that made no progress for so long fails, retriable. Long enough for a
    broker restart with its leader election; shorter values turn these into failed ranges."""

    leaderless_timeout: float = 20.0
    """A range whose partition has no leader for so long fails, retriable: nobody can read it, and ranges of the same
    job wait for it. Elections among replicas take less."""

    unknown_topic_timeout: float = 20.0
    """A topic that the cluster does not know for so long is gone. Brokers that just started do not know their
    topics yet."""

    corrupt_retries: int = 3
    """How often a corrupt record batch is fetched again, in case it was damaged on its way."""

    replica_expiry: float = 300.0
    """Age at which the leader is asked again which replica to read from (closest-replica fetching); Kafka's own
    consumers do so when their metadata expires, with the same default."""

    metadata_age: float = 300.0
    """Known leaders are looked up again when they are older than this."""

    connect_timeout: float = 60.0
    """How long to try to reach any of the bootstrap servers."""

    max_response_bytes: int = 1 << 30
    """A response that claims to be larger is refused instead of allocated: the other end is not Kafka. (HTTP and TLS
    answers, read as a length, are above 1 GiB.)"""

    def __post_init__(self) -> None:
        if self.buffer_bytes < 2 * self.request_bytes:
            raise ValueError(
                f"buffer_bytes {self.buffer_bytes} is less than twice request_bytes {self.request_bytes}: "
                "there would be no room for the next request while one is consumed"
            )
        if not 0 < self.partition_bytes <= self.request_bytes:
            raise ValueError(
                f"partition_bytes {self.partition_bytes} is not within 1..{self.request_bytes} (request_bytes)"
            )
        if self.decode_bytes <= 0 or self.decoded_bytes <= 0:
            raise ValueError("decode_bytes and decoded_bytes must be positive")
