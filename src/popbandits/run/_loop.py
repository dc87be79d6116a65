"""The loop: take an outcome, write it to the log, ask the core, write the decision to the log, carry it out.

Nothing is carried out before it is durable: reports and the decision they lead to are committed together, then agents
train on. A crash at any point is repaired by reading the log back: a controller is made from the log, empty or not.
"""

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from popbandits._errors import DataError, RunError, StorageError, TrainingFailedError
from popbandits.population import Decision
from popbandits.run._blame import blame
from popbandits.run._callback import Callback
from popbandits.run._checkpoints import INITIAL, publish, quarantine, sweep
from popbandits.run._entries import (
    DecisionEntry,
    Details,
    Entry,
    ExtensionEntry,
    FailureEntry,
    NoteEntry,
    ReportEntry,
    check_length,
)
from popbandits.run._executor import Assignment, Done, Executor, Failed, Outcome, Past, Session, Task, check_in_step
from popbandits.run._failpoints import failpoint
from popbandits.run._keeper import Keeper
from popbandits.run._log import Log
from popbandits.run._settings import Settings
from popbandits.run._signals import Interrupts
from popbandits.run._state import RunState, events, trained_together
from popbandits.run._summary import EVERY, write_summary
from popbandits.run._tasks import make_task, past_of

CHECKPOINTS = "checkpoints"


