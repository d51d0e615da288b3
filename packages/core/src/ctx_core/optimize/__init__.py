"""Optimize: the same facts in fewer tokens, the original kept by hash.

```text
text ─▶ segment ─▶ router, rules ─▶ dispatch ─▶ compressors/<kind> ─▶ draft, fit ─▶ optimizer ─▶ result, hint
                                                                                       │
many: one budget over many chunks                                                     ccr ─▶ original
align: what is about the request goes behind the prefix that a provider caches
```
"""
