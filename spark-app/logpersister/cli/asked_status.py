"""Asks members and collectors for ``/status``."""

import json
from typing import Any, Final

import urllib3

from logpersister.cli.exits import CommandError, Exit
from logpersister.pages.reported import Report

LARGEST: Final = 1 << 20
"""Bytes of a status; it is bounded to some 50 kB."""


def checked(text: str) -> str:
    """Return the address of a status. Raises CommandError for what is none."""
    try:
        url = urllib3.util.parse_url(text if "://" in text else f"http://{text}")
    except urllib3.exceptions.LocationParseError:
        url = urllib3.util.Url()
    if url.scheme not in {"http", "https"} or not url.host:
        raise CommandError(f'--status: "{text}" is no address; write for example http://localhost:8080', Exit.INVALID)
    return f"{url.scheme}://{url.netloc}"


def ask(address: str, seconds: float) -> Report:
    """Ask one process; what is wrong is in the report."""
    try:
        answer = urllib3.request(
            "GET", f"{address}/status", timeout=seconds, retries=False, redirect=False, preload_content=False
        )
        try:
            document: Any = json.loads(answer.read(LARGEST))
        finally:
            answer.release_conn()
            answer.close()
    except urllib3.exceptions.NewConnectionError as error:
        cause = error.__cause__
        return Report(address, {}, f"takes no connections ({getattr(cause, 'strerror', None) or 'not found'})")
    except urllib3.exceptions.TimeoutError:
        return Report(address, {}, f"does not answer within {seconds:g} s")
    except (urllib3.exceptions.HTTPError, OSError) as error:
        return Report(address, {}, f"ends the connection ({type(error).__name__})")
    except ValueError:
        return Report(address, {}, "answers something else")
    if answer.status != 200 or not isinstance(document, dict):
        return Report(address, {}, f"answers with status {answer.status} of HTTP")
    return Report(address, document)
