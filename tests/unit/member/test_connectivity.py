"""The probe of the bucket: whoever takes a connection must answer, too."""

import socket
import threading

import pytest

from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.member import connectivity
from logpersister.member.connectivity import bucket_probe

REFUSAL = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"


def storage(port: int, scheme: str = "http") -> StorageSpec:
    return StorageSpec(bucket="logs", endpoint=f"{scheme}://127.0.0.1:{port}")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_storage_that_stands_still_takes_connections_and_is_away(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connectivity, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        port = frozen.getsockname()[1]
        found = bucket_probe(storage(port, scheme))
        assert found is not None
        (failure,) = found._find_unreachable().values()
    assert failure.cause == "no answer within the time"
    assert "spec.storage.endpoint" in failure.remedy


def test_any_answer_will_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        asked: list[bytes] = []

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                asked.append(connection.recv(1000))
                connection.sendall(REFUSAL)

        thread = threading.Thread(target=answer)
        thread.start()
        port = listener.getsockname()[1]
        found = bucket_probe(storage(port))
        assert found is not None
        assert found._find_unreachable() == {}
        thread.join()
    assert asked == [f"HEAD / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()]
