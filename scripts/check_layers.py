"""Checks the #includes of src/ against the layers of docs/architecture.md: dependencies point one way.

Exit status 1 and a line per breach where a file includes what its layer may not know.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src"
# What each folder may include besides itself.
ALLOWED = {
    "base": set(),
    "kernels": {"base"},
    "program": {"base"},
    "ops": {"base", "kernels"},
    "graph": {"base", "kernels", "ops"},
    "delegates": {"base", "kernels", "ops", "program", "graph"},
    "raise": {"base", "kernels", "ops", "program", "graph"},
    "plan": {"base", "ops", "program", "graph", "delegates", "raise"},
    "executor": {"base", "kernels", "ops", "program", "delegates", "raise", "plan"},
    "bindings": {"base", "kernels", "ops", "program", "delegates", "plan", "executor"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([a-z_]+)/', re.MULTILINE)
PYTHON = re.compile(r"^\s*#\s*include\s+[\"<](Python\.h|nanobind/|numpy/)", re.MULTILINE)
# An ISA file may include only these (style: code compiled for one instruction set must not leak into shared inlines).
ISA_SYSTEM = re.compile(r"^\s*#\s*include\s+<([a-z_/0-9.]+)>", re.MULTILINE)
C_HEADERS = re.compile(r"(.*\.h|cstddef|cstdint|cstring|type_traits|utility|bit|limits|initializer_list)$")


def breaches(path: Path) -> list[str]:
    """One message per include that the file's layer may not have."""
    text = path.read_text()
    layer = path.relative_to(SRC).parts[0]
    found = []
    for other in INCLUDE.findall(text):
        if other in ALLOWED and other != layer and other not in ALLOWED[layer]:
            found.append(f"{path.relative_to(SRC)}: layer {layer} may not include {other}/")
    if layer != "bindings" and PYTHON.search(text):
        found.append(f"{path.relative_to(SRC)}: only bindings/ includes Python headers")
    if path.name.endswith((".isa.cpp", ".vnni.cpp")):
        found.extend(
            f"{path.relative_to(SRC)}: an ISA file may not include <{header}>"
            for header in ISA_SYSTEM.findall(text)
            if not C_HEADERS.match(header)
        )
    return found


def main() -> int:
    found = [line for path in sorted(SRC.rglob("*")) if path.suffix in {".h", ".cpp"} for line in breaches(path)]
    print("\n".join(found) if found else "layers: all includes point the right way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
