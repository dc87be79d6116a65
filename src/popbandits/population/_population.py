"""Population: the state machine that turns reports into actions (ask/tell)."""

import gc
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from popbandits._errors import OptionError, OutOfTurnError, UnknownAgentError
from popbandits._types import Hparams
from popbandits.population._checks import checked_error, checked_initial, checked_score, whole
from popbandits.population._events import Decision, Event, Extension, Report, Train
from popbandits.population._history import BestRow, History, HistoryLog
from popbandits.population._strategy import Job, Strategy, View
from popbandits.space import SpaceLike, as_space


class Population:
    """A population of agents, to be driven by hand or by an engine.

    Args:
        space: the search space, or the dict it is made from.
        strategy: decides who copies whom and which hparams come next.
        size: the number of agents.
        intervals: the budget of one agent; all strategies spend at most size x intervals.
        seed: of every random choice.
        sync: whether agents wait for one another at the end of an interval.
        initial: the hparams that the first agents start with, in place of those that the strategy draws.
        keep_events: whether `events` is filled. Whoever writes events to a log of its own needs no second copy.

    Raises:
        OptionError: for a size, number of intervals or seed that cannot be, or more initial hparams than agents.
        SpaceError: for a space that cannot be used.
        HparamsError: for initial hparams outside the space.

    Examples:
        >>> from popbandits.strategies import RandomSearch
        >>> pop = Population({"lr": (0.0, 1.0)}, strategy=RandomSearch(), size=2, intervals=1)
        >>> [action.agent for action in pop.start()]
        [0, 1]
        >>> pop.tell(agent=0, score=0.5)  # None: agent 1 still trains
        >>> pop.tell(agent=1, score=0.7).actions
        (Stop(agent=0), Stop(agent=1))
        >>> pop.best.agent
        1
    """

    def __init__(
        self,
        space: SpaceLike,
        strategy: Strategy,
        *,
        size: int,
        intervals: int,
        seed: int = 0,
        sync: bool = True,
        initial: Sequence[Hparams] = (),
        keep_events: bool = True,
    ) -> None:
        self.space = as_space(space)
        self.strategy = strategy
        methods = (getattr(strategy, name, None) for name in ("start", "decide"))
        if isinstance(strategy, type) or not all(map(callable, methods)):
            raise OptionError(
                f"a strategy is an instance with `start` and `decide`, such as PB2(), but got {strategy!r}"
            )
        self.size = whole("size", size, 1)
        self.intervals = whole("intervals", intervals, 1)
        self.seed = whole("seed", seed, 0)
        self.sync = bool(sync)
        self.initial = checked_initial(self.space, self.size, initial)
        self.events: list[Event] = []
        """Every report told and every decision that followed, in order: what to keep, for `restore`."""
        self._keep_events = keep_events
        self._log = HistoryLog(self.space)
        self._last = [-1] * self.size
        self._reports = [0] * self.size
        self._training: dict[int, Job] = {}
        self._latest: dict[int, Job] = {}
        self._scores: dict[int, float] = {}
        self._due: set[int] = set()
        self._started = False
        self._notes: Mapping[str, Any] = {}

    def start(self) -> Decision:
        """Return the first decision: what every agent trains first.

        Raises:
            OutOfTurnError: when the population has started already.
        """
        if self._started:
            raise OutOfTurnError("a population starts once, but start() was called again")
        return self._decided(self.strategy.start(self.view()))

    def tell(self, agent: int, score: Any, *, interval: int | None = None, score_error: Any = None) -> Decision | None:
        """Take the score of an agent's interval and return the decision that it leads to.

        Args:
            agent: its id, 0 to size - 1.
            score: a number; nan and infinities rank last.
            interval: the number of the interval, to be sure; by default the one the agent trains.
            score_error: the standard error of the score, where it is known: 0 or a positive number.

        Returns:
            In step: None until every training agent has reported, then what all of them do next. Out of step: what
            this agent does next.

        Raises:
            UnknownAgentError, OutOfTurnError, ScoreError: and the population is as it was.
        """
        self._record(self._checked(agent, score, interval, score_error))
        return self.overdue()

    @classmethod
    def restore(
        cls,
        space: SpaceLike,
        strategy: Strategy,
        events: Iterable[Event],
        *,
        size: int,
        intervals: int,
        seed: int = 0,
        sync: bool = True,
        initial: Sequence[Hparams] = (),
        keep_events: bool = True,
    ) -> "Population":
        """Return the population that lived through these events. No decision is made again.

        Args:
            events: the reports told and the decisions that followed, in order: what `population.events` was.
            space, strategy, size, intervals, seed, sync, initial: as they were given to the population.
            keep_events: whether `events` is filled.

        Raises:
            ReportError: when the events do not fit together.
        """
        options: dict[str, Any] = {"size": size, "intervals": intervals, "seed": seed, "sync": sync}
        population = cls(space, strategy, initial=initial, keep_events=keep_events, **options)
        with _nothing_to_collect():
            for event in events:
                if isinstance(event, Report):
                    job = population._training.get(event.agent)
                    if job is None or job.interval != event.interval:
                        population._checked(event.agent, event.score, event.interval)  # says what does not fit
                    population._record(event)
                elif isinstance(event, Extension):
                    population.extend(event.intervals)
                else:
                    population._applied(event)
        return population

    def overdue(self) -> Decision | None:
        """Return the decision that the reports so far lead to; None when it has been made, or an agent still trains.

        `tell` has done this already; after `restore`, it is what events that end with a report still lack.
        """
        if not self._due or (self.sync and self._training):
            return None
        due = sorted(self._due)
        return self._decided(self.strategy.decide(self.view(), tuple(due if self.sync else due[:1])))

    def extend(self, intervals: int) -> None:
        """Let each agent train more intervals: also those that have trained all they had. No decision is made yet.

        Call `overdue` afterwards until it returns None: it says what agents that were done do next.

        Args:
            intervals: the new budget of one agent, more than the present one.

        Raises:
            OptionError: when it is not more.
        """
        longer = whole("intervals", intervals, 1)
        if longer <= self.intervals:
            raise OptionError(f"a run of {self.intervals} intervals can be made longer only, but got {intervals}")
        # While others train, those that were stopped before they were spent were stopped for good reason.
        least = self.intervals if self._training else 1
        self._due |= {agent for agent, reports in enumerate(self._reports) if reports >= least} - self._training.keys()
        self.intervals = longer
        self._keep(Extension(longer))

    @property
    def notes(self) -> Mapping[str, Any]:
        """What the strategy noted at its latest decision."""
        return self._notes

    @property
    def started(self) -> bool:
        """Whether the first decision has been made."""
        return self._started

    @property
    def finished(self) -> bool:
        """Whether no agent will train again."""
        return self._started and not self._training and not self._due

    @property
    def training(self) -> dict[int, Job]:
        """The agents that are training now, by id."""
        return dict(self._training)

    @property
    def history(self) -> History:
        """Every report so far, as columns."""
        return self._log.view()

    @property
    def best(self) -> BestRow | None:
        """The row with the highest score so far; None while there is none."""
        return self.history.best()

    def view(self) -> View:
        """Return all that a strategy may look at now."""
        return View(
            self.space,
            self.size,
            self.intervals,
            self.seed,
            self.history,
            tuple(self._last),
            dict(self._training),
            self._notes,
        )

    def _checked(self, agent: Any, score: Any, interval: int | None, score_error: Any = None) -> Report:
        if isinstance(agent, bool) or not isinstance(agent, (int, np.integer)) or not 0 <= agent < self.size:
            raise UnknownAgentError(f"agents are 0 to {self.size - 1}, but got {agent!r}")
        number = checked_score(score, int(agent))
        error = checked_error(score_error, number, f"agent {agent}")
        job = self._training.get(int(agent))
        if job is None:
            waits = "waits for the others" if agent in self._due else "is not training" if self._started else "waits"
            hint = "" if self._started else "; call start() first"
            raise OutOfTurnError(f"agent {agent} {waits} and owes no report, but got the score {score!r}{hint}")
        if interval is not None and interval != job.interval:
            raise OutOfTurnError(f"agent {agent} trains interval {job.interval}, but got a report of {interval!r}")
        return Report(int(agent), job.interval, number, error)

    def _record(self, report: Report) -> None:
        job = self._training.pop(report.agent)
        donor = -1 if job.source is None else job.source
        improvement = report.score - job.score_before
        self._log.append(
            (
                report.agent,
                report.interval,
                report.score,
                math.nan if report.score_error is None else report.score_error,
                donor,
                job.before,
                job.age,
                improvement,
                job.point,
                job.values,
            )
        )
        self._last[report.agent] = self._log.n - 1
        self._latest[report.agent] = job
        self._scores[report.agent] = report.score
        self._reports[report.agent] += 1
        self._due.add(report.agent)
        self._keep(report)

    def _decided(self, decision: Decision) -> Decision:
        """Take what the strategy has just returned."""
        name = type(self.strategy).__name__
        if not isinstance(decision, Decision):
            raise OptionError(f"a strategy returns a Decision, but {name} returned {decision!r:.200}")
        try:
            json.dumps(dict(decision.notes))
        except (TypeError, ValueError, RecursionError) as error:
            raise OptionError(f"the notes of a decision are plain JSON, but those of {name} are not: {error}") from None
        return self._applied(self._with_initial(decision))

    def _with_initial(self, decision: Decision) -> Decision:
        """Return a decision in which agents that train for the first time have the hparams they were given."""
        new = [a.agent for a in decision.trained if a.agent < len(self.initial) and not self._reports[a.agent]]
        if not new:
            return decision
        actions = (
            action._replace(hparams=self.initial[action.agent])
            if isinstance(action, Train) and action.agent in new
            else action
            for action in decision
        )
        return Decision(tuple(actions), decision.notes)

    def _applied(self, decision: Decision) -> Decision:
        jobs = [self._job(action) for action in decision.trained]
        budget = self.size * self.intervals
        if self._log.n + len(self._training) + len(jobs) > budget:
            raise OutOfTurnError(
                f"{self.size} agents may train {self.intervals} intervals each, {budget} in all, but agent "
                f"{jobs[-1].agent} was to train one more; a strategy gives Stop to agents that are spent"
            )
        # Nothing above has changed anything: a decision that does not fit leaves the population as it was.
        self._started = True
        self._due = set() if self.sync else set(sorted(self._due)[1:])  # out of step, one after another is asked for
        self._notes = decision.notes
        for job in jobs:
            self._training[job.agent] = job
        self._keep(decision)
        return decision

    def _keep(self, event: Event) -> None:
        if self._keep_events:
            self.events.append(event)

    def _job(self, action: Train) -> Job:
        source, hparams = action.source, action.hparams
        for name, agent in (("agent", action.agent), ("source", source)):
            if agent is not None and not 0 <= agent < self.size:
                raise UnknownAgentError(f"agents are 0 to {self.size - 1}, but an action has the {name} {agent!r}")
        if action.agent in self._training:
            raise OutOfTurnError(f"agent {action.agent} is still training, but got an action")
        if source is not None and self._last[source] < 0:
            raise OutOfTurnError(f"agent {source} has not trained yet, but agent {action.agent} was to copy it")
        before, score = (-1, math.nan) if source is None else (self._last[source], self._scores[source])
        latest = self._latest.get(action.agent)
        if latest is not None and latest.hparams == hparams and self.space.equal_is_same:
            point, values = latest.point, latest.values  # most agents keep their hparams
        else:
            point, values = self.space.encode(hparams), self.space.to_values(hparams)
        age = 1 if source is None else self._latest[source].age + 1
        interval = self._reports[action.agent] + 1
        return Job(action.agent, interval, hparams, point, values, source, before, score, age)


@contextmanager
def _nothing_to_collect() -> Iterator[None]:
    """Pause the search for garbage while everything that is made stays: over a long life it takes half of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
