"""Asks a DNS server for the address of a name: ``ask_dns.py SERVER NAME``; exit code 1 without an answer.

A program of its own, since it has to run inside of the node's network.
"""

import socket
import struct
import sys

_QUERY = struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0)
"""Number 7, recursion desired, one question (RFC 1035, 4.1.1)."""
_ADDRESS = struct.pack(">2H", 1, 1)
"""Type A, class IN."""


def main(server: str, name: str) -> int:
    question = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(1)
        try:
            client.sendto(_QUERY + question + b"\0" + _ADDRESS, (server, 53))
            (answers,) = struct.unpack(">H", client.recv(512)[6:8])
        except OSError:
            return 1
    return 0 if answers else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
