"""PB2 for Ray Tune: change one import, `from popbandits.integrations.ray_tune import PB2`.

Ray trains, pauses, saves and restores trials; who copies whom and with which hparams is decided by the same pure core
as everywhere else. Every event of that core is written beside Ray's own files, so a restored Tuner decides as if it had
never been interrupted.

Time attributes, checkpoints and the carrying out of a copy are those of Ray's own PBT, which this class extends.
"""

import copy
import json
import logging
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from popbandits._errors import OptionError
from popbandits._random import generator
from popbandits._types import Hparams
from popbandits.integrations._bounds import as_mutations, merged, searched, space_from_bounds, within
from popbandits.integrations._events import from_line, read, to_line, write
from popbandits.integrations._in_effect import InEffect
from popbandits.integrations._live import Live
from popbandits.population import Decision, Event, Population, Report, Train, checked_error
from popbandits.strategies import PB2 as _PB2

try:
    from ray.tune.error import TuneError
    from ray.tune.experiment import Trial
    from ray.tune.schedulers import PopulationBasedTraining, TrialScheduler
except ModuleNotFoundError as error:
    raise OptionError("popbandits.integrations.ray_tune needs Ray Tune; pip install 'popbandits[ray]'") from error

_FOREVER = 10**9  # intervals: Ray's stop criteria end a run, not the core
_log = logging.getLogger(__name__)


