"""Settings come from arguments, environment and YAML, and a mistake is one clear line."""

import pytest

from ctx_core import CtxSettings
from ctx_core.errors import InvalidSettings


def load(text, tmp_path, **options):
    path = tmp_path / "ctx.yaml"
    path.write_text(text, encoding="utf-8")
    return CtxSettings.load(path, **{"environ": {}} | options)


@pytest.mark.parametrize("key", ["maxRehydrated", "max_rehydrated"])
def test_yaml_keys_may_be_camel_or_snake_case(key, tmp_path):
    assert load(f"rehydrator:\n  {key}: 3\n", tmp_path).rehydrator.config().max_rehydrated == 3


def test_every_documented_rehydrator_key_is_known(tmp_path):
    text = """
rehydrator:
  triggerPhrases: ['remember', 'earlier']
  maxRehydrated: 5
  searchDepthDays: 90
  similarityThreshold: 0.7
  blobPrefix: 'evictions'
  maxBlobsScanned: 50
"""
    config = load(text, tmp_path).rehydrator.config()
    assert tuple(config.trigger_phrases) == ("remember", "earlier")
    assert (config.max_rehydrated, config.search_depth_days, config.similarity_threshold) == (5, 90, 0.7)
    assert (config.blob_prefix, config.max_blobs_scanned) == ("evictions", 50)


def test_the_environment_goes_before_the_file_and_arguments_before_both(tmp_path):
    text = "archive_url: file:///a\nccrUrl: sqlite:///a.db\nmodel: gpt-4o\n"
    environ = {"CTX_CCR_URL": "memory://", "CTX_MODEL": "o3", "CTX_REHYDRATOR__MAX_REHYDRATED": "2", "OTHER": "x"}
    settings = load(text, tmp_path, environ=environ, model="gpt-4")
    assert (settings.archive_url, settings.ccr_url, settings.model) == ("file:///a", "memory://", "gpt-4")
    assert settings.rehydrator.max_rehydrated == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "rehydrator:\n  maxRehydratd: 3\n",
            "unknown setting 'rehydrator.maxRehydratd'; did you mean 'maxRehydrated'?",
        ),
        ("archive_ulr: x\n", "unknown setting 'archive_ulr'; did you mean 'archive_url'?"),
        ("rehydrator: {maxRehydrated: many}\n", "setting 'rehydrator.maxRehydrated'"),
        ("rehydrator: {maxRehydrated: -1}\n", "setting 'rehydrator.maxRehydrated'"),
        ("a: [1\n", "is not YAML at line"),
        ("- a\n", "must hold a mapping, not list"),
        ("archive_url: ftp://x\n", None),
    ],
)
def test_a_mistake_is_one_line_that_names_it(text, message, tmp_path):
    with pytest.raises(InvalidSettings, match=message and message.replace("[", r"\[").replace("?", r"\?")) as caught:
        load(text, tmp_path).archive()
    assert "\n" not in str(caught.value)


def test_a_missing_or_binary_file_is_one_line(tmp_path):
    with pytest.raises(InvalidSettings, match="cannot read settings"):
        CtxSettings.load(tmp_path / "none.yaml", environ={})
    (tmp_path / "latin.yaml").write_bytes(b"model: \xe9\n")
    with pytest.raises(InvalidSettings, match="is not UTF-8"):
        CtxSettings.load(tmp_path / "latin.yaml", environ={})


def test_an_empty_file_is_the_defaults(tmp_path):
    assert load("", tmp_path) == CtxSettings()


def test_a_password_stays_out_of_the_repr():
    settings = CtxSettings.load(environ={"CTX_NEO4J__PASSWORD": "s3cret"})
    assert "s3cret" not in repr(settings)
    assert settings.neo4j.password.get_secret_value() == "s3cret"


def test_urls_open_the_stores_they_name(tmp_path):
    settings = CtxSettings(
        context_url=f"sqlite:///{tmp_path}/context.db",
        archive_url=f"file://{tmp_path}/archive",
        ccr_url=f"sqlite:///{tmp_path}/ccr.db",
    )
    store = settings.ccr_store()
    assert store.get(store.put("text")) == "text"
    settings.archive().append("user-1", [{"role": "user", "content": "hello"}])
    assert list((tmp_path / "archive").rglob("*.json"))
    with settings.kernel() as kernel:
        assert "context.db" in repr(kernel)


@pytest.mark.parametrize("url", ["ftp://x", "nothing"])
def test_an_unknown_scheme_names_the_known_ones(url):
    with pytest.raises(InvalidSettings, match="known are"):
        CtxSettings(ccr_url=url).ccr_store()
