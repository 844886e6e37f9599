"""The files of the scratch project: a small library with a bug that its tests find, and a linter for the hook."""

from __future__ import annotations

STATS = '''"""Small statistics for lists of numbers."""


def mean(values):
    """Arithmetic mean; raises ValueError for an empty list."""
    if not values:
        raise ValueError("mean of nothing")
    return sum(values) / len(values)


def median(values):
    """Middle value, or the mean of the two middle values."""
    ordered = values
    middle = len(ordered) // 2
    return ordered[middle]


def spread(values):
    """Difference between the largest and the smallest value."""
    return max(values) - min(values)
'''

TESTS = """import unittest

from wordstats.stats import mean, median, spread


class StatsTest(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([1, 2, 3]), 2)

    def test_median_of_an_odd_number(self):
        self.assertEqual(median([9, 1, 5]), 5)

    def test_median_of_an_even_number(self):
        self.assertEqual(median([4, 1, 3, 2]), 2.5)

    def test_median_leaves_its_argument_alone(self):
        values = [3, 1, 2]
        median(values)
        self.assertEqual(values, [3, 1, 2])

    def test_spread(self):
        self.assertEqual(spread([3, 10, 7]), 7)


if __name__ == "__main__":
    unittest.main()
"""

LINT = '''"""A very small linter: syntax, unused imports, names that are never defined."""

import ast
import builtins
import sys


def problems(path):
    source = open(path, encoding="utf-8").read()
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        yield error.lineno, f"E999 {error.msg}"
        return
    imported, defined, used = {}, set(dir(builtins)), {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                imported[(alias.asname or alias.name).split(".")[0]] = node.lineno
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                used.setdefault(node.id, node.lineno)
            else:
                defined.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
    for name, line in imported.items():
        if name not in used:
            yield line, f"F401 `{name}` imported but unused"
    for name, line in used.items():
        if name not in defined and name not in imported:
            yield line, f"F821 undefined name `{name}`"


found = [(path, line, text) for path in sys.argv[1:] for line, text in problems(path)]
for path, line, text in sorted(found):
    print(f"{path}:{line}: {text}")
sys.exit(1 if found else 0)
'''

README = """# wordstats

A scratch project of the tui-agent demo. Break it, mend it, delete it.

    python3 -m unittest discover -s tests -t .
"""

FILES: dict[str, str] = {
    "README.md": README,
    "wordstats/__init__.py": "",
    "wordstats/stats.py": STATS,
    "tests/__init__.py": "",
    "tests/test_stats.py": TESTS,
    "tools/lint.py": LINT,
}
"""Path to content."""
