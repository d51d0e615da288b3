"""Code: declarations stay whole, bodies become a count, and what parsed still parses."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ctx_core.optimize.compressors.base import Budget
from ctx_core.optimize.compressors.code import CodeCompressor
from ctx_core.optimize.compressors.code.grammars import grammar_for
from ctx_core.tokens import TokenCounter

NATURAL = Budget()
COUNT = TokenCounter()

PYTHON = '''\
"""Prices in shops.

The module is long, and so is its text,
which goes on for some lines.
"""

from __future__ import annotations

import decimal

RATES = {"EUR": 1.0, "USD": 1.1}


@dataclass(frozen=True)
class Basket(Generic[T]):
    """Holds what is bought.

    It is filled by `add`, and emptied by `pay`,
    in any order.
    """

    items: list[T]

    @property
    def total(self) -> decimal.Decimal:
        """Sum up."""
        amount = decimal.Decimal(0)
        for item in self.items:
            amount += item.price
        return amount

    async def pay(self, currency: str = "EUR") -> None:
        # TODO: refuse unknown currencies
        if currency not in RATES:
            raise KeyError(currency)
        await self.client.charge(self.total * RATES[currency])


def outer(x):
    prepare_the_first_of_many_things(x)
    prepare_the_second_of_many_things(x)

    def inner(y: int) -> int:
        compute_something_long(y)
        return compute_something_else(y)

    return inner(x)
'''

# Language, source, what must stay, what must go.
SAMPLES = [
    (
        "javascript",
        "import {a} from './a.js';\n\nexport class Cart extends Base {\n  static #count = 0;\n  constructor(items) {\n    super();\n    this.items = items.map((item) => item.id);\n    Cart.#count += this.items.length;\n  }\n  async #load(id) {\n    const found = await fetch(`/carts/${id}`);\n    return found.json().then((body) => body.items);\n  }\n}\n\nexport const total = (cart) => {\n  const prices = cart.items.map((item) => item.price);\n  return prices.reduce((one, other) => one + other, 0);\n};\n\ndescribe('cart', () => {\n  it('adds up', () => {\n    const cart = new Cart([{id: 1, price: 2}]);\n    expect(total(cart)).toBe(2);\n  });\n});\n",
        [
            "export class Cart extends Base {",
            "static #count = 0;",
            "async #load(id) {",
            "export const total = (cart) => {",
            "it('adds up', () => {",
        ],
        ["super()", "found.json", "reduce", "toBe(2)"],
    ),
    (
        "typescript",
        "interface Shop<T> {\n  name: string;\n  open(day: number): Promise<T>;\n}\n\nabstract class Store implements Shop<number> {\n  constructor(private readonly name: string) {\n    register_this_store_everywhere(name);\n    announce_this_store_everywhere(name);\n  }\n  async open(day: number): Promise<number> {\n    const doors = await this.findAllDoors(day);\n    return doors.map((door) => door.open()).length;\n  }\n}\n",
        [
            "open(day: number): Promise<T>;",
            "async open(day: number): Promise<number> {",
            "constructor(private readonly name: string) {",
        ],
        ["findAllDoors", "announce"],
    ),
    (
        "tsx",
        "export function Cart({items}: Props): JSX.Element {\n  const [open, setOpen] = useState(false);\n  useEffect(() => { setOpen(items.length > 0); }, [items]);\n  return <ul>{items.map((item) => <li key={item.id}>{item.name}</li>)}</ul>;\n}\n",
        ["export function Cart({items}: Props): JSX.Element {"],
        ["useEffect"],
    ),
    (
        "go",
        'package shop\n\nimport "fmt"\n\ntype Cart struct {\n\tItems []Item\n}\n\n// Total sums up the prices of all that is in the cart.\nfunc (c *Cart) Total(ctx context.Context) (int, error) {\n\tsum := 0\n\tfor _, item := range c.Items {\n\t\tsum += item.Price * item.Count\n\t}\n\treturn sum, nil\n}\n',
        ['import "fmt"', "\tItems []Item", "func (c *Cart) Total(ctx context.Context) (int, error) {", "// Total sums"],
        ["range"],
    ),
    (
        "rust",
        "use std::fmt;\n\n#[derive(Debug)]\npub struct Cart<'a> { items: Vec<&'a Item> }\n\nimpl<'a> Cart<'a> {\n    /// Sums up.\n    pub fn total(&self) -> Result<u64, Error> {\n        let prices = self.items.iter().map(|item| item.price);\n        Ok(prices.filter(|price| *price > 0).sum())\n    }\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds_up() {\n        let cart = Cart { items: vec![] };\n        assert_eq!(cart.total().unwrap(), 0, \"an empty cart costs nothing\");\n    }\n}\n",
        ["#[derive(Debug)]", "pub fn total(&self) -> Result<u64, Error> {", "fn adds_up() {", "/// Sums up."],
        ["filter", "assert_eq"],
    ),
    (
        "java",
        "package shop;\n\npublic class Cart<T extends Item> implements Shop {\n    private final List<T> items;\n\n    @Override\n    public int total(String currency) throws UnknownCurrency {\n        int sum = items.stream().mapToInt(Item::price).sum();\n        return sum * Rates.of(currency).orElseThrow();\n    }\n\n    public Cart(List<T> items) {\n        this.items = List.copyOf(items);\n        Registry.global().announce(this, items.size());\n    }\n}\n",
        ["@Override", "public int total(String currency) throws UnknownCurrency {", "public Cart(List<T> items) {"],
        ["mapToInt", "Registry"],
    ),
    (
        "c",
        "#include <stdio.h>\n#define LIMIT 10\n\nstruct cart { int size; };\n\n#ifdef DEBUG\nstatic int total(const struct cart *cart, int limit)\n{\n    int sum = 0;\n    for (int i = 0; i < cart->size && i < limit; i++)\n        sum += prices[i] * counts[i];\n    return sum;\n}\n#endif\n",
        ["#define LIMIT 10", "static int total(const struct cart *cart, int limit)", "#endif"],
        ["sum +="],
    ),
    (
        "cpp",
        "namespace shop {\ntemplate <typename T>\nclass Cart : public Base {\n public:\n  Cart() : size_(0) {\n    register_this_cart_everywhere();\n    announce_this_cart_everywhere();\n  }\n  virtual int total() const override;\n};\n\ntemplate <typename T>\nint Cart<T>::total() const {\n  int sum = 0;\n  for (const auto& item : items_) sum += item.price() * item.count();\n  return sum;\n}\n}  // namespace shop\n",
        ["class Cart : public Base {", "virtual int total() const override;", "int Cart<T>::total() const {"],
        ["announce", "sum +="],
    ),
    (
        "c_sharp",
        "using System;\n\nnamespace Shop\n{\n    [Serializable]\n    public class Cart : ICart\n    {\n        public int Size { get; private set; }\n        public async Task<int> TotalAsync(string currency)\n        {\n            var rate = await rates.FindAsync(currency);\n            return items.Sum(item => item.Price) * rate.Value;\n        }\n    }\n}\n",
        [
            "[Serializable]",
            "public int Size { get; private set; }",
            "public async Task<int> TotalAsync(string currency)",
        ],
        ["FindAsync"],
    ),
    (
        "ruby",
        "require 'json'\n\nclass Cart < Base\n  attr_reader :items\n\n  def total(currency: 'EUR')\n    sum = items.map(&:price).reduce(0, :+)\n    raise ArgumentError, currency unless RATES.key?(currency)\n    sum * RATES.fetch(currency)\n  end\n\n  def self.load(id)\n    found = Store.find(id) or return nil\n    new(found.items.reject(&:sold_out?).sort_by(&:name))\n  end\nend\n",
        ["class Cart < Base", "def total(currency: 'EUR')", "def self.load(id)", "attr_reader :items"],
        ["reduce", "reject"],
    ),
    (
        "bash",
        '#!/bin/bash\nset -euo pipefail\nROOT=/srv/shop\n\ntotal() {\n  local sum=0\n  for price in "$@"; do sum=$((sum + price)); done\n  echo "the total of all prices is $sum"\n}\n\ntotal 1 2 3\n',
        ["set -euo pipefail", "ROOT=/srv/shop", "total() {", "total 1 2 3"],
        ["the total of"],
    ),
]


def compress(text: str, language: str | None, max_tokens: int | None = None, query: str | None = None):
    return CodeCompressor(language).compress(text, Budget(max_tokens=max_tokens), query=query)


def test_picture_of_an_outline():
    result = compress(PYTHON, "python")
    assert result.text == snapshot('''\
"""Prices in shops.
… 3 lines
"""

from __future__ import annotations

import decimal

RATES = {"EUR": 1.0, "USD": 1.1}


@dataclass(frozen=True)
class Basket(Generic[T]):
    """Holds what is bought.
    … 3 lines
    """

    items: list[T]

    @property
    def total(self) -> decimal.Decimal:
        """Sum up."""
        ...  # … 4 lines

    async def pay(self, currency: str = "EUR") -> None:
        # TODO: refuse unknown currencies
        ...  # … 3 lines


def outer(x):
    ...  # … 2 lines

    def inner(y: int) -> int:
        compute_something_long(y)
        return compute_something_else(y)

    return inner(x)
''')
    assert not result.lossless
    assert sum(o.count for o in result.omissions) == snapshot(15)


@pytest.mark.parametrize(("language", "source", "stays", "goes"), SAMPLES, ids=[sample[0] for sample in SAMPLES])
def test_declarations_stay_and_bodies_go(language, source, stays, goes):
    grammar = grammar_for(language)
    assert grammar is not None
    assert not grammar.fails(source)
    result = compress(source, language)
    assert not grammar.fails(result.text)
    assert [line for line in stays if line not in result.text] == []
    assert [line for line in goes if line in result.text] == []
    assert compress(result.text, language).text == result.text


@pytest.mark.parametrize("max_tokens", [400, 250, 160, 90, 40])
@pytest.mark.parametrize(
    ("language", "source"),
    [("python", PYTHON), *[sample[:2] for sample in SAMPLES]],
    ids=["python", *[s[0] for s in SAMPLES]],
)
def test_budgets_hold_and_the_result_parses(language, source, max_tokens):
    grammar = grammar_for(language)
    assert grammar is not None
    result = compress(source, language, max_tokens)
    assert COUNT(result.text) <= max_tokens
    assert not grammar.fails(result.text)
    gone = len(source.split("\n")) - len(result.text.split("\n")) + result.text.count("… ")
    assert sum(o.count for o in result.omissions) == gone


def test_bodies_come_back_as_the_budget_grows():
    bare = COUNT(compress(PYTHON, "python").text)
    shown = compress(PYTHON, "python", bare + 30).text
    assert "TODO: refuse unknown currencies" in shown
    assert "amount += item.price" not in shown


def test_bodies_that_the_query_names_stay():
    shown = compress(PYTHON, "python", query="where is the item price added to the amount?").text
    assert "amount += item.price" in shown
    assert "RATES[currency])" not in shown
    shown = compress(PYTHON, "python", COUNT(compress(PYTHON, "python").text) + 45, query="amount of item price").text
    assert "amount += item.price" in shown


def test_over_budget_keeps_public_declarations_and_counts_the_rest():
    assert compress(PYTHON, "python", 120).text == snapshot("""\
