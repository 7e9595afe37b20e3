"""What the cell fuzzer begins with: every query file, every `%%stream` cell of the tutorials, every example of the reference."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SQL = ROOT / "tests" / "sql"


@cache
def cells() -> tuple[str, ...]:
    """Texts of cells, as typed, without their `%%stream` line."""
    found = [path.read_text(encoding="utf-8") for path in sorted(SQL.glob("*.sql"))]
    for path in sorted((ROOT / "tutorials").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            text = "".join(cell["source"])
            if text.startswith("%%stream"):
                found.append(text.partition("\n")[2])
    for path in sorted((ROOT / "tutorials" / "reference").glob("*.md")):
        found += re.findall(r"^```sql\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return tuple(dict.fromkeys(text for text in found if text.strip()))
