"""How long `import popbandits` takes, beside `import numpy`, and what it brings in."""

import subprocess
import sys
import time
from statistics import median

from benchmarks._speed import keep


def seconds(statement: str, repeats: int = 15) -> float:
    """Return the median time of a new interpreter that runs one statement, less that of one that runs nothing."""

    def once(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    return median(once(statement) for _ in range(repeats)) - median(once("pass") for _ in range(repeats))


if __name__ == "__main__":
    numpy, ours = seconds("import numpy"), seconds("import popbandits")
    print(f"import numpy {numpy:.3f} s, import popbandits {ours:.3f} s: {ours / numpy:.2f}x")
    keep("`import popbandits`, against `import numpy`", f"{ours:.2f} s", f"{numpy:.2f} s", f"{ours / numpy:.1f}x")
    listing = "import sys, popbandits; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", listing], check=True, capture_output=True, text=True).stdout.split()
    print("packages loaded:", *(name for name in loaded if name not in sys.stdlib_module_names and name[0] != "_"))
