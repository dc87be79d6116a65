"""The core tests under other versions of Python, numpy and scipy.

    make test-versions
    python -m tests.versions 3.13      one of them alone

For every Python from 3.11 on that is found (in the PATH, with pyenv or with uv), and once more with the lowest versions
that `pyproject.toml` allows, an environment is made under .venv-versions/, popbandits is installed with its command and
figures, and the tests of the core, the strategies and the engine are run. What came of it is kept in
results/versions.json; `make tables` writes it into the documentation.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".venv-versions"
RESULT = ROOT / "results" / "versions.json"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TESTS = ("bandit", "contracts", "gp", "population", "run", "strategies", "test_space.py", "test_surface.py")
NEEDED = ("hypothesis", "import-linter", "pandas", "polars", "pytest", "pytest-timeout", "pytest-xdist", "scikit-learn")


def lowest() -> list[str]:
    """Return what the core depends on, at the lowest version that is allowed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [requirement.replace(">=", "==") for requirement in project["dependencies"]]


def found(version: str) -> str | None:
    """Return the interpreter of a version, None where there is none."""
    direct = shutil.which(f"python{version}")
    if direct and subprocess.run([direct, "-c", ""], capture_output=True, check=False).returncode == 0:
        return direct
    for candidate in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")):
        return str(candidate)
    if shutil.which("uv"):
        asked = subprocess.run(["uv", "python", "find", version], capture_output=True, text=True, check=False)
        return asked.stdout.strip() or None
    return None


def tried(name: str, python: str, pinned: list[str]) -> dict[str, Any]:
    """Make an environment, run the tests in it, and return what came of it."""
    folder = FOLDER / name
    subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True)
    inside = str(folder / "bin" / "python")
    wanted = [f"{ROOT}[cli,view]", *NEEDED, *pinned]
    subprocess.run([inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)
    code = "import platform, numpy, scipy; print(platform.python_version(), numpy.__version__, scipy.__version__)"
    versions = subprocess.run([inside, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    tests = [str(ROOT / "tests" / test) for test in TESTS]
    command = [inside, "-m", "pytest", "-n", "2", "--dist", "loadgroup", "-m", "not slow", *tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=_environment())
    print(done.stdout[-2000:] if done.returncode else "", end="")
    last = done.stdout.strip().splitlines()[-1]
    outcome = re.sub(r" in .*", "", last).strip("= ")
    told = dict(zip(("python", "numpy", "scipy"), versions, strict=True))
    return told | {"tests": outcome, "ok": done.returncode == 0}


def _environment() -> dict[str, str]:
    return os.environ | dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")


def main() -> None:
    """Try every version that is there, or those that are named; what is known of the others stays."""
    asked = sys.argv[1:] or list(PYTHONS)
    known = json.loads(RESULT.read_text()) if RESULT.exists() else []
    rows = [row for row in known if not row["python"].startswith(tuple(f"{version}." for version in asked))]
    for version in asked:
        python = found(version)
        if python is None:
            print(f"Python {version} is not here")
            continue
        for name, pinned in ((version, []), *([("lowest", lowest())] if version == PYTHONS[0] else [])):
            rows.append(tried(name, python, pinned))
            print(rows[-1], flush=True)
    rows.sort(key=lambda row: [int(part) for part in row["python"].split(".")])
    RESULT.write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(not all(row["ok"] for row in rows))


if __name__ == "__main__":
    main()
