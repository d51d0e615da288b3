"""Reads an outline off a syntax tree."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.code.outline import Kind, Outline, Region, Unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from ctx_core.optimize.compressors.code.grammars import Grammar

# Node types mean the same in every grammar that has them.
_NAMED_FUNCTIONS: Final = frozenset(
    (
        "function_definition", "function_declaration", "generator_function_declaration", "method_definition", "method_declaration",
        "function_item", "constructor_declaration", "compact_constructor_declaration", "destructor_declaration",
        "operator_declaration", "conversion_operator_declaration", "accessor_declaration", "local_function_statement", "method",
        "singleton_method",
    )
)  # fmt: skip
_ANONYMOUS_FUNCTIONS: Final = frozenset(
    ("arrow_function", "function_expression", "generator_function", "func_literal", "lambda_expression", "do_block")
)
_FUNCTIONS: Final = _NAMED_FUNCTIONS | _ANONYMOUS_FUNCTIONS
_CONTAINERS: Final = frozenset(
    (
        "class_definition", "class_declaration", "abstract_class_declaration", "interface_declaration", "enum_declaration",
        "record_declaration", "struct_declaration", "impl_item", "trait_item", "mod_item", "namespace_definition",
        "namespace_declaration", "internal_module", "class_specifier", "struct_specifier", "linkage_specification", "class",
        "module", "singleton_class", "preproc_ifdef", "preproc_if",
    )
)  # fmt: skip
_PREPROCESSOR: Final = frozenset(("preproc_ifdef", "preproc_if"))
_WRAPPERS: Final = frozenset(
    ("decorated_definition", "export_statement", "template_declaration", "ambient_declaration")
)
_BLOCKS: Final = frozenset(("block", "body_statement"))
_LISTS: Final = frozenset(("statement_list",))
_CALL_PARTS: Final = frozenset(("arguments", "argument_list", "call"))

_STRINGS: Final = frozenset(
    ("string", "template_string", "raw_string_literal", "string_literal", "verbatim_string_literal", "heredoc_body")
)
_INTERPOLATIONS: Final = frozenset(("interpolation", "template_substitution", "expansion", "command_substitution"))
_COLLECTIONS: Final = frozenset(
    (
        "list", "dictionary", "set", "tuple", "array", "object", "array_expression", "literal_value", "initializer_list",
        "array_initializer", "initializer_expression", "hash",
    )
)  # fmt: skip
_LONG_LITERAL_ROWS: Final = 10
_LITERAL_HEAD_ROWS: Final = 3

# A run of rows no longer than its note is shown.
_MIN_BODY_CHARS: Final = 60
_MIN_DOC_ROWS: Final = 2
_OPEN_WORK: Final = re.compile(rb"TODO|FIXME|XXX|HACK")


def read_outline(source: bytes, rows: list[str], grammar: Grammar, root: Node) -> Outline:
    """Return the outline of a parsed source."""
    reader = _Reader(source, Outline(rows=rows, statement=grammar.statement, comment=grammar.comment))
    reader.read(root.children)
    return reader.outline


class _Reader:
    def __init__(self, source: bytes, outline: Outline) -> None:
        self._source = source
        self.outline = outline

    def read(self, children: Sequence[Node]) -> None:
        """Make units of declarations and statements; what a container holds is read after it, so depth is no matter.

        No row belongs to two siblings: statements on one line are one unit, or each would be charged with the whole line.
        """
        pending: list[tuple[Sequence[Node], int | None]] = [(children, None)]
        while pending:
            siblings, parent = pending.pop()
            first = len(self.outline.units)
            for lead, node in _with_leads(siblings):
                self._shorten_comments([each for each in lead if "comment" in each.type])
                if _is_docstring(node):
                    self._shorten_doc(*_rows(node))
                start, stop = _rows(lead[0])[0] if lead else _rows(node)[0], _rows(node)[1]
                if len(self.outline.units) > first and start < self.outline.units[-1].stop:
                    self.outline.units[-1] = self.outline.units[-1].to(stop)
                    self._shorten(node)
                elif members := _members(_unwrapped(node)):
                    own = ((start, _rows(members[0])[0]), (_rows(members[-1])[1], stop))
                    pending.append((members, len(self.outline.units)))
                    self.outline.units.append(Unit(start, stop, own, parent))
                else:
                    self.outline.units.append(Unit(start, stop, ((start, stop),), parent))
                    self._shorten(node)

    def _shorten(self, node: Node) -> None:
        self._shorten_functions(node)
        self._shorten_literals(node)

    # ------------------------------------------------------------ functions

    def _shorten_functions(self, node: Node) -> None:
        pending = [node]
        while pending:
            for function, body in _functions_in(pending.pop()):
                pending += self._shorten_body(function, body)

    def _shorten_body(self, function: Node, body: Node) -> list[Node]:
        """Leave out runs of statements; return what stays: functions declared inside, and calls that take one."""
        number = self.outline.functions
        self.outline.functions += 1
        children = _statements(body)
        if children and _is_docstring(children[0]):
            self._shorten_doc(*_rows(children[0]))
            children = children[1:]
        first, last = _inside(function, body)
        keeps_calls = (
            function.type in _ANONYMOUS_FUNCTIONS
            and function.parent is not None
            and function.parent.type in _CALL_PARTS
        )
        kept: list[Node] = []
        run: list[int] = []
        for child in [*children, None]:
            if child is not None and not self._is_kept(child, keeps_calls=keeps_calls):
                start, stop = _rows(child)
                if start >= first and stop <= last:
                    run = [run[0] if run else start, stop]
                    continue
            if run:
                self._leave_out(run[0], run[1], number)
            run = []
            if child is not None:
                kept.append(child)
        return kept

    def _is_kept(self, child: Node, *, keeps_calls: bool) -> bool:
        inner = _unwrapped(child)
        if inner.type in _NAMED_FUNCTIONS or (inner.type in _CONTAINERS and inner.type not in _PREPROCESSOR):
            return True
        return keeps_calls and _has_functions(child)

    def _leave_out(self, start: int, stop: int, number: int) -> None:
        if sum(len(row.strip()) for row in self.outline.rows[start:stop]) > _MIN_BODY_CHARS and stop - start > 1:
            self.outline.regions.append(Region(start, stop, Kind.BODY, number))

    # ------------------------------------------------------------ literals

    def _shorten_literals(self, node: Node) -> None:
        """Keep the first rows of long strings and collections outside of functions."""
        for literal in _long_literals(node):
            start, stop = _rows(literal)
            if literal.type in _STRINGS:
                self.outline.regions.append(Region(start + _LITERAL_HEAD_ROWS, stop - 1, Kind.DOC))
                continue
            items = [child for child in literal.named_children if "comment" not in child.type]
            kept = [item for item in items if _rows(item)[0] < _rows(items[0])[0] + _LITERAL_HEAD_ROWS]
            rest = items[len(kept) :]
            if rest and _rows(kept[-1])[1] <= _rows(rest[0])[0] and _rows(rest[-1])[1] < stop:
                self.outline.regions.append(Region(_rows(rest[0])[0], _rows(rest[-1])[1], Kind.DATA))

    # ------------------------------------------------------------ comments

    def _shorten_doc(self, start: int, stop: int) -> None:
        """Keep the first row that says something, and the row that closes the text."""
        rows = self.outline.rows
        first = next((at for at in range(start, stop) if any(sign.isalnum() for sign in rows[at])), stop)
        self._leave_doc_out(first + 1, stop - 1)

    def _leave_doc_out(self, start: int, stop: int) -> None:
        if stop - start >= _MIN_DOC_ROWS:
            self.outline.regions.append(Region(start, stop, Kind.DOC))

    def _shorten_comments(self, comments: Sequence[Node]) -> None:
        if not comments or _OPEN_WORK.search(self._source, comments[0].start_byte, comments[-1].end_byte):
            return
        start, stop = _rows(comments[0])[0], _rows(comments[-1])[1]
        if len(comments) == 1:
            self._shorten_doc(start, stop)
        elif all(_rows(comment)[1] - _rows(comment)[0] == 1 for comment in comments):
            self._leave_doc_out(start + 1, stop)


def _with_leads(siblings: Sequence[Node]) -> Iterator[tuple[list[Node], Node]]:
    """Yield each node with the comments and attributes right ahead of it; comments that stand alone come by themselves."""
    lead: list[Node] = []
    taken = -1
    for node in siblings:
        if not node.is_named or ("comment" in node.type and _rows(node)[0] < taken):
            continue
        taken = _rows(node)[1]
        if lead and _rows(lead[-1])[1] < _rows(node)[0]:
            yield lead, lead[-1]
            lead = []
        if "comment" in node.type or node.type == "attribute_item":
            lead.append(node)
        else:
            yield lead, node
            lead = []
    if lead:
        yield lead, lead[-1]


def _unwrapped(node: Node) -> Node:
    while node.type in _WRAPPERS:
        inner = (
            node.child_by_field_name("definition")
            or node.child_by_field_name("declaration")
            or node.child_by_field_name("value")
        )
        inner = inner or (node.named_children[-1] if node.named_children else None)
        if inner is None:
            break
        node = inner
    return node


def _members(node: Node) -> list[Node]:
    if node.type not in _CONTAINERS:
        return []
    body = node.child_by_field_name("body") or (node if node.type in _PREPROCESSOR else None)
    if body is None:
        return []
    head = _rows(body if _is_braced(body) else node)[0]
    return [child for child in body.named_children if _rows(child)[0] > head]


def _is_braced(body: Node) -> bool:
    return bool(body.children) and body.children[0].type == "{"


def _functions_in(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the outermost functions of a node, and their bodies, in the order of the source."""
    pending = [node]
    while pending:
        node = pending.pop()
        body = node.child_by_field_name("body") if node.type in _FUNCTIONS else None
        if body is not None and (body.type in _BLOCKS or _is_braced(body)):
            yield node, body
        elif node.end_point.row > node.start_point.row:
            pending += reversed(node.named_children)


