"""Ray: agents are trained by Ray actors, on this machine or on a cluster.

Where the actors see the run folder (one machine, or shared storage), checkpoints travel through it, as with
`Processes`. Where they do not, an actor puts its checkpoint into Ray's object store as a parcel; the controller writes
it into the run folder straight from there, and hands the reference, not the bytes, to whoever copies it.
"""

import contextlib
import secrets
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from popbandits._errors import OptionError, RunError, StorageError, TrainableError
from popbandits.run._affinity import next_for, remember, room_for
from popbandits.run._checkpoints import beside_of, make_durable
from popbandits.run._executor import Assignment, Done, Failed, Outcome, Task
from popbandits.run._parcels import packed, unpacked
from popbandits.run._ray_actor import TOKEN, RayWorker
from popbandits.run._wire import unpack_outcome

_ASK_AGAIN = 5.0  # seconds between looks at what the cluster can hold
_STILLBORN = 5  # actors in a row that may die before they train anything


@dataclass(frozen=True)
class Ray:
    """Train in Ray actors, from one machine to a cluster.

    Args:
        address: of the cluster, as `ray.init` takes it; None for the one in use here, or a new one.
        resources_per_agent: what an actor asks Ray for while it trains.
        workers: how many actors; None for as many as the cluster has room for, and never more than agents.
        deadline: seconds an interval may take before its actor is ended and the interval tried again; None for ever.
        object_store: send checkpoints through Ray's object store also where actors see the run folder.
        runtime_env: as Ray's actors take it: how nodes that lack your code get it.

    Raises:
        OptionError: for numbers that cannot be, or when Ray is not installed.
    """

    address: str | None = None
    resources_per_agent: Mapping[str, float] = field(default_factory=lambda: {"CPU": 1})
    workers: int | None = None
    deadline: float | None = None
    object_store: bool = False
    runtime_env: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name, amount in self.resources_per_agent.items():
            if not amount > 0:
                raise OptionError(f"resources_per_agent must be positive, but got {name}={amount!r}")
        if not self.resources_per_agent:
            raise OptionError("resources_per_agent must name what an agent needs, such as {'CPU': 1}, but got {}")
        if self.workers is not None and (not isinstance(self.workers, int) or self.workers < 1):
            raise OptionError(f"`workers >= 1` must hold, but got workers={self.workers!r}")
        if self.deadline is not None and not (isinstance(self.deadline, (int, float)) and self.deadline > 0):
            raise OptionError(f"`deadline > 0` must hold, but got deadline={self.deadline!r}")

    def open(self, assignment: Assignment) -> "_RaySession":
        """Start for one run."""
        try:
            import ray
        except ModuleNotFoundError:
            raise OptionError("Ray() needs Ray; pip install 'popbandits[ray]'") from None
        begun = not ray.is_initialized()
        connected = None if begun else ray.get_runtime_context().gcs_address
        if connected is not None and self.address not in (None, "auto", connected):
            raise OptionError(f"this process is connected to Ray at {connected!r}, but got address={self.address!r}")
        if begun:
            _check_reachable(self.address)
            try:
                ray.init(
                    address=self.address,
                    log_to_driver=False,
                    configure_logging=False,
                    include_dashboard=None if self.address else False,
                )
            except (ConnectionError, RuntimeError) as error:
                raise OptionError(f"there is no Ray cluster at {self.address!r}: {error}") from None
        return _RaySession(self, assignment, begun)