class PB2(PopulationBasedTraining):  # type: ignore[misc]
    """Population-Based Bandits as a scheduler of Ray Tune, in place of `ray.tune.schedulers.pb2.PB2`.

    Args:
        time_attr, metric, mode, perturbation_interval, quantile_fraction, log_config, require_attrs, synch,
            custom_explore_fn: as Ray's own.
        hyperparam_bounds: name to [low, high], to `Float`, `Int` or `Choice`, or to a dict of these.
        seed: of every random choice; the same seed and the same reports give the same decisions.
        options: of `popbandits.PB2`, such as `patience` or `spread`.

    Raises:
        SpaceError, OptionError: for bounds or options that cannot be.
    """

    def __init__(
        self,
        time_attr: str = "time_total_s",
        metric: str | None = None,
        mode: str | None = None,
        perturbation_interval: float = 60.0,
        hyperparam_bounds: Mapping[str, Any] | None = None,
        quantile_fraction: float = 0.25,
        log_config: bool = True,
        require_attrs: bool = True,
        synch: bool = False,
        custom_explore_fn: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None,
        *,
        seed: int = 0,
        **options: Any,
    ) -> None:
        if not hyperparam_bounds:
            raise TuneError("`hyperparam_bounds` must be specified to use PB2 scheduler.")
        self._bounds = dict(hyperparam_bounds)
        self._space = space_from_bounds(self._bounds)
        self._strategy = _PB2(**{"quantile": quantile_fraction} | options)
        self._seed = seed
        self._agents: dict[str, int] = {}
        """The agent of each trial, by the trial's id."""
        self._events: list[Event] = []
        self._times: dict[int, float] = {}
        """When, in units of `time_attr`, each agent last reported to the core."""
        self._population: Population | None = None
        self._gone: set[int] = set()
        self._chosen: Hparams | None = None
        """What the core has chosen for the trial that is being copied to; None when nobody has asked the core."""
        self._in_effect = InEffect()
        super().__init__(
            time_attr=time_attr,
            metric=metric,
            mode=mode,
            perturbation_interval=perturbation_interval,
            hyperparam_mutations=as_mutations(self._bounds),
            quantile_fraction=quantile_fraction,
            resample_probability=0,
            custom_explore_fn=custom_explore_fn,
            log_config=log_config,
            require_attrs=require_attrs,
            synch=synch,
        )

    # What Ray tells a scheduler

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:
        """Take a trial into the population; hparams that its config lacks are drawn."""
        if not self._agents:
            self._recall(trial)
        agent = self._agents.setdefault(trial.trial_id, len(self._agents))
        self._gone.discard(agent)
        drawn = self._space.sample(generator(self._seed, "ray trial", 1, agent))
        given = within(merged(drawn, trial.config), self._space)
        if self._population is not None and agent in self._population.training:
            # Ray saves its state less often than we do: what an agent trains with is what was last decided.
            given = dict(self._population.training[agent].hparams)
        trial.config.update(merged(trial.config, given))
        trial.evaluated_params.update(self._space.flat(given))
        super().on_trial_add(tune_controller, trial)
        state = self._trial_state[trial]
        state.last_perturbation_time = state.last_train_time = self._times.get(agent, 0)
        state.last_score = self._last_score(agent)

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Take a report; when it ends an interval, decide."""
        if not self._reported_all(result):
            return str(TrialScheduler.CONTINUE)
        self._in_effect.check(trial, self._space, result)
        now, state = result[self._time_attr], self._trial_state[trial]
        if now - state.last_perturbation_time < self._perturbation_interval:
            return str(TrialScheduler.CONTINUE)
        self._join(tune_controller)
        agent = self._agents[trial.trial_id]
        state.last_score = self._metric_op * float(result[self._metric])
        state.last_train_time = state.last_perturbation_time = now
        state.last_result = result
        # Saved now, by every agent: whoever may be copied later has weights of the score it is copied for.
        state.last_checkpoint = tune_controller._schedule_trial_save(trial, result=result)
        self._num_checkpoints += 1
        self._tell(tune_controller, agent, state.last_score, now, result.get("score_error"))
        if trial.status == Trial.PAUSED:
            return str(TrialScheduler.NOOP)
        others_wait = any(other.status in (Trial.PENDING, Trial.PAUSED) for other in tune_controller.get_trials())
        return str(TrialScheduler.PAUSE if self._synch or others_wait else TrialScheduler.CONTINUE)

    def on_trial_complete(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> None:  # noqa: ARG002
        """Take a trial out of the population: it has reached its end."""
        self._leave(tune_controller, trial)

    def on_trial_error(self, tune_controller: Any, trial: Any) -> None:
        """Take a trial out of the population: Ray has given it up. One that Ray will try again stays."""
        if trial.status != Trial.ERROR:  # Ray marks only those so that it is about to add again
            self._leave(tune_controller, trial)

    def on_trial_remove(self, tune_controller: Any, trial: Any) -> None:
        """Take a trial out of the population: the user has stopped it."""
        self._leave(tune_controller, trial)

    def choose_trial_to_run(self, tune_controller: Any) -> Any:
        """Return the trial that is furthest behind among those that may train."""
        waits = [t for t in tune_controller.get_trials() if t.status in (Trial.PENDING, Trial.PAUSED)]
        training = None if self._population is None else self._population.training
        free = [t for t in waits if training is None or self._agents[t.trial_id] in training or self._new(t)]
        return min(free, key=lambda t: self._trial_state[t].last_train_time, default=None)

    def debug_string(self) -> str:
        """Return one line for Ray's progress table."""
        return f"PB2 (popbandits): {self._num_checkpoints} checkpoints, {self._num_perturbations} perturbs"

    def save(self, checkpoint_path: str) -> None:
        """Write the state to a file."""
        Path(checkpoint_path).write_text(self._state())

    def restore(self, checkpoint_path: str) -> None:
        """Become what was saved to a file."""
        self._become(Path(checkpoint_path).read_text())

    # The population

    def _last_score(self, agent: int) -> float:
        """Return what an agent reported last, nan where it has not: Ray prints it when the agent is copied."""
        scores = [event.score for event in self._events if isinstance(event, Report) and event.agent == agent]
        return scores[-1] if scores else math.nan

    def _new(self, trial: Any) -> bool:
        return self._population is None or self._agents[trial.trial_id] >= self._population.size

    def _join(self, tune_controller: Any) -> None:
        """Make the population of all trials there are, or let trials that came later join it."""
        trials = {self._agents[trial.trial_id]: trial for trial in tune_controller.get_trials()}
        known = 0 if self._population is None else self._population.size
        if known >= len(self._agents):
            return
        if not self._events:
            self._space = space_from_bounds(self._bounds, [trial.config for trial in trials.values()])
        begin = [Train(a, searched(trials[a].config, self._space)) for a in range(known, len(self._agents))]
        if not self._events:
            self._events.append(Decision(()))
        first = self._events[0]
        assert isinstance(first, Decision)
        # With those that began first: a decision of its own would end the waiting of agents that have reported.
        self._events[0] = Decision((*first, *begin), first.notes)
        self._rebuild()
        self._write()

    def _rebuild(self) -> None:
        live = Live(self._strategy, self._gone)
        self._population = Population.restore(
            self._space,
            live,
            self._events,
            size=len(self._agents),
            intervals=_FOREVER,
            seed=self._seed,
            sync=self._synch,
        )
        self._events = self._population.events

    def _tell(self, tune_controller: Any, agent: int, score: float, now: float, score_error: Any = None) -> None:
        population = self._population
        assert population is not None
        if agent not in population.training:
            return  # it waits for the others and should not have trained: its report tells nothing new
        self._times[agent] = now
        error = checked_error(score_error, score, f"agent {agent}")
        decision = population.tell(agent, score, score_error=error)
        if decision is not None:
            trials = {self._agents[trial.trial_id]: trial for trial in self._trial_state}
            for action in decision.trained:
                self._carry_out(tune_controller, trials, action)
        self._write()

    def _leave(self, tune_controller: Any, trial: Any) -> None:
        agent = self._agents[trial.trial_id]
        self._gone.add(agent)
        if self._population is not None and agent in self._population.training:
            self._tell(tune_controller, agent, math.nan, self._times.get(agent, 0))

    # Carrying out an action

    def _carry_out(self, tune_controller: Any, trials: Mapping[int, Any], action: Train) -> None:
        trial = trials[action.agent]
        source = trials[action.agent if action.source is None else action.source]
        copied = source is not trial
        if not copied and searched(trial.config, self._space) == action.hparams:
            return
        if not self._has_checkpoint(source):
            _log.warning("trial %s has saved no checkpoint; trial %s goes on as it is", source.trial_id, trial.trial_id)
            self._amend(action._replace(hparams=searched(trial.config, self._space), source=action.agent))
            return
        self._chosen = action.hparams
        trial.temporary_state.saving_to = None  # else Ray takes the pause that follows for the end of the trial
        self._exploit(tune_controller, trial, source)
        self._chosen = None
        self._times[action.agent] = self._trial_state[trial].last_perturbation_time
        if self._custom_explore_fn:
            self._amend(action._replace(hparams=searched(trial.config, self._space)))

    def _get_new_config(self, trial: Any, trial_to_clone: Any) -> tuple[dict[str, Any], dict[str, Any]]:  # noqa: ARG002
        """Return the config that the core has chosen; what is not searched is the donor's, as in Ray.

        Ray may ask without a Tuner, and so without reports that the core could decide from: then hparams are drawn.
        """
        chosen = self._chosen
        if chosen is None:
            chosen = self._space.sample(generator(self._seed, "ray trial", 2, self._num_perturbations))
        config: Any = copy.deepcopy(merged(trial_to_clone.config, chosen))
        if self._custom_explore_fn:
            config = self._custom_explore_fn(config)
            if config is None:
                raise TuneError("custom_explore_fn must return a config, but returned None")
        return config, {}

    def _log_config_on_step(
        self, trial_state: Any, new_state: Any, trial: Any, trial_to_clone: Any, new_config: dict[str, Any]
    ) -> None:
        """Log the policy as Ray does; for an agent that goes on with its own weights, a line more in its own file."""
        if trial is not trial_to_clone:
            super()._log_config_on_step(trial_state, new_state, trial, trial_to_clone, new_config)
            return
        tag, step = trial_state.orig_tag, trial.last_result.get("training_iteration", 0)
        line = json.dumps([tag, tag, step, step, trial.config, new_config], default=str) + "\n"
        folder = Path(trial.local_experiment_path)
        for name in ("pbt_global.txt", f"pbt_policy_{trial.trial_id}.txt"):
            with (folder / name).open("a") as out:
                out.write(line)

    def _has_checkpoint(self, trial: Any) -> bool:
        """Return whether a trial has weights to copy, waiting for them where they are being saved."""
        state = self._trial_state[trial]
        saving = state.last_checkpoint
        if hasattr(saving, "resolve"):
            saved = saving.resolve()
            state.last_checkpoint = saved.checkpoint if saved else None
            state.last_result = saved.metrics if saved else state.last_result
        state.last_checkpoint = state.last_checkpoint or trial.checkpoint
        state.last_result = state.last_result or trial.last_result
        return state.last_checkpoint is not None

    def _amend(self, action: Train) -> None:
        """Have the core know what an agent really does, where that is not what it decided."""
        decision = self._events[-1]
        assert isinstance(decision, Decision)
        actions = tuple(action if given.agent == action.agent else given for given in decision)
        self._events[-1] = Decision(actions, decision.notes)
        self._rebuild()

    # Checks

    def _reported_all(self, result: Mapping[str, Any]) -> bool:
        for kind, name in (("time_attr", self._time_attr), ("metric", self._metric)):
            if name not in result:
                told = f"the {kind} {name!r} is not in the result, which has {', '.join(map(str, result))}"
                if self._require_attrs:
                    raise RuntimeError(f"{told}; report it, or pass require_attrs=False")
                _log.warning(told)
                return False
        return True

    # State that outlives the process

    def _state(self) -> str:
        times = {str(agent): float(time) for agent, time in self._times.items()}
        header = json.dumps({"agents": self._agents, "times": times})
        return "\n".join([header, *(to_line(event) for event in self._events)]) + "\n"

    def _write(self) -> None:
        """Write the state into the experiment's storage: at once, since a process that is killed saves nothing."""
        write(next(iter(self._trial_state)).storage, self._state())

    def _recall(self, trial: Any) -> None:
        """Go on from the state that an earlier run of this experiment has left, if it has."""
        text = read(trial.storage)
        if text is None:
            return
        self._become(text)
        if trial.trial_id not in self._agents:  # another experiment in the same folder
            self._agents, self._events, self._times, self._population = {}, [], {}, None
            self._space = space_from_bounds(self._bounds)

    def _become(self, text: str) -> None:
        header, *lines = text.splitlines()
        body = json.loads(header)
        self._agents, self._times = body["agents"], {int(agent): time for agent, time in body["times"].items()}
        self._events = [from_line(line) for line in lines]
        decisions = [event for event in self._events if isinstance(event, Decision)]
        trained = [action.hparams for decision in decisions for action in decision.trained]
        self._space = space_from_bounds(self._bounds, trained)
        self._rebuild()
