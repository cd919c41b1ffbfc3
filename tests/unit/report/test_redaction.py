import pytest

from logpersister.manifest.secrets import HIDDEN
from logpersister.report.redaction import Redactor

SECRET_FIELDS = [
    "password",
    "sasl_plain_password",
    "ssl.key.password",
    "secret",
    "client_secret",
    "aws_secret_access_key",
    "access_key",
    "accessKeyId",
    "AWS_SESSION_TOKEN",
    "token",
    "Authorization",
    "private_key",
    "credentials",
    "api-key",
]


@pytest.mark.parametrize("name", SECRET_FIELDS)
def test_fields_that_are_called_secret_are_hidden(name: str) -> None:
    assert Redactor()(None, "info", {"event": "e", name: "value"})[name] == HIDDEN


@pytest.mark.parametrize(
    "name", ["key", "secret_name", "secretName", "tokens", "object_key", "partition", "event", "author"]
)
def test_fields_that_only_sound_similar_stay(name: str) -> None:
    assert Redactor()(None, "info", {name: "value"})[name] == "value"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://user:pa55@host/x", f"https://user:{HIDDEN}@host/x"),
        ("sasl_plain_password='abc', y=1", f"sasl_plain_password='{HIDDEN}', y=1"),
        ('{"secret_key": "abc"}', f'{{"secret_key": "{HIDDEN}"}}'),
        ("Authorization: Bearer abcdefgh.ijk", f"Authorization: Bearer {HIDDEN}"),
        ("http://h/b?X-Amz-Signature=0123&x=1", f"http://h/b?X-Amz-Signature={HIDDEN}&x=1"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nrest", f"{HIDDEN}\nrest"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE", HIDDEN),
    ],
)
def test_phrases_that_look_like_credentials_are_hidden(text: str, expected: str) -> None:
    assert Redactor().text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:9000/logs",
        "raw/clicks/dt=2026-11-21/1_0_00000000000000000000.txt.gz",
        "key=3 offset=5",
        "a:b@c",
        "the secret named clicks-kafka has no key password",
    ],
)
def test_ordinary_texts_stay(text: str) -> None:
    assert Redactor().text(text) == text


def test_registered_values_are_hidden_the_longest_first() -> None:
    redactor = Redactor()
    redactor.hide("abcd", "abcd-efgh", "xy")
    assert redactor.text("abcd-efgh abcd xy") == f"{HIDDEN} {HIDDEN} xy"


def test_values_of_any_type_are_searched() -> None:
    class Thing:
        def __str__(self) -> str:
            return "Thing(hunter2hunter2)"

    redactor = Redactor()
    redactor.hide("hunter2hunter2")
    event = redactor(
        None,
        "info",
        {"thing": Thing(), "bytes": b"hunter2hunter2", "deep": {"password": "x"}, "number": 3, "none": None},
    )

    assert event == {
        "thing": f"Thing({HIDDEN})",
        "bytes": f"b'{HIDDEN}'",
        "deep": {"password": HIDDEN},
        "number": 3,
        "none": None,
    }
