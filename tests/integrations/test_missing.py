"""Each adapter says what to install when its package is not there; importing the library needs none of them."""

import subprocess
import sys

import pytest

WANTED = {
    "ray_tune": ("ray", "popbandits[ray]"),
    "sb3": ("stable_baselines3", "popbandits[sb3]"),
    "lightning": ("lightning", "popbandits[lightning]"),
    "tensorboard": ("tensorboardX", "popbandits[tracking]"),
    "mlflow": ("mlflow", "popbandits[tracking]"),
    "wandb": ("wandb", "popbandits[tracking]"),
}


@pytest.mark.parametrize("name", WANTED)
def test_a_missing_package_is_named_with_what_to_install(name: str) -> None:
    package, extra = WANTED[name]
    code = f"import sys; sys.modules[{package!r}] = None\nimport popbandits.integrations.{name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("popbandits._errors.OptionError")
    assert f"pip install '{extra}'" in last


@pytest.mark.parametrize(("package", "task"), [("jax", "cnn"), ("optax", "ppo"), ("envpool", "impala")])
def test_the_papers_tasks_say_so_too(package: str, task: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None\nimport popbandits.workloads.{task}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("popbandits._errors.TrainableError")
    assert "pip install 'popbandits[rl]'" in last


def test_the_ray_executor_says_so_too() -> None:
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "import popbandits as pb, tempfile\n"
        "from popbandits.problems.trainables import NoisySGDAgent as A\n"
        "pb.tune(A, A.space, intervals=1, executor=pb.Ray(), directory=tempfile.mkdtemp() + '/run')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'popbandits[ray]'" in done.stderr.strip().splitlines()[-1]
