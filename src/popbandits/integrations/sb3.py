"""Stable-Baselines3: a trainable from a function that makes a model. PPO, A2C, SAC, TD3, DDPG and DQN.

Of sb3-contrib, TQC, QR-DQN, TRPO, MaskablePPO and RecurrentPPO work as well.

Hparams are changed on the live model, after loading, and read back from where training uses them. A checkpoint holds
the weights and optimisers (torch), counters, the replay buffer and the statistics of a `VecNormalize` wrapper (numpy);
episodes in progress begin anew.
"""

import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from popbandits._errors import OptionError, TrainableError
from popbandits._types import Hparams
from popbandits.integrations._adapters import check_count, made_of

try:
    import torch
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.utils import FloatSchedule
    from stable_baselines3.common.vec_env import VecMonitor, is_vecenv_wrapped
except ModuleNotFoundError as error:
    raise OptionError("popbandits.integrations.sb3 needs Stable-Baselines3; pip install 'popbandits[sb3]'") from error

_PLAIN = (
    *("gamma", "gae_lambda", "batch_size", "n_epochs", "vf_coef", "max_grad_norm", "tau", "gradient_steps"),
    *("target_policy_noise", "target_noise_clip", "policy_delay", "target_update_interval"),
)
_MOMENTS = ("mean", "var", "count")
_COUNTERS = ("num_timesteps", "_n_updates", "_episode_num")


def trainable(
    make_model: Callable[..., Any], *, steps: int, score: Callable[[Any], Any] | None = None
) -> Callable[[int], Any]:
    """Return a trainable.

    Bind it to a name at the top of a module: then a run is resumed without being given it again.

    Args:
        make_model: a function from a seed to a model with its environment, such as one that returns
            `PPO("MlpPolicy", "CartPole-v1", seed=seed)`. What `tune` is given as `config` are its further arguments.
        steps: environment steps of an interval.
        score: from the model to its score or a dict of metrics. By default it is the mean return of the episodes that
            ended in the interval, with its standard error as `score_error`. When none ended, it is the mean of the
            latest episodes (at most 100) without an error, and nan before the first ends.

    Raises:
        OptionError: for a number of steps that cannot be.
    """
    check_count("steps", steps)

    class Agent(_Agent):
        def __init__(self, seed: int, /, **config: Any) -> None:
            super().__init__(make_model(seed, **config), steps, score)

    return made_of(Agent, make_model, seeded=True)  # type: ignore[no-any-return]


