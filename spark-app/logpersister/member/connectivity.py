"""Connectivity probes of a member's servers: the brokers that the manifest names, and the endpoint of the bucket."""

import ssl
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from logpersister.kafka_client import client_config
from logpersister.kafka_client.causes import Failure
from logpersister.kafka_client.probe import API_VERSIONS, probe
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.kafka import Address, KafkaSpec
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.secrets import Secrets
from logpersister.member.outages import ConnectivityProbe

SECONDS = 3.0
_CHECK_STORAGE = "check that the storage runs, spec.storage.endpoint, and the network between here and there"


def kafka_probe(kafka: KafkaSpec, tls: ssl.SSLContext | None) -> ConnectivityProbe:
    """Return the probe of the brokers: each is asked which versions it speaks, which needs no login."""

    def find_unreachable() -> Mapping[str, Failure]:
        failures = probe(kafka.addresses, tls, SECONDS, greeting=API_VERSIONS)
        return {str(address): failure for address, failure in failures.items()}

    return ConnectivityProbe("kafka", len(kafka.addresses), find_unreachable)


def bucket_probe(storage: StorageSpec) -> ConnectivityProbe | None:
    """Return the probe of the bucket, which must answer a request without a login; None behind a proxy."""
    url = urlsplit(storage.endpoint or f"https://s3.{storage.region or 'us-east-1'}.amazonaws.com")
    host = url.hostname or ""
    if url.scheme in getproxies() and not proxy_bypass(host):
        return None
    address = Address(host, url.port or (443 if url.scheme == "https" else 80))
    greeting = f"HEAD / HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: close\r\n\r\n".encode()
    tls = None
    if url.scheme == "https":
        tls = ssl.create_default_context()
        # Whether the storage lives is asked, not who it is: uploads verify that, and nothing of ours is sent here.
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE

    def find_unreachable() -> Mapping[str, Failure]:
        failures = probe([address], tls, SECONDS, greeting=greeting)
        return {str(one): replace(failure, remedy=_CHECK_STORAGE) for one, failure in failures.items()}

    return ConnectivityProbe("bucket", 1, find_unreachable)


def connectivity_probes(resource: LogPersister, secrets: Secrets) -> list[ConnectivityProbe]:
    """Return a probe for each of the member's servers."""
    kafka, bucket = resource.spec.kafka, bucket_probe(resource.spec.storage)
    found = [kafka_probe(kafka, client_config(kafka, secrets).get("ssl_context"))]
    return found if bucket is None else [*found, bucket]