...  # … 8 lines
import decimal
...  # … 4 lines
@dataclass(frozen=True)
class Basket(Generic[T]):
    ...  # … 16 lines
    async def pay(self, currency: str = "EUR") -> None:
        # TODO: refuse unknown currencies
        ...  # … 5 lines
def outer(x):
    ...  # … 2 lines

    def inner(y: int) -> int:
        compute_something_long(y)
        return compute_something_else(y)

    return inner(x)
""")


def test_over_budget_a_function_that_fails_outlives_those_that_do_not():
    calm = "".join(f"def moor_{n}(ship, rope={n}):\n    return tie(ship, rope)\n\n" for n in range(200))
    source = (
        calm
        + 'def refuse():\n    raise RuntimeError("pilot 0815 refused to board")\n\n'
        + calm.replace("moor", "cast_off")
    )
    result = compress(source, "python", 300)
    assert "pilot 0815 refused to board" in result.text
    assert COUNT(result.text) <= 300


def test_a_sign_beyond_the_tables_of_a_grammar_is_read_as_a_letter():
    text = "#!/bin/bash\n" + "echo moored\n" * 200 + "{\U000d48f0/;\n"
    assert COUNT(compress(text, "bash", 60).text) <= 60


def test_a_script_that_was_cut_in_a_block_is_shown_by_its_lines():
    script = "if test -d /srv/dock; then\n" + "".join(f"  moor ship-{n} --berth {n % 9}\n" for n in range(300))
    text = compress(script, "bash", 400).text
    assert 200 < COUNT(text) <= 400
    assert "  moor ship-0 --berth 0" in text


DOCK_TSX = """\
import { useState } from 'react';

