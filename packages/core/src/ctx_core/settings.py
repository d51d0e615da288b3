"""Settings: environment and YAML to stores, the only reader of the environment.

A setting is looked up in this order: keyword argument, `CTX_…` environment variable, YAML file, default.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic.alias_generators import to_camel

from ctx_core.errors import InvalidSettings
from ctx_core.extras import require
from ctx_core.telemetry import without_passwords

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctx_core.kernel.kernel import ContextKernel
    from ctx_core.optimize.ccr import CcrStore
    from ctx_core.rehydrate.archive import Archive
    from ctx_core.rehydrate.blobs import BlobStore
    from ctx_core.rehydrate.rehydrator import RehydratorConfig
    from ctx_core.stores.address import Credentials

_PREFIX = "CTX_"


class _Section(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, hide_input_in_errors=True
    )


class RehydratorSettings(_Section):
    """The `rehydrator:` section; None keeps the rehydrator's own default.

    Args:
        trigger_phrases: Phrases that make a message look back, on word boundaries.
        trigger_mode: `look_back`, `phrases` or `always`.
        max_rehydrated: The most turns that are injected.
        search_depth_days: Archives older than this are not searched.
        similarity_threshold: Cosine floor of a candidate; None takes the embedder's own.
        blob_prefix: Where archives live under the blob store.
        max_blobs_scanned: The most archives read for one request.
        max_tokens: The most tokens of the injected block.
    """

    trigger_phrases: tuple[str, ...] | None = None
    trigger_mode: str | None = None
    max_rehydrated: int | None = Field(default=None, ge=0)
    search_depth_days: int | None = Field(default=None, ge=0)
    similarity_threshold: float | None = Field(default=None, ge=-1, le=1)
    blob_prefix: str | None = Field(default=None, min_length=1)
    max_blobs_scanned: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)

    def config(self) -> RehydratorConfig:
        """Return the rehydrator's configuration."""
        from ctx_core.rehydrate.rehydrator import RehydratorConfig  # noqa: PLC0415

        return RehydratorConfig(**self.model_dump(exclude_none=True))


class TlsSettings(_Section):
    """Certificates for one boundary, as paths of PEM files.

    Args:
        ca: Authority that signed the server's certificate; None trusts the system's.
        cert: Client certificate, for mTLS.
        key: Key of the client certificate.
        handshake_first: NATS only: TLS before the server's greeting.
    """

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    handshake_first: bool = False


class ServerSettings(_Section):
    """Credentials and certificates of one kind of server; never part of a URL, a repr or a log.

    Args:
        user: User name.
        password: Password or token.
        credentials: Path of a credentials file (NATS).
        tls: Certificates.
    """

    user: str | None = None
    password: SecretStr | None = None
    credentials: Path | None = None
    tls: TlsSettings = TlsSettings()


class CtxSettings(_Section):
    """Which stores the engine uses, by URL, and how the rehydrator behaves.

    Args:
        context_url: Everything in one place: `memory://` or `sqlite:///path`. The URLs below replace parts of it.
        events_url: Event store: `nats://` or `tls://`; `redis://` and its kin where no workers are to run.
        graph_url: Read model: `neo4j://`, `neo4j+s://`, `bolt://` or `bolt+s://`.
        details_url: Node details, progress and snapshots: `redis://`, `rediss://`, `valkey://` or `valkeys://`.
        archive_url: Archived turns: `memory://`, `file:///dir`, `s3://bucket/prefix`.
        ccr_url: Originals of what was compressed: `memory://`, `sqlite:///`, `redis://` and its kin.
        s3_endpoint: Endpoint of an S3-compatible service; None is AWS.
        model: Model whose tokens are counted.
    """

    context_url: str = "memory://"
    events_url: str | None = None
    graph_url: str | None = None
    details_url: str | None = None
    archive_url: str = "memory://"
    ccr_url: str = "memory://"
    s3_endpoint: str | None = None
    model: str | None = None
    rehydrator: RehydratorSettings = RehydratorSettings()
    nats: ServerSettings = ServerSettings()
    neo4j: ServerSettings = ServerSettings()
    redis: ServerSettings = ServerSettings()
    s3: ServerSettings = ServerSettings()

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield what a repr shows: URLs without the credentials that some may carry."""
        for name, value in super().__repr_args__():
            yield name, without_passwords(value) if isinstance(value, str) else value

    @classmethod
    def load(
        cls, path: str | os.PathLike[str] | None = None, *, environ: Mapping[str, str] | None = None, **overrides: Any
    ) -> CtxSettings:
        """Read settings from a YAML file (if given), then the environment, then keyword arguments.

        Environment names are the setting's path in capitals, with two underscores between levels:
        `CTX_ARCHIVE_URL`, `CTX_REHYDRATOR__MAX_REHYDRATED`, `CTX_NEO4J__PASSWORD`.

        Raises:
            InvalidSettings: A file that is not YAML, an unknown key (the nearest known one is named), or a bad value.
        """
        values: dict[str, Any] = _read_yaml(Path(path)) if path is not None else {}
        _merge(values, _from_environment(os.environ if environ is None else environ))
        _merge(values, overrides)
        return cls.parse(values)

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> CtxSettings:
        """Check plain values, keys in snake_case or camelCase."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise InvalidSettings("; ".join(_explain(cls, problem) for problem in error.errors())) from None

    def archive(self) -> Archive:
        """Open the archive behind `archive_url`."""
        from ctx_core.rehydrate.archive import Archive  # noqa: PLC0415

        return Archive(_blobs(self), prefix=self.rehydrator.blob_prefix or "evictions")

    def ccr_store(self) -> CcrStore:
        """Open the store of originals behind `ccr_url`."""
        match _scheme(self.ccr_url):
            case "memory":
                from ctx_core.stores.memory.ccr import MemoryCcrStore  # noqa: PLC0415

                return MemoryCcrStore()
            case "sqlite":
                from ctx_core.stores.sqlite.ccr import SqliteCcrStore  # noqa: PLC0415

                return SqliteCcrStore(self.ccr_url)
            case "redis" | "rediss" | "valkey" | "valkeys":
                from ctx_core.stores.redis.ccr import RedisCcrStore  # noqa: PLC0415

                return RedisCcrStore.from_url(self.ccr_url, **_redis_options(self.redis))
            case scheme:
                raise InvalidSettings(
                    f"setting 'ccr_url': no store answers to {scheme!r}; known are memory, sqlite, redis, rediss"
                )

    def kernel(self) -> ContextKernel:
        """Open the kernel on the stores that the URLs name."""
        from ctx_core.kernel.kernel import ContextKernel  # noqa: PLC0415
        from ctx_core.stores.open import open_stores  # noqa: PLC0415

        urls = {"events": self.events_url, "graph": self.graph_url, "details": self.details_url}
        if not any(urls.values()):
            return ContextKernel.open(self.context_url)
        log = self.nats if _scheme(self.events_url or "") in ("nats", "tls") else self.redis
        servers = {"events": log, "graph": self.neo4j, "details": self.redis}
        credentials = {name: _credentials(server) for name, server in servers.items()}
        return ContextKernel.over(open_stores(self.context_url, **urls, credentials=credentials))


