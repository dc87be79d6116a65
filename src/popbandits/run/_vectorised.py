"""Vectorised: the whole population is trained on the devices of this machine by one compiled JAX function.

`init` and `step` of a `functional` trainable are written for one agent. Here `step` is mapped over all of them and
compiled once. A copy is a gather along the axis of agents. Between intervals, nothing leaves the device but scores.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from popbandits._errors import OptionError, RunError, StorageError, TrainableError
from popbandits.run._checkpoints import beside, damage, number_of, of_agent, population_name, seal
from popbandits.run._entries import Seconds
from popbandits.run._executor import Assignment, Done, Outcome, Task
from popbandits.run._functional import Functional
from popbandits.run._step import scored
from popbandits.run._target import Target
from popbandits.run._trees import load_state, load_tree, save_tree
from popbandits.space import Choice, Int, Space


@dataclass(frozen=True)
class Vectorised:
    """Train all agents at once in this process, in one compiled call of JAX. For `functional` trainables.

    Float and Int reach `step` as traced numbers, and a Choice as the traced position of its value. So new hparams
    compile nothing. Agents train in step, and are spread evenly over all devices that JAX sees.

    Args:
        checkpoint_every: after how many intervals the population is written to disk. After a crash, what was trained
            since is trained again, with the same outcome.

    Raises:
        OptionError: for a number that cannot be.
    """

    checkpoint_every: int = 1
    together = True
    """Agents are trained as one; the loop then says what was trained since the last checkpoint."""

    def __post_init__(self) -> None:
        every = self.checkpoint_every
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise OptionError(f"`checkpoint_every >= 1` must hold, but got checkpoint_every={every!r}")

    def open(self, assignment: Assignment) -> "_Population":
        """Start for one run."""
        return _Population(assignment, mappable(assignment.target, assignment.config), self.checkpoint_every)


def mappable(target: Target, config: Mapping[str, Any]) -> Functional:
    """Return the functions of a trainable that can be mapped over agents.

    Raises:
        TrainableError: for a class.
    """
    factory = target.load(config)
    if not isinstance(factory, Functional):
        raise TrainableError(
            f"Vectorised() trains what popbandits.functional(init, step) makes, but got {target}; "
            "Processes() trains classes"
        )
    return factory


class _Population:
    """A session: the states of all agents as one tree of arrays, agents along the first axis."""

    def __init__(self, assignment: Assignment, factory: Functional, every: int) -> None:
        assert assignment.space is not None
        self._assignment, self._space, self._every = assignment, assignment.space, every
        from popbandits.run._mapped import Mapped  # JAX is imported by those who use it

        choices = {name for name, param in self._space.params.items() if isinstance(param, Choice)}
        self._mapped = Mapped(factory, assignment.config, assignment.size, assignment.metric, choices)
        self._all_trained = True
        self._trained = 0  # intervals of the population, whoever trained in them
        self._waiting: dict[int, Task] = {}
        self._hparams: dict[int, dict[str, float]] = {}

    def submit(self, task: Task) -> None:
        self._waiting[task.agent] = task

    def wait(self, seconds: float) -> list[Outcome]:  # noqa: ARG002  (what is here to do is done at once)
        tasks = tuple(self._waiting.values())
        self._waiting.clear()
        if not tasks:
            return []
        began = time.monotonic()
        if not self._mapped.begun:
            self._catch_up()
        loaded = time.monotonic()
        results = self._train(tasks)
        trained = time.monotonic()
        try:
            name = self._saved()
        except OSError as error:
            raise StorageError(f"a checkpoint could not be written: {error.strerror}; make room and resume") from error
        times = Seconds(loaded - began, trained - loaded, time.monotonic() - trained)
        outcomes: list[Outcome] = []
        for task in tasks:
            score, metrics = scored({key: float(column[task.agent]) for key, column in results.items()}, self._metric)
            own = None if name is None else of_agent(name, task.agent)
            outcomes.append(Done(task, score, metrics, times, own, None if outcomes else name))
        return outcomes

    def close(self) -> None:
        self._waiting.clear()

    @property
    def _metric(self) -> str:
        return self._assignment.metric

    def _catch_up(self) -> None:
        """Become what the population was: from its newest checkpoint, and what was trained since."""
        folder, past = self._assignment.checkpoints, self._assignment.past
        if past.sealed is not None:
            wrong = damage(folder / past.sealed)
            if wrong is not None:
                raise RunError(f"the checkpoint {past.sealed} is damaged: {wrong}; put it back and resume")
            like = self._mapped.initial(dict.fromkeys(range(self._assignment.size), 0))
            self._mapped.become(load_tree(folder / past.sealed, like))
            self._trained = number_of(past.sealed)
        for batch in past.batches:
            self._train(batch)

    def _train(self, tasks: Sequence[Task]) -> Mapping[str, Any]:
        """Carry out what was decided for an interval and train it; return every metric, a number for each agent."""
        copies = {task.agent: task.source for task in tasks if task.source not in (None, task.agent)}
        starting = {task.agent for task in tasks if task.source is None}
        for agent, donor in copies.items():
            if donor in starting:  # a donor that begins anew gives what it had before
                self._mapped.replace(agent, self._mapped.one(int(donor or 0)))
                copies[agent] = agent
        fresh = {task.agent: task.seed for task in tasks if task.source is None and task.load is None}
        if fresh:
            if self._mapped.begun:
                for agent, seed in fresh.items():
                    self._mapped.replace(agent, self._mapped.made(seed))
            else:
                self._mapped.become(self._mapped.initial(fresh))
        self._begin_with_what_was_given([task for task in tasks if task.source is None and task.load is not None])
        self._all_trained = len(tasks) == len(self)
        for task in tasks:
            self._hparams[task.agent] = _numbers(self._space, task.hparams)
        rows = [self._hparams.get(agent) or next(iter(self._hparams.values())) for agent in range(len(self))]
        columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        hparams = self._space.nested(
            {
                name: _traced(param, columns[name]) if name in columns else param
                for name, param in self._space.params.items()
            }
        )
        seeds = {task.agent: task.reseed for task in tasks if task.agent in copies and task.reseed is not None}
        self._trained += 1
        return self._mapped.train(hparams, {task.agent for task in tasks}, copies, seeds)

    def _begin_with_what_was_given(self, tasks: Sequence[Task]) -> None:
        """Let agents that start do so from the weights that the run was given."""
        if not tasks:
            return
        folder = self._assignment.checkpoints / str(tasks[0].load)
        wrong = damage(folder)
        if wrong is not None:
            raise RunError(f"the weights that the run was given are damaged: {wrong}; put {folder} back and resume")
        if not self._mapped.begun:
            self._mapped.become(self._mapped.initial({task.agent: task.seed for task in tasks}))
        for task in tasks:
            self._mapped.replace(task.agent, load_state(folder, self._mapped.one(task.agent)))
        self._mapped.reseed({task.agent: task.reseed for task in tasks if task.reseed is not None})

    def __len__(self) -> int:
        return self._assignment.size

    def _saved(self) -> str | None:
        """Write the population when it is time, and return the name of the checkpoint."""
        # Where agents train one after another, nobody knows which interval is the last: each may be, towards the end.
        may_end = not self._all_trained or self._trained >= self._assignment.intervals
        if self._trained % self._every and not may_end:
            return None
        name = population_name(self._trained)
        path = beside(self._assignment.checkpoints, name)
        save_tree(self._mapped.on_host(), path)
        seal(path)
        return name


def _numbers(space: Space, hparams: Mapping[str, Any]) -> dict[str, float]:
    """Return hparams as numbers: a Float or Int itself, a Choice as the position of its value; constants left out."""
    flat = space.flat(hparams)
    found = {}
    for name, param in space.params.items():
        if isinstance(param, Choice):
            found[name] = float(param.index(flat[name]))
        elif hasattr(param, "from_unit"):
            found[name] = float(flat[name])
    return found


def _traced(param: Any, column: Any) -> Any:
    return column.astype(np.int32 if isinstance(param, (Choice, Int)) else np.float32)
