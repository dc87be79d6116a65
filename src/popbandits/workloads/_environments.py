"""Many copies of an EnvPool environment in one thread."""

import difflib
import warnings
from typing import Any

from popbandits._errors import TrainableError

try:
    import envpool
except ModuleNotFoundError:
    raise TrainableError("the paper's tasks need envpool; install it with: pip install 'popbandits[rl]'") from None


def make_environments(name: str, count: int, seed: int, **options: Any) -> Any:
    """Return some copies of an EnvPool environment on one thread.

    Args:
        name: as EnvPool knows it.
        count: how many.
        seed: of their randomness.
        options: EnvPool's own, for this environment.

    Raises:
        TrainableError: for a name that EnvPool does not know; names close to it are offered.
    """
    known = envpool.list_all_envs()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=3)
        raise TrainableError(f"there is no environment {name!r}{'; close to it: ' + ', '.join(close) if close else ''}")
    envs = envpool.make(name, env_type="gymnasium", num_envs=count, num_threads=1, seed=seed, **options)
    spaces_of(envs)  # they are made when first asked for, with warnings that tell users nothing
    return envs


def spaces_of(envs: Any) -> tuple[Any, Any]:
    """Return the spaces of observations and actions."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*precision lowered by casting")  # bounds of CartPole, which nobody reads
        return envs.observation_space, envs.action_space
