"""Which grammar reads which language, and how the language spells a line that stands for lines left out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from ctx_core.extras import installed

if TYPE_CHECKING:
    from tree_sitter import Language, Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """One language.

    Args:
        module: The wheel's module.
        factory: The function in it that returns the grammar.
        statement: A line that parses wherever a statement or a declaration may stand.
        comment: A comment.
    """

    module: str
    factory: str = "language"
    statement: str = "// … {}"
    comment: str = "// … {}"

    @property
    def is_installed(self) -> bool:
        """Whether the grammar, and what runs it, could be imported."""
        return installed("tree_sitter") and installed(self.module)

    def parse(self, source: bytes) -> Tree:
        """Parse `source`; what does not parse becomes error nodes."""
        from tree_sitter import Parser  # noqa: PLC0415 - optional, and slow to import

        return Parser(_language(self.module, self.factory)).parse(source)

    def fails(self, text: str) -> bool:
        """Say whether `text` does not parse."""
        return self.parse(source_of(text)).root_node.has_error


_WIDE: Final = re.compile(r"[^\x00-\x7f]")


def source_of(text: str) -> bytes:
    """Return what to parse: `text` with a letter for each character that is not ASCII.

    No grammar needs to tell them apart, and tree-sitter-bash 0.25 reads beyond its tables, and crashes, at `{\U000d48f0/;`.
    """
    return _WIDE.sub("x", text).encode()


@lru_cache(maxsize=32)
def _language(module: str, factory: str) -> Language:
    from tree_sitter import Language  # noqa: PLC0415

    grammar: object = getattr(import_module(module), factory)()
    return Language(grammar)


_C: Final = Grammar(module="tree_sitter_c")
_CPP: Final = Grammar(module="tree_sitter_cpp")
_C_SHARP: Final = Grammar(module="tree_sitter_c_sharp")
_BASH: Final = Grammar(module="tree_sitter_bash", statement=":  # … {}", comment="# … {}")
_GO: Final = Grammar(module="tree_sitter_go")
_JAVA: Final = Grammar(module="tree_sitter_java")
_JAVASCRIPT: Final = Grammar(module="tree_sitter_javascript")
_PYTHON: Final = Grammar(module="tree_sitter_python", statement="...  # … {}", comment="# … {}")
_RUBY: Final = Grammar(module="tree_sitter_ruby", statement="# … {}", comment="# … {}")
_RUST: Final = Grammar(module="tree_sitter_rust")
_TSX: Final = Grammar(module="tree_sitter_typescript", factory="language_tsx")
_TYPESCRIPT: Final = Grammar(module="tree_sitter_typescript", factory="language_typescript")

_GRAMMARS: Final = {
    "bash": _BASH, "c": _C, "c#": _C_SHARP, "c++": _CPP, "c_sharp": _C_SHARP, "cc": _CPP, "cpp": _CPP, "cs": _C_SHARP,
    "csharp": _C_SHARP, "cxx": _CPP, "go": _GO, "golang": _GO, "h": _C, "hpp": _CPP, "java": _JAVA, "javascript": _JAVASCRIPT,
    "js": _JAVASCRIPT, "jsx": _JAVASCRIPT, "mjs": _JAVASCRIPT, "py": _PYTHON, "pyi": _PYTHON, "python": _PYTHON, "rb": _RUBY,
    "rs": _RUST, "ruby": _RUBY, "rust": _RUST, "sh": _BASH, "shell": _BASH, "ts": _TYPESCRIPT, "tsx": _TSX,
    "typescript": _TYPESCRIPT, "zsh": _BASH,
}  # fmt: skip


# What one language has and the other does not; the plain grammar takes ten times as long to recover from it.
_DIALECTS: Final = (
    (_TYPESCRIPT, _TSX, re.compile(r"</|/>")),
    (_C, _CPP, re.compile(r"\b(?:class|namespace|template|typename)\b|\w::\w|\b(?:public|private|protected):")),
)


def grammar_for(language: str | None, text: str = "") -> Grammar | None:
    """Return the grammar of a language, by its name or the suffix of its files, and of its dialect in `text`; None where there is none."""
    grammar = _GRAMMARS.get((language or "").lower().removeprefix("."))
    for plain, richer, sign in _DIALECTS:
        if grammar is plain and sign.search(text):
            grammar = richer
    return grammar if grammar is not None and grammar.is_installed else None
