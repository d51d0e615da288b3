"""Ask a graph why: one incident as text under three budgets, and an audit of two answers about it."""

import json
from pathlib import Path

from ctx_core import Bundle, audit, render

GRAPH = Path(__file__).parent / "data" / "incident_graph.json"

HONEST = """The shop is slow because of all services that PetSite calls only payforadoption slowed down, from 162 ms to 623 ms.
The root cause is that delaymode1 was set to 500."""
INVENTED = "The shop is slow because the adoptions database ran out of connections."


def main() -> None:
    """Render the incident and audit what could be said about it."""
    bundle = Bundle.from_dict(json.loads(GRAPH.read_text(encoding="utf-8")))
    for max_tokens in (120, 360, None):
        shown = render(bundle, max_tokens=max_tokens)
        print(f"--- {max_tokens or 'no'} tokens allowed, {shown.token_count} used; {shown.mode}: {shown.mode_reason}")
        print(shown.text, end="\n\n")

    shown = render(bundle, max_tokens=360)
    for answer in (HONEST, INVENTED):
        report = audit(answer, shown)
        print(f"--- fabricated: {report.is_fabricated}")
        for claim in report.claims:
            print(f"{claim.verdict:12} {claim.text}  ({claim.note})")


if __name__ == "__main__":
    main()
