"""Causes of failed connections, and remedies in terms of the manifest, not of a client library."""

import socket
import ssl
from dataclasses import dataclass

from kafka import errors

from logpersister.kafka_client.oauth import TokenError
from logpersister.manifest.blocks.kafka import SecuritySpec


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an address cannot be used, and what to do."""

    cause: str
    remedy: str
    may_pass: bool = False
    """Whether it may pass without anybody changing a setting: servers restart, names come with them."""
    wrong_secret: bool = False
    """Whether what the Secret holds is wrong, as far as the broker tells."""


SILENT = Failure(
    "no answer within the time",
    "check address and port, and whether a firewall drops the connection on its way",
    may_pass=True,
)


def explain_connection(error: OSError) -> Failure:
    """Say why no connection, or no TLS, came about."""
    failure = Failure(error.strerror or type(error).__name__, "check address, port and network", may_pass=True)
    match error:
        case ssl.SSLCertVerificationError():
            failure = _explain_verification(error)
        case TimeoutError():
            failure = SILENT
        case socket.gaierror():
            failure = Failure(
                f"the name does not resolve ({error.strerror})", "check its spelling, and DNS", may_pass=True
            )
        case ConnectionRefusedError():
            remedy = "check the port, and that the broker runs"
            failure = Failure("connection refused: nothing listens there", remedy, may_pass=True)
        case ssl.SSLError() if "ALERT" in (error.reason or ""):
            failure = Failure(
                f"the broker ended the TLS handshake ({_words(error.reason)})",
                "check tls.crt and tls.key of the Secret: the broker does not accept this client's certificate",
            )
        case ssl.SSLError():
            failure = Failure(f"the TLS handshake failed ({_words(error.reason)})", _CHECK_PROTOCOL)
        case ConnectionResetError() | BrokenPipeError():
            failure = Failure("the broker ended the connection", _CHECK_PROTOCOL, may_pass=True)
    return failure


def explain_inquiry(error: Exception, security: SecuritySpec) -> Failure:
    """Say why a broker that can be reached gave no answer."""
    retriable = isinstance(error, errors.KafkaError) and bool(error.retriable)
    failure = Failure(f"{type(error).__name__}: {_message(error)}", "look into the broker's log", retriable)
    match error:
        case errors.SaslAuthenticationFailedError():
            failure = Failure(
                f"the login was refused ({_message(error)})",
                f"check the credentials in the Secret {security.secret_name}, and that the user exists for "
                f"{security.mechanism}",
                wrong_secret=True,
            )
        case errors.UnsupportedSaslMechanismError():
            failure = Failure(
                f"the listener does not offer {security.mechanism}", "set spec.kafka.security.mechanism to one it has"
            )
        case errors.IllegalSaslStateError():
            failure = Failure("the listener offers no login", _CHECK_PROTOCOL)
        case TokenError():
            remedy = "correct the Secret that spec.kafka.security.secretName names"
            failure = Failure(_message(error), remedy, may_pass=error.may_pass, wrong_secret=error.refused)
        case errors.IncompatibleBrokerVersion() | errors.UnsupportedVersionError():
            failure = Failure(
                "it does not speak Kafka's client protocol", "name the listener of a broker, not of a controller"
            )
        case errors.KafkaTimeoutError() | errors.RequestTimedOutError():
            failure = Failure("it accepts the connection but does not answer", _CHECK_PROTOCOL, may_pass=True)
        case errors.KafkaProtocolError():
            failure = Failure(
                "its answer is not Kafka's protocol: it speaks TLS, or is another server", _CHECK_PROTOCOL
            )
        case errors.KafkaConnectionError():
            certificate = (
                ", and whether it requires a client certificate (tls.crt, tls.key)" if security.uses_tls else ""
            )
            cause = f"the broker ended the connection ({_message(error)})"
            failure = Failure(cause, _CHECK_PROTOCOL + certificate, may_pass=True)
        case ValueError() if security.uses_sasl:
            failure = Failure("the broker could not prove that it knows the password", "check which broker this is")
    return failure


def is_forbidden(error: Exception) -> bool:
    """Whether this user may not describe a topic, or not read it."""
    return isinstance(error, errors.TopicAuthorizationFailedError)


def is_of_kafka(error: Exception) -> bool:
    """Whether brokers, or the way to them, are why something failed."""
    return isinstance(error, errors.KafkaError)


def in_words(error: Exception) -> str:
    """Say what an error of the running member is, for its log and its status: Kafka's names, and no library's.

    For what nobody has to correct at once; `explain_inquiry` has remedies.
    """
    match error:
        case errors.NodeNotReadyError():
            return "no broker is connected yet"
        case errors.KafkaConnectionError():
            return f"the connection to a broker broke, or none came about ({_message(error)})"
        case errors.KafkaTimeoutError() | TimeoutError():
            return f"no broker has answered within the time ({_message(error)})"
        case errors.BrokerResponseError() if error.message:
            is_told = isinstance(error, errors.LeaderNotAvailableError) and error.args
            return _message(error) if is_told else f"the broker answers {error.message}"
    name, text = type(error).__name__, " ".join(str(error).split())
    if name in text:  # as kafka-python has it
        return text
    return f"{name}: {text}" if text else name


_CHECK_PROTOCOL = "set spec.kafka.security.protocol to what this listener speaks"


def _explain_verification(error: ssl.SSLCertVerificationError) -> Failure:
    message = error.verify_message.rstrip(".")
    lowered = message.lower()
    if "mismatch" in lowered or "not valid for" in lowered:
        remedy = "use a name in the certificate, or set verifyHostname: false while the certificate has none"
    elif "expired" in lowered or "not yet valid" in lowered:
        remedy = "renew the broker's certificate, and check the clock of this machine"
    else:
        remedy = "put the CA that signed it into the key ca.crt of the Secret in caSecretName or secretName"
    return Failure(f"the broker's certificate is not accepted: {message}", remedy)


def _words(reason: str | None) -> str:
    return (reason or "connection closed").replace("_", " ").lower()


def _message(error: Exception) -> str:
    text = str(error.args[0]) if error.args else ""
    return " ".join(text.split())[:300] or type(error).__name__