class Controller:
    """The only writer of a run's log and the only one that makes checkpoints visible."""

    def __init__(self, folder: Path, settings: Settings, log: Log, callbacks: Sequence[Callback]) -> None:
        self._settings, self._log, self._callbacks = settings, log, list(callbacks)
        self._folder = folder / CHECKPOINTS
        self._keeper = Keeper(self._folder)
        self._state = RunState(settings)
        self._tasks: dict[int, Task] = {}
        self._failing: set[int] = set()  # agents that were given up and have not succeeded since
        self._held_back: dict[int, ReportEntry] = {}  # their reports, until it is known that others still succeed
        self._unheard: list[Entry] = []
        self._together = False
        self._decisions = 0
        self._summed_up = log.length
        self.population = settings.population(events(settings, self._noting(log.entries())))
        for name in sweep(self._folder, self._keeper.needed(self._state.loading), self._explained):
            told = f"the checkpoint {name} is of an interval that the log does not know; it was put aside"
            self._add(NoteEntry(told))
            warnings.warn(told, stacklevel=2)

    def run(self, executor: Executor, interrupts: Interrupts) -> None:
        """Train until the population is finished, or a signal asks to stop.

        Raises:
            TrainingFailedError: when every agent fails.
            StorageError: when the disk is full or fails; the run can be resumed.
        """
        settings = self._settings
        together = self._together = bool(getattr(executor, "together", False))
        self._check_kind(together)
        past = past_of(settings, self._log.entries(), self._folder) if together else Past()
        for name, wrong in past.damaged.items():
            quarantine(self._folder, name)
            said = f"the checkpoint {name} is damaged: {wrong}; what it held is trained again"
            self._add(NoteEntry(said))
            warnings.warn(said, stacklevel=2)
        assignment = Assignment(
            settings.target,
            self._folder,
            settings.metric,
            settings.size,
            settings.config,
            settings.space,
            self.population.intervals,
            past,
        )
        session = executor.open(assignment)
        try:
            if not self.population.started:
                with self._asking():
                    decision: Decision | None = self.population.start()
                self._decided(decision)
            self._catch_up()
            told = getattr(executor, "told", lambda: None)()
            if told is not None:
                self._add(NoteEntry(told))
            self._commit()
            for agent in self.population.training:
                self._submit(session, agent)
            while not self.population.finished and not interrupts.asked:
                outcomes = session.wait(0.25)
                if outcomes:
                    self._take(session, outcomes)
        finally:
            session.close()

    def _check_kind(self, together: bool) -> None:
        """Refuse to go on with checkpoints that an executor cannot load: of agents, or of whole populations."""
        check_in_step(together, self._settings.sync)
        before = trained_together(self._log.entries())
        if before is not None and together != before:
            other, advice = ("Vectorised()", "resume it with") if before else ("another executor", "leave out")
            raise RunError(
                f"{self._folder.parent} was trained by {other}, whose checkpoints differ; "
                f"{advice} executor=Vectorised()"
            )

    def _explained(self, agent: int | None, interval: int) -> bool:
        """Return whether the log knows of an interval, an agent's or the population's: reported, or in training."""
        if agent is None:
            return interval <= self._decisions
        if agent >= len(self._state.agents):
            return False
        job = self.population.training.get(agent)
        return interval <= (self._state.agents[agent].interval if job is None else job.interval)

    def extend(self, intervals: int) -> None:
        """Make the run longer. It is written down with the first decision that follows from it."""
        if intervals != self.population.intervals:
            check_length(intervals)  # what the log cannot be read with must not be written to it
            self.population.extend(intervals)
            self._add(ExtensionEntry(intervals))

    def _catch_up(self) -> None:
        """Make the decisions that are due: after a strategy had failed, or for agents that may train on."""
        while True:
            with self._asking():
                decision = self.population.overdue()
            if decision is None:
                return
            self._decided(decision)

    def _take(self, session: Session, outcomes: list[Outcome]) -> None:
        """Log outcomes and what the core decides on them, make that durable, and only then carry it out."""
        for outcome in outcomes:
            agent = outcome.task.agent
            if agent not in self._tasks or self._tasks[agent].key != outcome.task.key:
                continue  # a late word of an attempt that was given up: fenced by (agent, interval, attempt)
            del self._tasks[agent]
            if isinstance(outcome, Done):
                entry = self._report(outcome)
                self._give_up()
                self._reported(entry)
            else:
                self._failure(outcome)
        failpoint("before-commit")
        self._commit()
        failpoint("committed")
        for agent in self.population.training:
            if agent not in self._tasks and agent not in self._held_back:
                self._submit(session, agent)
        self._keeper.tidy(self._state.loading)

    def _reported(self, entry: ReportEntry) -> None:
        self._add(entry)
        score = self._settings.inside(entry.score)
        with self._asking():
            told = self.population.tell(entry.agent, score, interval=entry.interval, score_error=entry.score_error)
        self._decided(told)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Say what happened when a strategy raises. The reports are made durable, so that a resume asks it again."""
        try:
            yield
        except Exception as error:
            self._commit()
            name, folder = type(self._settings.strategy).__name__, self._folder.parent
            raise RunError(
                f"the strategy {name} could not decide: {blame(error)}; nothing is lost: mend it, then resume {folder}"
            ) from error

    def _report(self, outcome: Done) -> ReportEntry:
        task = outcome.task
        failpoint("before-publish")
        try:
            if outcome.publish is not None:
                publish(self._folder, outcome.publish)
        except OSError as error:
            raise StorageError(
                f"a checkpoint could not be published: {error.strerror}; make room and resume"
            ) from error
        failpoint("published")
        self._failing.discard(task.agent)
        known = outcome.metrics.get("score_error") if math.isfinite(outcome.score) else None
        details = Details(outcome.metrics, task.attempt, outcome.seconds)
        return ReportEntry(task.agent, task.interval, outcome.score, known, outcome.checkpoint, details)

    def _failure(self, outcome: Failed) -> None:
        """Log a failure. An agent out of attempts is given up, unless all are: then it is not the agent's fault.

        Which of the two it is shows when another agent succeeds, or when none is left to; until then the report is
        held back, so that a run ended by one cause for all goes on from every agent's own weights.
        """
        task = outcome.task
        if outcome.kind == "storage":
            raise StorageError(f"a checkpoint could not be written: {outcome.message}; make room and resume")
        if outcome.kind == "data":  # missing for one, missing for all, however often it is tried
            raise DataError(f"{outcome.message}; then resume {self._folder.parent}")
        told = (task.agent, task.interval, task.attempt, outcome.kind, outcome.message, outcome.traceback)
        if outcome.kind == "checkpoint" and task.load == INITIAL:
            self._commit()
            raise RunError(
                f"the weights that {self._folder.parent} was given are damaged: {outcome.message}; "
                f"put {CHECKPOINTS}/{INITIAL} back and resume"
            )
        if outcome.kind == "checkpoint" and task.load is not None:
            quarantine(self._folder, task.load)
            before = self._keeper.before(task.load) or (INITIAL if self._settings.warm else None)
            self._add(FailureEntry(*told, damaged=task.load, load=before))
        else:
            self._add(FailureEntry(*told))
        if task.attempt <= self._settings.retries or outcome.kind == "checkpoint":
            return
        details = Details(attempt=task.attempt)
        lost = ReportEntry(task.agent, task.interval, math.nan, checkpoint=task.load, details=details)
        self._held_back[task.agent] = lost
        self._failing.add(task.agent)
        if self._held_back.keys() < self.population.training.keys():
            return
        if len(self._failing) >= self._settings.size:
            self._commit()
            raise _all_failed(outcome, self._folder.parent)
        self._give_up()

    def _give_up(self) -> None:
        """Report the agents that were held back: what failed was theirs."""
        given_up, self._held_back = self._held_back, {}
        for entry in given_up.values():
            self._reported(entry)

    def _decided(self, decision: Decision | None) -> None:
        """Log a decision with the checkpoints its actions refer to."""
        if decision is None:
            return
        sources = {action.agent: action.source for action in decision.trained}
        latest = self._keeper.latest
        fresh = INITIAL if self._settings.warm else None
        loads = {agent: fresh if source is None else latest(source) for agent, source in sources.items()}
        self._add(DecisionEntry(decision, loads))

    def _submit(self, session: Session, agent: int) -> None:
        job = self.population.training[agent]
        attempt = self._state.agents[agent].attempts + 1
        load = self._state.loads.get(agent)
        task = make_task(self._settings, agent, job.interval, job.hparams, job.source, load, attempt, self._together)
        self._tasks[agent] = task
        session.submit(task)

    def _add(self, entry: Entry) -> None:
        self._noted(entry)
        self._unheard.append(self._log.add(entry))

    def _commit(self) -> None:
        self._log.commit()
        if self._log.length >= self._summed_up + EVERY:
            self._summed_up = self._log.length
            with suppress(OSError):  # the log has all that is in it
                write_summary(self._folder.parent, self._state, self._log)
        heard, self._unheard = self._unheard, []
        for entry in heard:
            for callback in list(self._callbacks):
                self._tell(callback, entry)

    def _tell(self, callback: Callback, entry: Entry) -> None:
        try:
            callback.on_entry(entry)
        except Exception as error:
            self._callbacks.remove(callback)
            told = f"a callback was put aside: {blame(error)}"
            self._log.add(NoteEntry(told))
            warnings.warn(told, stacklevel=2)

    def _noting(self, entries: Iterable[Entry]) -> Iterable[Entry]:
        for entry in entries:
            self._noted(entry)
            yield entry

    def _noted(self, entry: Entry) -> None:
        """Keep in mind what an entry says of agents and checkpoints; the same live and at a resume."""
        self._state.follow(entry)
        self._decisions += isinstance(entry, DecisionEntry)
        if isinstance(entry, ReportEntry):
            self._keeper.reported(entry.agent, self._settings.inside(entry.score), entry.checkpoint)
        elif isinstance(entry, FailureEntry) and entry.damaged is not None:
            self._keeper.damaged(entry.damaged)


def _all_failed(last: Failed, folder: Path) -> TrainingFailedError:
    task = last.task
    times = "once" if task.attempt == 1 else f"{task.attempt} times in a row"
    error = TrainingFailedError(
        f"every agent failed {times}; the last was agent {task.agent} in interval {task.interval}: {last.message}; "
        f"nothing is lost: mend the cause, then resume {folder}"
    )
    if last.traceback:
        error.add_note(last.traceback)
    return error
