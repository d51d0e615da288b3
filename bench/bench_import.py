"""Import time of each package, as a multiple of starting Python with nothing imported."""

import statistics
import subprocess
import sys
import time

RUNS = 15


def seconds(code: str) -> float:
    """Median wall time of a fresh interpreter that runs `code`."""
    walls = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        walls.append(time.perf_counter() - start)
    return statistics.median(walls)


def main() -> None:
    bare = seconds("pass")
    print(f"bare interpreter: {bare * 1e3:.0f} ms")
    for package in ("ctx_core", "langchain_ctx", "llamaindex_ctx", "langchain_core.messages", "llama_index.core"):
        spent = seconds(f"import {package}")
        print(f"import {package}: {spent / bare:.2f} x bare, {max(spent - bare, 0) * 1e3:.0f} ms more")


if __name__ == "__main__":
    main()