class _Returns(BaseCallback):  # type: ignore[misc]
    """Hears of every episode that ends while a model learns."""

    def __init__(self) -> None:
        super().__init__()
        self.returns: list[float] = []

    def _on_step(self) -> bool:
        ended = [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
        self.returns += [float(value) for value in ended]
        return True

    def metrics(self) -> dict[str, float]:
        """Return the score of the interval, its standard error and the steps so far."""
        found = np.array(self.returns or [episode["r"] for episode in self.model.ep_info_buffer])
        metrics = {"score": float(found.mean()) if len(found) else float("nan")}
        if len(self.returns) > 1:
            metrics["score_error"] = float(found.std(ddof=1) / len(found) ** 0.5)
        return metrics | {"steps": float(self.model.num_timesteps), "episodes": float(len(self.returns))}


def _check_monitored(model: Any) -> None:
    """Refuse environments that tell no returns: every score would be nan."""
    env = model.get_env()
    if env is not None and not is_vecenv_wrapped(env, VecMonitor) and not all(env.env_is_wrapped(Monitor)):
        raise TrainableError(
            "the model's environments tell no returns, so there is no score: wrap each in "
            "stable_baselines3.common.monitor.Monitor or all in VecMonitor, or give sb3.trainable a score="
        )


class _Agent:
    def __init__(self, model: Any, steps: int, score: Callable[[Any], Any] | None) -> None:
        self.model, self._steps, self._score = model, steps, score
        if score is None:
            _check_monitored(model)
        self._asked: tuple[str, ...] = ()

    def step(self, hparams: Hparams) -> Any:
        for name, value in hparams.items():
            _set(self.model, name, value)
        self._asked = tuple(hparams)
        heard = _Returns()
        self.model.learn(self._steps, callback=heard, reset_num_timesteps=False, log_interval=None)
        return heard.metrics() if self._score is None else self._score(self.model)

    def reseed(self, seed: int) -> None:
        self.model.set_random_seed(seed)

    def hparams_in_effect(self) -> dict[str, Any]:
        return {name: _get(self.model, name) for name in self._asked}

    def save(self, path: Path) -> None:
        _, loose = self.model._get_torch_save_params()  # such as the entropy coefficient that SAC learns
        state = {"parameters": self.model.get_parameters(), "loose": {n: _loose(self.model, n) for n in loose}}
        torch.save(state, path / "parameters.pt")
        counters: dict[str, Any] = {name: getattr(self.model, name) for name in _COUNTERS}
        counters["episodes"] = [
            {key: float(e[key]) for key in ("r", "l", "t")} for e in self.model.ep_info_buffer or ()
        ]
        buffer = getattr(self.model, "replay_buffer", None)
        if buffer is not None:
            counters |= {"pos": buffer.pos, "full": buffer.full}
            filled = buffer.buffer_size if buffer.full else buffer.pos
            np.savez(path / "replay.npz", **{name: array[:filled] for name, array in _arrays(buffer).items()})
        statistics = _statistics(self.model)
        if statistics:
            arrays = {f"{name}.{part}": getattr(held, part) for name, held in statistics.items() for part in _MOMENTS}
            np.savez(path / "normalise.npz", **arrays)
        (path / "counters.json").write_text(json.dumps(counters))

    def load(self, path: Path) -> None:
        model = self.model
        state = torch.load(path / "parameters.pt", weights_only=True)
        model.set_parameters(state["parameters"], exact_match=True)
        for name, value in state["loose"].items():
            _loose(model, name).copy_(value)
        counters = json.loads((path / "counters.json").read_text())
        buffer = getattr(model, "replay_buffer", None)
        if buffer is not None:
            buffer.pos, buffer.full = counters["pos"], counters["full"]
            with np.load(path / "replay.npz", allow_pickle=False) as saved:
                for name, array in _arrays(buffer).items():
                    array[: len(saved[name])] = saved[name]
        statistics = _statistics(model)
        if statistics:
            with np.load(path / "normalise.npz", allow_pickle=False) as saved:
                for name, held in statistics.items():
                    held.mean, held.var = saved[f"{name}.mean"], saved[f"{name}.var"]
                    held.count = float(saved[f"{name}.count"])
        for name in _COUNTERS:
            setattr(model, name, counters[name])
        model._last_obs = None  # episodes begin anew
        if model.ep_info_buffer is None:  # SB3 makes both when it first learns, and neither when it finds the first
            model.ep_info_buffer = deque(maxlen=model._stats_window_size)
            model.ep_success_buffer = deque(maxlen=model._stats_window_size)
        model.ep_info_buffer.clear()
        model.ep_info_buffer.extend(counters["episodes"])


def _statistics(model: Any) -> dict[str, Any]:
    """Return the running means and variances of a `VecNormalize` wrapper, by name; none where there is no wrapper."""
    wrapper = model.get_vec_normalize_env()
    if wrapper is None:
        return {}
    seen = getattr(wrapper, "obs_rms", None)  # there is none when observations are not normalised
    named = {f"seen.{key}": held for key, held in seen.items()} if isinstance(seen, dict) else {"seen": seen}
    return {name: held for name, held in (named | {"returns": wrapper.ret_rms}).items() if held is not None}


def _arrays(buffer: Any) -> dict[str, Any]:
    """Return the arrays of a replay buffer, those of dict observations with dotted names."""
    found = {name: value for name, value in vars(buffer).items() if isinstance(value, np.ndarray)}
    for name, inner in vars(buffer).items():
        if isinstance(inner, dict):
            found |= {f"{name}.{key}": value for key, value in inner.items() if isinstance(value, np.ndarray)}
    return found


def _loose(model: Any, name: str) -> Any:
    return getattr(model, name).detach()


def _buffers(model: Any) -> list[Any]:
    found = [getattr(model, name, None) for name in ("rollout_buffer", "replay_buffer")]
    return [buffer for buffer in found if buffer is not None]


def _set(model: Any, name: str, value: Any) -> None:
    """Change a hyperparameter of a live model, everywhere that training reads it."""
    buffer = getattr(model, "rollout_buffer", None)
    if name == "learning_rate":
        model.learning_rate = value
        model._setup_lr_schedule()
    elif name in ("clip_range", "clip_range_vf") and hasattr(model, name):
        setattr(model, name, FloatSchedule(value))
    elif name == "ent_coef" and hasattr(model, "ent_coef_optimizer"):
        if model.ent_coef_optimizer is not None:
            raise TrainableError("ent_coef is learned by this model; make it with a number, such as ent_coef=0.1")
        model.ent_coef, model.ent_coef_tensor = value, torch.tensor(float(value), device=model.device)
    elif name == "n_steps" and buffer is not None:
        model.n_steps = buffer.buffer_size = value
        if hasattr(buffer, "hidden_state_shape"):  # a recurrent model's states have a row for each step
            buffer.hidden_state_shape = (value, *buffer.hidden_state_shape[1:])
        buffer.reset()
    elif name == "ent_coef" and hasattr(model, name):
        model.ent_coef = value
    elif name in _PLAIN and hasattr(model, name):
        for part in (model, *_buffers(model), model.get_vec_normalize_env()):
            if hasattr(part, name):  # the wrapper that scales rewards discounts them, too
                setattr(part, name, value)
    else:
        special = (
            "learning_rate",
            "clip_range",
            "clip_range_vf",
            "ent_coef",
            *(() if buffer is None else ("n_steps",)),
        )
        known = [known for known in (*special, *_PLAIN) if hasattr(model, known)]
        raise TrainableError(
            f"{type(model).__name__} has no hyperparameter {name!r} that can change in training; it has "
            f"{', '.join(known)}"
        )


def _get(model: Any, name: str) -> Any:
    """Return a hyperparameter from where training reads it."""
    buffer = getattr(model, "rollout_buffer", None)
    if name == "learning_rate":
        optimizer = getattr(model.policy, "optimizer", None) or model.actor.optimizer
        # Before the first update, an off-policy model has set nothing yet.
        return optimizer.param_groups[0]["lr"] if model._n_updates else model.lr_schedule(1.0)
    if name in ("clip_range", "clip_range_vf"):
        return getattr(model, name)(1.0)
    if name == "ent_coef" and hasattr(model, "ent_coef_tensor"):
        return float(model.ent_coef_tensor)
    if name == "n_steps" and buffer is not None:
        return buffer.buffer_size
    return getattr(next((part for part in _buffers(model) if hasattr(part, name)), model), name)
