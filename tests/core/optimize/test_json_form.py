"""The compact form of JSON can be read back, lexeme by lexeme."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ctx_core.optimize.compressors.base import Budget
from ctx_core.optimize.compressors.json import JsonCrusher

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|-?Infinity|NaN")
_BARE = re.compile(r"[^\s\"()\[\]{}]+")
_BARE_KEY = re.compile(r"[^\s\"()\[\]{}=~,]+")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ITEM = re.compile(r'["\[{&*]|@\d+\(|json[\[{@&*]')
_LITERALS = {"null": "null", "true": "true", "false": "false"}
ABSENT = object()


class Decoder:
    """Reads the compact form, written from its description alone."""

    def __init__(self, text: str) -> None:
        opening = re.match(r"#jsonl?(?: |:[^\n]*\n)", text)
        assert opening, text[:80]
        lines = text[opening.end() :].split("\n")
        names: dict[str, str] = {}
        while lines and (match := re.fullmatch(r"(\$[0-9A-Z])=(.*)", lines[0])):
            names[match[1]] = match[2]
            lines.pop(0)
        body = "\n".join(lines)
        for name, prefix in reversed(names.items()):
            body = body.replace(name, prefix)
        self.s, self.i, self.anchors, self.records = body, 0, {}, {}

    def document(self):
        while record := self.match(re.compile(r"(@\d+)\(")):
            self.records[record[1]], _ = self.heading()
            self.take("\n")
        self.space()
        if table := self.keyed_table():
            return table
        if self.s[self.i : self.i + 1] in ("[", "{", "("):
            return self.item()
        return self.members(end="")

    def keyed_table(self):
        """The root may be an object that is a table."""
        return self.item() if self.s.startswith(("(KEY", "[", "("), self.i) else None

    def space(self):
        while self.i < len(self.s) and self.s[self.i].isspace():
            self.i += 1

    def take(self, literal):
        assert self.s.startswith(literal, self.i), (literal, self.s[self.i : self.i + 60])
        self.i += len(literal)

    def match(self, pattern) -> Any:
        found = pattern.match(self.s, self.i)
        if found:
            self.i = found.end()
        return found

    def key(self):
        quoted = self.match(_STRING)
        return quoted[0] if quoted else f'"{self.match(_BARE_KEY)[0]}"'

    def members(self, end):
        out = []
        self.space()
        while self.i < len(self.s) and not (end and self.s[self.i] == end):
            key = self.key()
            out.append((key, self.value()))
            self.space()
        if end:
            self.take(end)
        return ("object", out)

    def value(self):
        if not self.match(re.compile("=")):
            self.match(re.compile(" "))
        return self.item()

    def item(self):
        anchor = self.match(re.compile(r"&(\d+)"))
        if anchor:
            self.anchors[anchor[1]] = value = self.item()
            return value
        known = self.match(re.compile(r"\*(\d+)"))
        if known:
            return self.anchors[known[1]]
        record = self.match(re.compile(r"(@\d+)\("))
        if record:
            return self.record(self.records[record[1]])
        if self.match(re.compile(r"json(?=[\[{@&*(])")):
            return ("text", self.item())
        rows = self.match(re.compile(r"(?:\[(\d+)\])?(?:\[([\d ]+)\])?\("))
        if rows:
            return self.table(rows[1] and int(rows[1]), [int(n) for n in (rows[2] or "").split()])
        if self.match(re.compile(r"\{")):
            return self.members("}")
        if self.match(re.compile(r"\[")):
            out = []
            self.space()
            while self.s[self.i] != "]":
                out.append(self.item())
                self.space()
            self.i += 1
            return ("array", out)
        quoted = self.match(_STRING)
        return quoted[0] if quoted else scalar(self.match(_BARE)[0])

    def table(self, count, sizes):
        columns, comma = self.heading()
        free = [c for c in leaves(columns) if c["fixed"] is None]
        total = (sizes[0] * count if len(sizes) == 1 else sum(sizes)) if sizes else count
        records = [{} for _ in range(0 if free else total)]
        if self.match(re.compile(r"\[")):
            while not self.match(re.compile(r" ?\]")):
                self.space()
                records.append(self.cells(free, comma))
        while free and self.match(re.compile(r"\n ")):
            records.append(self.table_row(free, comma))
        assert total in (None, len(records))
        rows = [self.row(columns, cells) for cells in records]
        if columns[0]["name"] == "KEY":
            return ("object", [(v[1][0][1], ("object", v[1][1:])) for v in rows])
        if sizes:
            sizes = sizes * count if len(sizes) == 1 else sizes
            groups = iter(rows)
            return ("array", [("array", [next(groups) for _ in range(size)]) for size in sizes])
        return ("array", rows)

    def table_row(self, free, comma):
        again = self.match(re.compile(r"\*(\d+)(?=\n|$)")) if len(free) > 1 else None
        if again:
            return self.anchors[again[1]]
        first = self.match(re.compile(r"&(\d+) ")) if len(free) > 1 else None
        cells = self.cells(free, comma)
        if first:
            self.anchors[first[1]] = cells
        return cells

    def cells(self, free, comma):
        cells = {}
        for n, column in enumerate(free):
            if n:
                self.take("," if comma else " ")
            start = self.i
            if comma and (self.i == len(self.s) or self.s[self.i] in ",\n"):
                cells[id(column)] = ("", "null")
            elif comma and not _ITEM.match(self.s, self.i):
                raw = self.match(re.compile(r"[^,\n]*"))[0]
                cells[id(column)] = (raw, ABSENT if raw == "-" else column["text"](raw))
            else:
                value = self.item()
                raw = self.s[start : self.i]
                value = column["text"](raw) if raw == value and raw[0] != '"' else value
                cells[id(column)] = (raw, ABSENT if raw == "-" else value)
        return cells

    def record(self, columns):
        cells = {}
        for n, column in enumerate([c for c in leaves(columns) if c["fixed"] is None]):
            if n:
                self.take(" ")
            start = self.i
            value = self.item()
            raw = self.s[start : self.i]
            cells[id(column)] = (raw, ABSENT if raw == "-" else value)
        self.take(")")
        return self.row(columns, cells)

    def row(self, columns, cells):
        def members(group):
            out = []
            for column in group:
                if column["group"]:
                    inner = members(column["group"])
                    if inner:
                        out.append((column["key"], ("object", inner)))
                    continue
                value = self.cell(column, columns, cells)
                if value is not ABSENT:
                    out.append((column["key"], value))
            return out

        return ("object", members(columns))

    def cell(self, column, columns, cells):
        if column["fixed"] is None:
            return cells[id(column)][1]
        return column["value"] if column["sign"] == "=" else self.expand(column, columns, cells)

    def expand(self, column, columns, cells):
        by_path = dict(paths(columns))

        def text(path):
            return self.cell(by_path[path], columns, cells).strip('"')

        pattern = column["fixed"][1:-1] if column["fixed"].startswith('"') else column["fixed"]
        return '"' + re.sub(r"<([^<>]*)>", lambda m: text(m[1]), pattern) + '"'

    def sub(self, raw):
        if raw[:1] in ("[", "{", "&", "*", '"'):
            inner = Decoder("#json ")
            inner.s, inner.anchors = raw, self.anchors
            return inner.item()
        return scalar(raw)

    def heading(self, comma=None):
        """Columns up to the closing bracket; commas or spaces stand between them as they do in the rows."""
        columns = []
        comma = self.has_comma() if comma is None else comma
        while True:
            start = self.i
            key = self.key()
            column: dict[str, Any] = {
                "name": self.s[start : self.i],
                "key": key,
                "group": None,
                "fixed": None,
                "text": scalar,
            }
            if column["name"].endswith(":str"):
                column |= {"name": column["name"][:-4], "key": f'{key[:-5]}"', "text": as_text}
            elif self.match(re.compile(":str")):
                column["text"] = as_text
            columns.append(column)
            if self.s[self.i] == "(":
                self.i += 1
                column["group"], _ = self.heading(comma)
            elif self.s[self.i] in "=~":
                column["sign"] = self.s[self.i]
                self.i += 1
                column["fixed"] = self.until(",)" if comma else " )")
                if column["sign"] == "=":
                    column["value"] = "null" if comma and column["fixed"] == "" else self.sub(column["fixed"])
            self.i += 1
            if self.s[self.i - 1] == ")":
                return columns, comma

    def until(self, ends):
        start, depth = self.i, 0
        while depth or self.s[self.i] not in ends:
            if self.match(_STRING):
                continue
            depth += (self.s[self.i] in "[{(") - (self.s[self.i] in "]})")
            self.i += 1
        return self.s[start : self.i]

    def has_comma(self):
        start, depth, found = self.i, 1, False
        while depth:
            if self.match(_STRING):
                continue
            if self.s[self.i] in "[{":
                self.i += 1
                self.until("]}")
            found = found or self.s[self.i] == ","
            depth += (self.s[self.i] == "(") - (self.s[self.i] == ")")
            self.i += 1
        self.i = start
        return found


def paths(columns, path=""):
    for column in columns:
        if column["group"]:
            yield from paths(column["group"], f"{path}{column['name']}.")
        else:
            yield f"{path}{column['name']}", column


def leaves(columns):
    for column in columns:
        if column["group"]:
            yield from leaves(column["group"])
        else:
            yield column


def as_text(bare):
    return bare if bare in _LITERALS else f'"{bare}"'


def scalar(bare):
    return bare if bare in _LITERALS or _NUMBER.fullmatch(bare) else f'"{bare}"'


def crush(text, max_tokens=None, query=None):
    return JsonCrusher().compress(text, Budget(max_tokens=max_tokens), query=query)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s\[\]{}:,"]+|[\[\]{}:,]')


def unfolded(token):
    """A string that holds a document counts as that document, without the white space between its lexemes."""
    text = json.loads(token) if token[:2] in ('"{', '"[') else ""
    if len(text) < 100:
        return token
    try:
        is_document = isinstance(json.loads(text), (dict, list))
    except (ValueError, RecursionError):
        return token
    return (
        ("text", lexemes(text, unfold=False))
        if is_document and json.dumps(text, ensure_ascii=False) == token
        else token
    )


def lexemes(text, *, unfold=True):
    """The document as nested lexemes, by a reader that shares nothing with the one under test."""
    tokens = iter(_TOKEN.findall(text))

    def value(token):
        if token == "{":
            members = []
            token = next(tokens)
            while token != "}":
                if token == ",":
                    token = next(tokens)
                next(tokens)
                members.append((token, value(next(tokens))))
                token = next(tokens)
            return ("object", members)
        if token == "[":
            items = []
            token = next(tokens)
            while token != "]":
                items.append(value(next(tokens) if token == "," else token))
                token = next(tokens)
            return ("array", items)
        return unfolded(token) if unfold else token

    return value(next(tokens))


def assert_lossless(text):
    result = crush(text)
    assert result.lossless
    assert len(result.text) <= len(text)
    if result.text != text:
        assert Decoder(result.text).document() == lexemes(text)
        assert crush(result.text).text == result.text


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(
        [
            "null",
            "12",
            "-",
            "KEY",
            "a b",
            "a,b",
            "1e5",
            "x=1",
            "&1",
            "*1",
            "$1",
            "<id>",
            "https://x.example/users/7",
            "",
        ]
    )
)
KEYS = st.sampled_from(["id", "name", "KEY", "a b", "1", "", "x,y", "url", "=", "ok"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=30
)


@given(VALUES | st.lists(st.dictionaries(KEYS, VALUES, max_size=4), min_size=2, max_size=6))
def test_any_document_can_be_read_back(value):
    assert_lossless(json.dumps(value, indent=1))


@given(
    st.lists(
        st.fixed_dictionaries({"id": SCALARS, "at": st.fixed_dictionaries({"x": SCALARS, "y": SCALARS})}), min_size=2
    )
)
def test_alike_rows_can_be_read_back(rows):
    assert_lossless(json.dumps(rows, ensure_ascii=False, indent=1).encode("utf-8", "replace").decode())


NUMBER_LIKE = st.sampled_from(["007", "12", "1e5", "-", "", "null", "x", "9 9", "a,b", "3.50"]) | st.integers().map(str)


@given(
    st.lists(st.fixed_dictionaries({"zip": NUMBER_LIKE | st.none(), "b:str": NUMBER_LIKE, "n": SCALARS}), min_size=2)
)
def test_strings_that_look_like_numbers_can_be_read_back(rows):
    assert_lossless(json.dumps({"rows": rows, "keyed": dict(enumerate(rows))}, indent=1))


LEGS = st.sampled_from(
    [{"ship": f"ship {n}" if n % 2 else f"ship-{n}", "at": f"2031-05-0{n}T00:00:00", "n": n} for n in range(1, 5)]
)


@given(st.lists(st.lists(LEGS, min_size=1, max_size=3), min_size=2, max_size=8))
def test_rows_that_come_again_can_be_read_back(routes):
    assert_lossless(json.dumps(routes, indent=1))
    assert_lossless(json.dumps({"legs": [leg for route in routes for leg in route], "z": 1}, indent=1))


@given(st.lists(st.sampled_from([{"a": 1, "b": 2, "c": {"d": None, "e": [1]}}, {"a": 1}, [1], "x"]), max_size=8))
def test_repeated_objects_can_be_read_back(items):
    assert_lossless(json.dumps({"pad": ["pad"] * 400, "items": items}))


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_documents_in_strings_can_be_read_back(value, indent, is_list):
    inner = json.dumps(
        [value, "x" * 100] if is_list else {"v": value, "pad": "y" * 100, "z": [{"a": 1}, {"a": 2}]}, indent=indent
    )
    assert_lossless(json.dumps({"result": inner, "more": [inner, {"deep": inner}]}, ensure_ascii=False, indent=1))


def test_objects_of_one_shape_but_different_depth_can_be_read_back():
    flat = [{"a": i, "b": i, "c": i, "d": i} for i in range(5)]
    deep = [{"a": i, "b": {"x": [i, i, i, i]}, "c": [i, i, i], "d": i} for i in range(5)]
    assert_lossless(
        json.dumps(
            {"pad": "p" * 2000, "first": {"one": flat[0], "rest": [flat[1:], deep, 1]}, "k": [flat[2], deep[1], 0]}
        )
    )


def test_objects_whose_lists_end_in_different_places_are_told_apart():
    one = {"a": [1, [2]], "b": [3, False], "c": "", "d": None}
    others = [
        {"a": [1, [2, 3]], "b": [False], "c": "", "d": None},
        {"a": [1, 2], "b": [3, 0], "c": "", "d": None},
        {"a": [[1], 2], "b": [3, False], "c": "", "d": None},
        {"a": [1, [2]], "b": [3, False], "c": None, "d": ""},
    ]
    for other in others:
        assert_lossless(json.dumps({"pad": ["pad"] * 600, "x": [[one, 1], [other, 2], [one, 3], [other, 4]]}))
