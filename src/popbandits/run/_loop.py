"""The loop: take an outcome, write it to the log, ask the core, write the decision to the log, carry it out.

Nothing is carried out before it is durable: reports and the decision they lead to are committed together, then agents
train on. A crash at any point is repaired by reading the log back: a controller is made from the log, empty or not.
"""

import math
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from popbandits._errors import DataError, StorageError, TrainingFailedError
from popbandits._random import generator
from popbandits.population import Action, Decision, Event, Population, Report
from popbandits.run._blame import blame
from popbandits.run._callback import Callback
from popbandits.run._checkpoints import publish, quarantine, sweep
from popbandits.run._executor import Assignment, Done, Executor, Failed, Outcome, Session, Task
from popbandits.run._failpoints import failpoint
from popbandits.run._keeper import Keeper
from popbandits.run._log import Entry, Log
from popbandits.run._settings import Settings
from popbandits.run._signals import Interrupts

CHECKPOINTS = "checkpoints"


class Controller:
    """The only writer of a run's log and the only one that makes checkpoints visible."""

    def __init__(self, folder: Path, settings: Settings, log: Log, callbacks: Sequence[Callback]) -> None:
        self._settings, self._log, self._callbacks = settings, log, list(callbacks)
        self._folder = folder / CHECKPOINTS
        self._keeper = Keeper(self._folder)
        self._loads: dict[int, str | None] = {}
        self._attempts: dict[int, int] = {}
        self._tasks: dict[int, Task] = {}
        self._failing: set[int] = set()  # agents that were given up and have not succeeded since
        self._held_back: dict[int, Entry] = {}  # their reports, until it is known that others still succeed
        self._unheard: list[Entry] = []
        options = {name: getattr(settings, name) for name in ("size", "intervals", "seed", "sync")}
        lived = events(settings, self._noting(log.entries()))  # one pass: no row of a long log is kept
        self.population = Population.restore(settings.space, settings.strategy, lived, **options)
        sweep(self._folder, self._keeper.needed(self._loading()))

    def run(self, executor: Executor, interrupts: Interrupts) -> None:
        """Train until the population is finished, or a signal asks to stop.

        Raises:
            TrainingFailedError: when every agent fails.
            StorageError: when the disk is full or fails; the run can be resumed.
        """
        assignment = Assignment(self._settings.target, self._folder, self._settings.metric, self._settings.size)
        session = executor.open(assignment)
        try:
            if not self._log_has_begun():
                self._decided(self.population.start())
            else:
                self._decided(self.population.overdue())
            self._commit()
            for agent in self.population.training:
                self._submit(session, agent)
            while not self.population.finished and not interrupts.asked:
                outcomes = session.wait(0.25)
                if outcomes:
                    self._take(session, outcomes)
        finally:
            session.close()

    def _log_has_begun(self) -> bool:
        return bool(self.population.training) or len(self.population.history) > 0

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
        self._keeper.tidy(self._loading())

    def _reported(self, entry: Entry) -> None:
        assert entry.agent is not None
        assert entry.score is not None
        self._add(entry)
        score = self._settings.sign * entry.score
        told = self.population.tell(entry.agent, score, interval=entry.interval, score_error=entry.score_error)
        self._decided(told)

    def _report(self, outcome: Done) -> Entry:
        task = outcome.task
        failpoint("before-publish")
        try:
            publish(self._folder, task.save)
        except OSError as error:
            raise StorageError(
                f"a checkpoint could not be published: {error.strerror}; make room and resume"
            ) from error
        failpoint("published")
        self._failing.discard(task.agent)
        body = {"attempt": task.attempt, "metrics": outcome.metrics, "seconds": outcome.seconds}
        return Entry("report", body, task.agent, task.interval, outcome.score, task.save)

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
        body: dict[str, Any] = {
            "attempt": task.attempt,
            "kind": outcome.kind,
            "message": outcome.message,
            "traceback": outcome.traceback,
        }
        if outcome.kind == "checkpoint" and task.load is not None:
            quarantine(self._folder, task.load)
            body |= {"damaged": task.load, "load": self._keeper.before(task.load)}
        self._add(Entry("failure", body, task.agent, task.interval))
        if task.attempt <= self._settings.retries or outcome.kind == "checkpoint":
            return
        body = {"attempt": task.attempt, "metrics": {}, "seconds": [0.0, 0.0, 0.0]}
        self._held_back[task.agent] = Entry("report", body, task.agent, task.interval, math.nan, task.load)
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

    def _decided(self, actions: list[Action]) -> None:
        """Log a decision with the checkpoints its actions refer to."""
        if not actions:
            return
        body = {
            "actions": [
                {
                    "agent": action.agent,
                    "hparams": action.hparams,
                    "source": action.source,
                    "stop": action.stop,
                    "load": None if action.source is None else self._keeper.latest(action.source),
                }
                for action in actions
            ],
            "notes": self.population.notes,
        }
        self._add(Entry("decision", body))

    def _submit(self, session: Session, agent: int) -> None:
        job = self.population.training[agent]
        attempt = self._attempts.get(agent, 0) + 1
        self._attempts[agent] = attempt
        seed = int(generator(self._settings.seed, "weights", job.interval, agent).integers(2**31))
        name = f"agent-{agent:04d}-interval-{job.interval:06d}-{attempt}"
        reseed = None
        if job.source not in (None, agent):  # a copy must not draw the numbers that its donor draws
            reseed = int(generator(self._settings.seed, "copy", job.interval, agent).integers(2**31))
        task = Task(agent, job.interval, attempt, job.hparams, self._loads.get(agent), name, seed, reseed)
        self._tasks[agent] = task
        session.submit(task)

    def _loading(self) -> set[str]:
        return {name for name in self._loads.values() if name is not None}

    def _add(self, entry: Entry) -> None:
        self._noted(entry)
        self._unheard.append(self._log.add(entry))

    def _commit(self) -> None:
        self._log.commit()
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
            self._log.add(Entry("note", {"message": told}))
            warnings.warn(told, stacklevel=2)

    def _noting(self, entries: Iterable[Entry]) -> Iterable[Entry]:
        for entry in entries:
            self._noted(entry)
            yield entry

    def _noted(self, entry: Entry) -> None:
        """Keep in mind what an entry says of checkpoints and attempts; the same live and at a resume."""
        if entry.kind == "decision":
            for action in entry.body["actions"]:
                self._loads[action["agent"]] = action["load"]
                self._attempts[action["agent"]] = 0
        elif entry.kind == "report" and entry.agent is not None and entry.score is not None:
            self._keeper.reported(entry.agent, self._settings.sign * entry.score, entry.checkpoint)
        elif entry.kind == "failure" and entry.agent is not None:
            self._attempts[entry.agent] = entry.body["attempt"]
            if "damaged" in entry.body:
                self._loads[entry.agent] = entry.body["load"]
                self._keeper.damaged(entry.body["damaged"])


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


def events(settings: Settings, entries: Iterable[Entry]) -> Iterable[Event]:
    """Yield what the core lived through, from the entries of a log."""
    sign = settings.sign
    for entry in entries:
        if entry.kind == "report" and entry.agent is not None and entry.interval is not None:
            score = math.nan if entry.score is None else sign * entry.score
            yield Report(entry.agent, entry.interval, score, entry.score_error)
        elif entry.kind == "decision":
            actions = [Action(a["agent"], a["hparams"], a["source"], a["stop"]) for a in entry.body["actions"]]
            yield Decision(tuple(actions), entry.body["notes"])
