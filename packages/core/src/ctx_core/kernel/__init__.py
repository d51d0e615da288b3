"""Kernel: commands become events, events become a read model, queries render it.

```text
commands ─▶ writer ─▶ events ─▶ projection, register ─▶ read model ─▶ traversal ─▶ queries ─▶ views
                        │           ▲
                     transfer     worker                ports: what all of it asks of stores
```
"""
