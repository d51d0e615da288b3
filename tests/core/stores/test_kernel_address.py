"""URLs name servers and never carry secrets; any id becomes one subject token."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.errors import InvalidSettings
from ctx_core.kernel.commands import Aggregate
from ctx_core.stores.address import Credentials, parse_address
from ctx_core.stores.nats.subjects import Names, token
from ctx_core.stores.open import open_events, open_graph, open_redis, open_stores

SECRET = "open-sesame-45"


def test_a_url_is_taken_apart():
    address = parse_address(
        "nats://one:4222,two:4223/path?prefix=shop&tls_ca_path=/ca.crt", schemes=["nats"], options=["prefix"]
    )
    assert (address.hosts, address.path, dict(address.options)) == (
        ("one:4222", "two:4223"),
        "path",
        {"prefix": "shop"},
    )
    assert (address.ca_path, str(address)) == ("/ca.crt", "nats://one:4222,two:4223")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (f"nats://user:{SECRET}@host", "as settings"),
        (f"nats://{SECRET}@host", "as settings"),
        ("http://host", "unknown scheme 'http'"),
        ("nats:///path", "names no host"),
        ("nats://host?prefx=shop", "unknown option 'prefx'"),
    ],
)
def test_a_bad_url_is_refused_without_being_quoted(url, says):
    with pytest.raises(InvalidSettings, match=says) as error:
        parse_address(url, schemes=["nats"], options=["prefix"])
    assert SECRET not in str(error.value)


def test_credentials_win_over_the_url_and_hide_their_password():
    credentials = Credentials(user="ctx", password=SECRET, ca_path="/other.crt")
    address = parse_address("nats://host?tls_ca_path=/ca.crt", schemes=["nats"], credentials=credentials)
    assert address.ca_path == "/other.crt"
    assert SECRET not in repr(credentials) + repr(address)


def test_without_an_authority_of_ours_the_systems_is_asked():
    context = parse_address("tls://host", schemes=["tls"]).tls_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


@pytest.mark.parametrize("opener", [open_events, open_graph, open_redis, open_stores])
def test_a_scheme_that_nobody_speaks_is_refused_with_those_that_are_known(opener):
    with pytest.raises(InvalidSettings, match="known are"):
        opener("gopher://host")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2, max_size=2, unique=True))
def test_two_ids_never_share_a_token_and_a_token_is_one_word(ids):
    tokens = [token(text) for text in ids]
    assert tokens[0] != tokens[1]
    assert not any(set(item) & set(" .*>\t\r\n") for item in tokens)


def test_the_subject_of_an_event_lies_among_those_of_its_aggregate():
    names, aggregate = Names("shop.eu"), Aggregate("a.b", "x*")
    assert names.aggregate(aggregate) == "shop.eu.evt.a%2Eb.x%2A.*"
    assert names.event(aggregate, None) == "shop.eu.evt.a%2Eb.x%2A.-"
    assert names.event(aggregate, "k") != names.event(aggregate, "l")
    assert (names.event_stream, names.dead("worker.1")) == ("SHOP_EU_EVENTS", "shop.eu.dead.worker%2E1")


@pytest.mark.parametrize("prefix", ["", "a b", "a.*", ".a", "a..b"])
def test_a_prefix_that_would_match_more_is_refused(prefix):
    with pytest.raises(InvalidSettings, match="prefix"):
        Names(prefix)