export function Dock({ ships }: Props) {
  const [open, setOpen] = useState(false);
  const toggle = () => setOpen(!open);
  return <ul onClick={toggle}>{ships.map((ship) => <li key={ship}>{ship}</li>)}</ul>;
}

function Rope(props: RopeProps) {
  const length = props.length * 2;
  return <Line length={length} colour={props.colour} />;
}
"""
DOCK_CPP = """\
namespace docks {

class Dock : public Place {
 public:
  int moor(const std::string &ship) {
    auto rope = find_a_rope_that_is_long_enough(ship);
    return tie(rope, ship);
  }
};

}  // namespace docks
"""


@pytest.mark.parametrize(
    ("language", "source", "head"),
    [
        ("typescript", DOCK_TSX, "export function Dock({ ships }: Props) {\n  // … 3 lines\n}"),
        ("c", DOCK_CPP, "  int moor(const std::string &ship) {\n    // … 2 lines\n  }"),
    ],
)
def test_a_dialect_is_told_by_its_text(language, source, head):
    assert head in compress(source, language).text


@pytest.mark.parametrize("mark", ["\t", "→", ": "])
def test_a_listing_with_line_numbers_keeps_the_numbers_of_what_stays(mark):
    rows = [f"{n:6}{mark}{row}" for n, row in enumerate(PYTHON.splitlines(), start=1)]
    shown = compress("\n".join(rows), "python").text.split("\n")
    assert rows[PYTHON.splitlines().index("    def total(self) -> decimal.Decimal:")] in shown
    assert rows[PYTHON.splitlines().index('RATES = {"EUR": 1.0, "USD": 1.1}')] in shown
    assert not any("amount += item.price" in row for row in shown)


def test_long_strings_and_collections_are_shortened():
    source = (
        'SCRIPT = """\\\n'
        + "".join(f"echo step {at}\n" for at in range(30))
        + '"""\nNAMES = [\n'
        + "".join(f'    "name {at}",\n' for at in range(40))
        + "]\n"
    )
    result = compress(source, "py")
    assert result.text == snapshot('''\
SCRIPT = """\\
echo step 0
echo step 1
… 28 lines
"""
NAMES = [
    "name 0",
    "name 1",
    "name 2",
    # … 37 lines
]
''')