def _scheme(url: str) -> str:
    return url.partition(":")[0].lower()


def _blobs(settings: CtxSettings) -> BlobStore | None:
    match _scheme(settings.archive_url):
        case "memory":
            return None
        case "file":
            from ctx_core.stores.files import FileBlobs  # noqa: PLC0415

            return FileBlobs(url2pathname(urlsplit(settings.archive_url).path))
        case "s3":
            from ctx_core.stores.s3 import S3Blobs  # noqa: PLC0415

            return S3Blobs.from_url(settings.archive_url, **_s3_options(settings))
        case scheme:
            raise InvalidSettings(f"setting 'archive_url': no store answers to {scheme!r}; known are memory, file, s3")


def _credentials(server: ServerSettings) -> Credentials:
    from ctx_core.stores.address import Credentials  # noqa: PLC0415

    tls = server.tls
    return Credentials(
        user=server.user,
        password=_secret(server),
        ca_path=tls.ca and str(tls.ca),
        cert_path=tls.cert and str(tls.cert),
        key_path=tls.key and str(tls.key),
        file=server.credentials and str(server.credentials),
        tls_first=tls.handshake_first,
    )


def _redis_options(server: ServerSettings) -> dict[str, Any]:
    tls = server.tls
    options = {
        "username": server.user,
        "password": _secret(server),
        "ssl_ca_certs": tls.ca and str(tls.ca),
        "ssl_certfile": tls.cert and str(tls.cert),
        "ssl_keyfile": tls.key and str(tls.key),
    }
    return {name: value for name, value in options.items() if value is not None}


def _s3_options(settings: CtxSettings) -> dict[str, Any]:
    """Name what boto3's client takes; without credentials it finds its own, from profile or instance."""
    options = {
        "endpoint_url": settings.s3_endpoint,
        "aws_access_key_id": settings.s3.user,
        "aws_secret_access_key": _secret(settings.s3),
        "verify": settings.s3.tls.ca and str(settings.s3.tls.ca),
    }
    return {name: value for name, value in options.items() if value is not None}


def _secret(server: ServerSettings) -> str | None:
    return server.password.get_secret_value() if server.password else None


def _read_yaml(path: Path) -> dict[str, Any]:
    require("yaml", extra="cli")
    import yaml  # noqa: PLC0415

    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidSettings(f"cannot read settings from {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidSettings(f"settings file {str(path)!r} is not UTF-8") from None
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = f" at line {line + 1}" if isinstance(line, int) else ""
        raise InvalidSettings(f"settings file {str(path)!r} is not YAML{where}") from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise InvalidSettings(f"settings file {str(path)!r} must hold a mapping, not {type(loaded).__name__}")
    return cast("dict[str, Any]", loaded)


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in environ.items():
        if not name.startswith(_PREFIX) or name.startswith("CTX_TEST_"):
            continue
        *sections, key = name[len(_PREFIX) :].lower().split("__")
        target = values
        for section in sections:
            target = target.setdefault(section, {})
        target[key] = [part.strip() for part in value.split(",")] if key == "trigger_phrases" else value
    return values


def _merge(values: dict[str, Any], newer: Mapping[str, Any]) -> None:
    """Lay `newer` over `values`; a key in snake_case replaces its camelCase twin."""
    for key, value in newer.items():
        name = to_camel(key) if to_camel(key) in values else key
        below = values.get(name)
        if isinstance(value, Mapping) and isinstance(below, dict):
            _merge(cast("dict[str, Any]", below), cast("Mapping[str, Any]", value))
        else:
            values[name] = value


def _explain(model: type[BaseModel], problem: Any) -> str:
    path: tuple[str | int, ...] = problem["loc"]
    dotted = ".".join(map(str, path))
    if problem["type"] != "extra_forbidden":
        return f"setting {dotted!r}: {problem['msg']}"
    for part in path[:-1]:
        field = next((field for name, field in model.model_fields.items() if part in (name, field.alias)), None)
        if field is not None and isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            model = field.annotation
    known = [name for key, field in model.model_fields.items() for name in (key, field.alias or key)]
    near = difflib.get_close_matches(str(path[-1]), known, n=1, cutoff=0.4)
    return f"unknown setting {dotted!r}" + (
        f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(set(known)))}"
    )
