"""Rehydrate: turns that leave the window are kept, and the right ones come back.

```text
window ─▶ evict (pairs, windows) ─▶ shorter window, with a note (summary)
             │
          archive ─▶ blobs, compaction        kept
             │
           shelf ─▶ index ◀─ vectorizer       as this process sees it
             ▲
question ─▶ triggers, reference_patterns ─▶ query, date_expressions ─▶ ranking (lexical, vectors, views) ─▶ rehydrator ─▶ inject ─▶ prompt
```
"""