def test_methods_in_an_object_literal_stay():
    source = "module.exports = {\n" + "".join(
        f"  handle_{at}(request) {{\n    const found = this.load(request.id);\n    return found.map((each) => each.name + {at});\n  }},\n"
        for at in range(6)
    )
    result = compress(source + "};\n", "js")
    assert all(f"handle_{at}(request) {{" in result.text for at in range(6))
    assert "found.map" not in result.text


def test_a_language_without_a_grammar_goes_by_its_layout():
    kotlin = "package shop\n\nclass Cart(val items: List<Item>) {\n    override fun total(rate: Double): Double {\n        var sum = 0.0\n        for (item in items) {\n            sum += item.price\n        }\n        return sum * rate\n    }\n\n    val size: Int get() = items.size\n}\n"
    result = compress(kotlin, "kotlin")
    assert result.text == snapshot("""\
package shop

class Cart(val items: List<Item>) {
    override fun total(rate: Double): Double {
        // … 5 lines
    }

    val size: Int get() = items.size
}
""")
    assert compress(result.text, "kotlin").text == result.text


def test_a_script_without_functions_stays():
    source = "import os\nfor name in os.listdir():\n    print(name)\n" * 5
    assert compress(source, "python").text == source


LINES = st.lists(
    st.sampled_from([*PYTHON.split("\n"), *(line for sample in SAMPLES for line in sample[1].split("\n"))])
    | st.text(max_size=20),
    max_size=40,
)


@example(
    ["", "0A", "0:0:\x81", "0:0:\x81", "0:0\x81\x81\x81Ø", "0:0\x81Ø\U0001414e\U00040802", '"""Prices.', "  }"],
    "python",
    30,
)
@given(
    LINES,
    st.sampled_from(["python", "ts", "go", "rust", "c", "cpp", "ruby", "bash", None]),
    st.sampled_from([None, 60]),
)
def test_any_text_gives_a_result(lines, language, max_tokens):
    text = "\n".join(lines)
    once = compress(text, language, max_tokens).text
    assert len(once) <= len(text) or max_tokens is not None
    assert max_tokens is None or COUNT(once) <= max_tokens or COUNT(text) <= max_tokens
    if max_tokens is None:
        assert compress(once, language).text == once


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "def f():\n " * 2000,
        "{" * 5000 + "}" * 5000,
        "x = '" + "a" * 100_000,
        "\x00\ud800\n" * 50,
        "".join(f"{' ' * at}def f{at}():\n" for at in range(1500)) + " " * 1500 + "pass\n",
        "function f() {\n" * 1500 + "}\n" * 1500,
        "const a = " + "[\n" * 4000 + "() => {\n  let b = 1;\n}\n" + "]\n" * 4000,
    ],
    ids=["parentheses", "heads", "braces", "string", "controls", "nested functions", "nested blocks", "nested lists"],
)
@pytest.mark.parametrize("language", ["python", "javascript", None])
def test_extremes_give_a_result(text, language):
    compress(text, language)
    assert COUNT(compress(text, language, 64).text) <= 64 or "\n" not in text


@pytest.mark.parametrize(
    ("language", "statement"), [("python", "x = 1; "), ("js", "function f(a) { return a } "), ("rust", "fn f() {} ")]
)
def test_statements_on_one_line_are_counted_once_and_not_the_line_for_each(language, statement, counter):
    text = f"{statement * 300}\n{statement * 300}\n"
    CodeCompressor(language).compress(text, Budget(max_tokens=40, counter=counter))
    assert counter.characters < 4 * len(text)


def test_lines_shared_by_statements_stay_or_go_as_one():
    rows = [f"a{n} = {n}; b{n} = [{n},\n  {n}]; c{n} = {n}" for n in range(30)]
    kept = compress("\n".join(rows), "python", 100).text
    assert [row for row in rows if row in kept]
    assert kept.count("; c") == sum(row in kept for row in rows)