def _check_reachable(address: str | None) -> None:
    """Refuse an address where nothing listens: Ray itself would wait for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=5.0).close()
    except OSError as error:
        raise OptionError(f"there is no Ray cluster at {address!r}: {error.strerror or error}") from None


class _Actor:
    """One actor, the task it is at, and what it has in memory."""

    def __init__(self, handle: Any, greeting: Any) -> None:
        self.handle, self.greeting = handle, greeting
        self.ready = False
        self.shares = False
        self.task: Task | None = None
        self.pending: Any = None
        self.parcel: Any = None
        self.since = 0.0
        self.agents: dict[int, str] = {}


class _RaySession:
    def __init__(self, options: Ray, assignment: Assignment, begun: bool) -> None:
        import ray

        self._ray: Any = ray
        self._options, self._assignment, self._begun = options, assignment, begun
        self._actors: list[_Actor] = []
        self._waiting: dict[int, Task] = {}
        self._parcels: dict[str, Any] = {}
        """References to the parcels of checkpoints that may still be loaded, by name."""
        self._looked = -_ASK_AGAIN
        self._capacity = 0
        self._died = 0
        token = secrets.token_hex(16)
        if not options.object_store:
            (assignment.checkpoints / TOKEN).write_text(token)
        self._keep = room_for(assignment.size, max(1, self._room()))
        self._hello = {
            "module": assignment.target.module,
            "names": assignment.target.names,
            "checkpoints": str(assignment.checkpoints.resolve()),
            "metric": assignment.metric,
            "size": assignment.size,
            "room": self._keep,
            "token": token,
            "path": [str(Path(entry or ".").resolve()) for entry in sys.path],
            "argv": sys.argv,
            "one_core": options.resources_per_agent.get("CPU", 1) <= 1,
        }
        if self._capacity < 1:
            there = [node["Resources"] for node in ray.nodes() if node["Alive"]]
            self.close()
            raise OptionError(
                f"no node of the Ray cluster has room for one agent: it asks for {dict(options.resources_per_agent)}, "
                f"but the nodes have {there}"
            )

    def submit(self, task: Task) -> None:
        self._waiting[task.agent] = task
        self._hand_out()

    def wait(self, seconds: float) -> list[Outcome]:
        self._hand_out()
        outcomes: list[Outcome] = []
        asked = {actor.pending if actor.ready else actor.greeting: actor for actor in self._actors}
        asked.pop(None, None)
        if not asked:
            time.sleep(min(seconds, 0.05) if self._waiting else 0.0)
            return outcomes
        answered, _ = self._ray.wait(list(asked), num_returns=1, timeout=self._patience(seconds))
        if answered:
            answered, _ = self._ray.wait(list(asked), num_returns=len(asked), timeout=0)
        for reference in answered:
            outcomes += self._heard(asked[reference], reference)
        for actor in [actor for actor in self._actors if self._late(actor)]:
            outcomes.append(self._lost(actor, "hang", f"took more than {self._options.deadline} s and was ended"))
        self._hand_out()
        return outcomes

    def close(self) -> None:
        self._waiting.clear()
        self._parcels.clear()
        with contextlib.suppress(Exception):  # those that are at a task, or gone, leave their folder to the system
            idle = [actor for actor in self._actors if actor.ready and not actor.shares and actor.task is None]
            self._ray.get([actor.handle.tidy.remote() for actor in idle], timeout=5)
        for actor in self._actors:
            with contextlib.suppress(Exception):  # a cluster that is gone has no actors to end
                self._ray.kill(actor.handle)
        self._actors.clear()
        with contextlib.suppress(OSError):
            (self._assignment.checkpoints / TOKEN).unlink()
        if self._begun:
            self._ray.shutdown()

    def _room(self) -> int:
        """Return how many actors the cluster has room for; asked now and then, since nodes come and go."""
        if time.monotonic() - self._looked >= _ASK_AGAIN:
            self._looked = time.monotonic()
            fits = sum(self._fits(node["Resources"]) for node in self._ray.nodes() if node["Alive"])
            self._capacity = min(fits, self._assignment.size, self._options.workers or fits)
        return self._capacity

    def _fits(self, there: Mapping[str, float]) -> int:
        """Return how many actors a node has room for: an actor cannot be spread over two."""
        needed = self._options.resources_per_agent
        return min(int(there.get(name, 0.0) / amount + 1e-9) for name, amount in needed.items())

    def _hand_out(self) -> None:
        """Give waiting tasks to idle actors: to the one that has the agent in memory if it can be."""
        if not self._waiting:
            return
        while len(self._actors) < self._room():
            self._actors.append(self._hired())
        for actor in self._actors:
            if actor.ready and actor.task is None:
                task = next_for(actor, self._actors, self._waiting)
                if task is None:
                    return
                del self._waiting[task.agent]
                self._give(actor, task)

    def _hired(self) -> _Actor:
        needed = dict(self._options.resources_per_agent)
        options: dict[str, Any] = {"num_cpus": needed.pop("CPU", 0), "num_gpus": needed.pop("GPU", 0)}
        if self._options.runtime_env:
            options["runtime_env"] = dict(self._options.runtime_env)
        remote = self._ray.remote(**options, resources=needed, max_restarts=0)(RayWorker)
        handle = remote.remote(self._hello)
        return _Actor(handle, handle.ready.remote())

    def _give(self, actor: _Actor, task: Task) -> None:
        parcel = None
        if task.load is not None and not actor.shares and actor.agents.get(task.agent) != task.load:
            parcel = self._parcel(task.load)
        actor.task, actor.since = task, time.monotonic()
        actor.pending, actor.parcel = actor.handle.train.options(num_returns=2).remote(vars(task), parcel)

    def _parcel(self, name: str) -> Any:
        """Return a reference to a checkpoint's parcel: the one its actor made, or one made of the run folder's."""
        if name not in self._parcels:
            path = self._assignment.checkpoints / name
            self._parcels[name] = self._ray.put(packed(path) if path.exists() else {})
        return self._parcels[name]

    def _patience(self, seconds: float) -> float:
        if self._options.deadline is None:
            return seconds
        now = time.monotonic()
        left = [actor.since + self._options.deadline - now for actor in self._actors if actor.task is not None]
        return max(0.0, min([seconds, *left]))

    def _late(self, actor: _Actor) -> bool:
        deadline = self._options.deadline
        return deadline is not None and actor.task is not None and time.monotonic() - actor.since > deadline

    def _heard(self, actor: _Actor, reference: Any) -> list[Outcome]:
        errors = self._ray.exceptions
        try:
            message = self._ray.get(reference)
            if not actor.ready:
                return self._greeted(actor, message)
            outcome = unpack_outcome(message)
            if not actor.shares and isinstance(outcome, Done):
                self._take(outcome.task, actor.parcel)
        except (
            errors.RayActorError,
            errors.WorkerCrashedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,
        ) as error:
            if actor.task is None:
                return self._stillborn(actor, error)
            kind = "memory" if isinstance(error, errors.OutOfMemoryError) else "crash"
            return [self._lost(actor, kind, f"its Ray actor died ({type(error).__name__})")]
        except errors.RayError as error:
            raise RunError(f"Ray failed: {type(error).__name__}: {error}; resume the run once Ray is well") from error
        remember(actor, outcome, self._keep)
        if isinstance(outcome, Done):
            self._keep_parcel(outcome.task, None if actor.shares else actor.parcel)
        actor.task = actor.pending = actor.parcel = None
        return [outcome]

    def _stillborn(self, actor: _Actor, error: Exception) -> list[Outcome]:
        """Hire another in the place of an actor that died before it was given anything; but not for ever."""
        self._actors.remove(actor)
        self._died += 1
        if self._died >= _STILLBORN:
            self.close()
            raise RunError(
                f"{self._died} Ray actors in a row died before they could train; is popbandits installed on every "
                f"node? The last said: {str(error).strip().splitlines()[-1]}"
            )
        return []

    def _greeted(self, actor: _Actor, message: dict[str, Any]) -> list[Outcome]:
        if message["unusable"] is not None:
            self.close()
            raise TrainableError(message["unusable"])
        actor.ready, actor.shares, self._died = True, message["shares"], 0
        return []

    def _take(self, task: Task, reference: Any) -> None:
        """Write a parcel into the run folder, from the object store's own memory."""
        path = beside_of(self._assignment.checkpoints, task.save)
        try:
            unpacked(self._ray.get(reference), path)
            make_durable(path)
        except OSError as error:
            raise StorageError(f"a checkpoint could not be written: {error.strerror}; make room and resume") from error

    def _keep_parcel(self, task: Task, reference: Any) -> None:
        """Keep an agent's newest parcel for whoever copies it; older checkpoints are in the run folder."""
        mine = f"agent-{task.agent:04d}-"
        self._parcels = {name: held for name, held in self._parcels.items() if not name.startswith(mine)}
        if reference is not None:
            self._parcels[task.save] = reference

    def _lost(self, actor: _Actor, kind: str, message: str) -> Outcome:
        task = actor.task
        assert task is not None
        self._actors.remove(actor)
        if task.load is not None:
            self._parcels.pop(task.load, None)  # it may have been lost with its node; the run folder has it
        with contextlib.suppress(Exception):
            self._ray.kill(actor.handle)
        return Failed(task, kind, message)
