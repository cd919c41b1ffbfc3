"""Hosts and ports, as patterns that the API server can check as well."""

HOST = r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9]+)?\])"
"""A name, an IPv4 address, or an IPv6 address in brackets."""

PORT = r"([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
"""Pattern of a port: 1 to 65535."""
