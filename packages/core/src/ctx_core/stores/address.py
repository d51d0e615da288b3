"""The address of a server: where it is, how to trust it, and never a secret."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from ctx_core.errors import InvalidSettings

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_TLS_OPTIONS: Final = ("tls_ca_path", "tls_cert_path", "tls_key_path")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What a client shows to a server, and which authority it trusts; the password is never part of a text.

    Args:
        ca_path: PEM file of the authority; None trusts the system's, or the one that the URL names.
        cert_path: PEM file of a client certificate.
        key_path: PEM file of its key.
        file: NATS only: a credentials file.
        tls_first: NATS only: shake hands before the server's greeting.
    """

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_path: str | None = None
    cert_path: str | None = None
    key_path: str | None = None
    file: str | None = None
    tls_first: bool = False


NO_CREDENTIALS: Final = Credentials()


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A server's URL, taken apart; it holds no secret, so it may be logged.

    Args:
        hosts: `host:port` of each server, as written.
        path: What follows the hosts, without its slash.
        options: What follows the question mark, without the paths of TLS files.
    """

    scheme: str
    hosts: tuple[str, ...]
    path: str = ""
    options: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    ca_path: str | None = None
    cert_path: str | None = None
    key_path: str | None = None

    def __str__(self) -> str:
        return f"{self.scheme}://{','.join(self.hosts)}"

    def tls_context(self) -> ssl.SSLContext:
        """Return a context that trusts the given CA alone, or the system's, and shows the client certificate if any."""
        try:
            context = ssl.create_default_context(cafile=self.ca_path)
            if self.cert_path is not None:
                context.load_cert_chain(self.cert_path, self.key_path)
        except (OSError, ssl.SSLError) as error:
            raise InvalidSettings(f"the TLS files for {self} cannot be used: {error}") from error
        return context


def parse_address(
    url: str,
    *,
    schemes: Collection[str],
    options: Collection[str] = (),
    credentials: Credentials = NO_CREDENTIALS,
) -> Address:
    """Take a URL apart; secrets in it, unknown schemes and unknown options are refused without quoting the URL.

    Paths of TLS files come from the credentials, or else from the URL.
    """
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme not in schemes:
        raise InvalidSettings(f"unknown scheme {scheme!r}; known are {', '.join(schemes)}")
    if "@" in parts.netloc:
        raise InvalidSettings(
            f"the {scheme} URL carries credentials; URLs end up in logs, so give user and password as settings"
        )
    if not parts.netloc:
        raise InvalidSettings(f"the {scheme} URL names no host")
    given = dict(parse_qsl(parts.query))
    if unknown := sorted(given.keys() - {*options, *_TLS_OPTIONS}):
        raise InvalidSettings(f"the {scheme} URL has an unknown option {unknown[0]!r}")
    return Address(
        scheme=scheme,
        hosts=tuple(parts.netloc.split(",")),
        path=parts.path.strip("/"),
        options={name: value for name, value in given.items() if name not in _TLS_OPTIONS},
        ca_path=credentials.ca_path or given.get("tls_ca_path"),
        cert_path=credentials.cert_path or given.get("tls_cert_path"),
        key_path=credentials.key_path or given.get("tls_key_path"),
    )