def _has_functions(node: Node) -> bool:
    return next(_functions_in(node), None) is not None


def _long_literals(node: Node) -> Iterator[Node]:
    """Yield the outermost long literals that stand in no function; a string that holds code across rows is left whole."""
    functions = [function.start_byte for function, _ in _functions_in(node)]
    pending = [node]
    while pending:
        node = pending.pop()
        start, stop = _rows(node)
        if stop - start < _LONG_LITERAL_ROWS or node.type in _FUNCTIONS:
            continue
        holds_function = bisect_left(functions, node.start_byte) < bisect_left(functions, node.end_byte)
        if (node.type in _COLLECTIONS and not holds_function) or (
            node.type in _STRINGS and not any(map(_is_code_across_rows, node.children))
        ):
            yield node
        else:
            pending += reversed(node.named_children)


def _is_code_across_rows(part: Node) -> bool:
    return part.type in _INTERPOLATIONS and part.end_point.row > part.start_point.row


def _statements(body: Node) -> list[Node]:
    children = body.named_children
    return children[0].named_children if len(children) == 1 and children[0].type in _LISTS else children


def _inside(function: Node, body: Node) -> tuple[int, int]:
    """Return the rows in which all of what stands is inside the body."""
    if _is_braced(body):
        return body.start_point.row + 1, body.end_point.row
    ahead = body.prev_sibling
    return (ahead.end_point.row if ahead is not None else function.start_point.row) + 1, _rows(body)[1]


def _is_docstring(node: Node) -> bool:
    return node.type == "expression_statement" and [child.type for child in node.named_children] == ["string"]


def _rows(node: Node) -> tuple[int, int]:
    """Return the rows of a node; a node that ends with a line break has no part of the next row."""
    start, end = node.start_point, node.end_point
    return start.row, end.row if end.column == 0 and end.row > start.row else end.row + 1
