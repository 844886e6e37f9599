"""``make bench``: print every measurement."""

from __future__ import annotations

import os
import platform
import sys

from tests.benchmarks import loop, screen


def main() -> None:
    wanted = set(sys.argv[1:])
    print(f"Python {platform.python_version()} · {os.cpu_count()} cores · {platform.system()}")
    for name, rows in (("screen", screen.rows), ("loop", loop.rows)):
        if wanted and name not in wanted:
            continue
        print(f"\n{name}")
        for what, value in rows():
            print(f"  {what:<52} {value}", flush=True)


if __name__ == "__main__":
    main()
