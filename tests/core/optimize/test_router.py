"""Telling kinds of content apart: samples, known confusions, and what detection costs."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.errors import InvalidInput
from ctx_core.optimize.content import ContentType, Detection
from ctx_core.optimize.router import ContentRouter

_LANGUAGES = frozenset(
    "json jsonl compact diff csv tsv markdown box listing yaml toml ini env xml html base64 pem rst"
    " python typescript javascript go rust java c csharp ruby shell sql".split()
)


def _samples():
    for path in sorted((Path(__file__).parent / "samples").glob("*.txt")):
        with path.open(encoding="utf-8", newline="") as file:
            for sample in file.read().split("%% ")[1:]:
                title, _, text = sample.partition("\n")
                language = title.rpartition(" ")[2]
                yield pytest.param(
                    text.removesuffix("\n"),
                    ContentType(path.stem),
                    language if language in _LANGUAGES else None,
                    id=f"{path.stem}: {title}",
                )


SAMPLES = list(_samples())
router = ContentRouter(magika=False)


def test_there_are_samples_of_every_kind():
    assert len(SAMPLES) >= 200
    assert {sample.values[1] for sample in SAMPLES} == set(ContentType)


@pytest.mark.parametrize(("text", "kind", "language"), SAMPLES)
def test_every_sample_is_told_by_rules_alone(text, kind, language):
    found = router.detect(text)
    assert found.content_type is kind
    if language:
        assert found.language == language
    assert found.confidence >= router.confidence_threshold


@pytest.mark.parametrize(("text", "kind", "language"), SAMPLES)
def test_other_line_ends_change_nothing(text, kind, language):
    assert router.detect(text.replace("\n", "\r\n") + "\r\n").content_type is kind


def test_the_model_stays_unloaded_where_rules_are_sure():
    script = """
import sys
from ctx_core.optimize.router import ContentRouter
router = ContentRouter()
for text in sys.stdin.read().split("\\0"):
    router.detect(text)
sys.exit("magika" in sys.modules or "onnxruntime" in sys.modules)
"""
    texts = "\0".join(str(sample.values[0]) for sample in SAMPLES)
    subprocess.run([sys.executable, "-c", script], input=texts, text=True, encoding="utf-8", check=True)


def test_the_model_decides_what_rules_leave_open():
    pytest.importorskip("magika")
    lua = "local Dock = {}\n\nfunction Dock.new(name)\n  local self = {}\n  self.name = name\n  return self\nend\n\nreturn Dock\n"
    assert router.detect(lua).confidence < router.confidence_threshold
    found = ContentRouter().detect(lua)
    assert (found.content_type, found.language) == (ContentType.CODE, "lua")


@pytest.mark.parametrize(
    ("first", "language"),
    [
        ("#!/bin/sh", "shell"),
        ("#!/usr/bin/env python3", "python"),
        ("#!/usr/bin/perl -w", "perl"),
        ("#!/usr/bin/env -S node", "javascript"),
    ],
)
def test_the_first_line_of_a_script_names_its_language(first, language):
    assert router.detect(f"{first}\nwhatever 1\n").language == language


def test_a_model_that_is_not_installed_leaves_it_to_the_rules(monkeypatch):
    monkeypatch.setattr("ctx_core.optimize.router.installed", lambda _: False)
    assert ContentRouter().detect("@@ ?? !! :: ;; @@ ?? !!").content_type is ContentType.TEXT


@given(st.text())
def test_any_text_is_of_some_kind(text):
    found = router.detect(text)
    assert isinstance(found, Detection)
    assert router.detect(text) == found


@pytest.mark.parametrize(
    "text",
    ["", " \n\t\n", "\0" * 100, "\ud800\udc00x\ud800", "[" * 100_000, "a" * 1_048_576, '{"a":' * 10_000, "\n" * 10_000],
    ids=["empty", "blank", "nul", "surrogates", "open lists", "one line", "open objects", "blank lines"],
)
def test_strange_texts_are_of_some_kind_too(text):
    assert router.detect(text).content_type in ContentType


def test_only_a_part_of_a_long_text_is_looked_at():
    log = "2026-01-05 10:00:00 INFO moored\n" * 100_000
    assert router.detect(log).content_type is ContentType.LOG


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_outside_of_zero_and_one_is_refused(threshold):
    with pytest.raises(InvalidInput, match="confidence_threshold"):
        ContentRouter(confidence_threshold=threshold)


def test_a_router_pickles():
    copy = pickle.loads(pickle.dumps(ContentRouter(confidence_threshold=0.9, magika=False)))
    assert (copy.confidence_threshold, copy.magika) == (0.9, False)
