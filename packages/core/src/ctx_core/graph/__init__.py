"""Graph: typed nodes and explained relations, rendered under a token budget.

```text
model ─▶ spine ─▶ plan ──▶ page ─▶ draft ─▶ render ─▶ quality      what is shown, and what it kept
          ▲        ▲  ▲
     salience   modes  tiers, text (how a fact is written)

render + answer ─▶ claims ─▶ evidence, facts ─▶ audit               what an answer may claim
```
"""
