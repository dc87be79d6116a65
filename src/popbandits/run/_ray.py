"""Ray: agents are trained by Ray actors, on this machine or on a cluster.

Where the actors see the run folder (one machine, or shared storage), checkpoints travel through it, as with
`Processes`. Where they do not, an actor puts its checkpoint into Ray's object store as a parcel; the controller writes
it into the run folder straight from there, and hands the reference, not the bytes, to whoever copies it.
"""

import contextlib
import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from popbandits._errors import OptionError, RunError, StorageError
from popbandits.run._affinity import room_for
from popbandits.run._checkpoints import beside_of, make_durable
from popbandits.run._executor import Assignment, Done, Task
from popbandits.run._hello import Hello
from popbandits.run._parcels import packed, unpacked
from popbandits.run._pool import Died, Pool, Ready, Unusable, Word, Worker, check_options
from popbandits.run._ray_actor import TOKEN, RayWorker
from popbandits.run._wire import unpack_outcome

_ASK_AGAIN = 5.0  # seconds between looks at what the cluster can hold


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
        check_options(self.workers, self.deadline)

    def open(self, assignment: Assignment) -> "Pool[_Actor]":
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
        actors = _Actors(self, assignment, begun)
        return Pool(actors, actors.keep, self.deadline)


def _check_reachable(address: str | None) -> None:
    """Refuse an address where nothing listens: Ray itself would wait for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=5.0).close()
    except OSError as error:
        raise OptionError(f"there is no Ray cluster at {address!r}: {error.strerror or error}") from None


class _Actor(Worker):
    """One actor, and the calls of it that have not returned."""

    def __init__(self, handle: Any) -> None:
        super().__init__()
        self.handle = handle
        self.pending: Any = handle.ready.remote()
        self.parcel: Any = None
        self.shares = False
        """Whether it sees the run folder."""


class _Actors:
    """The transport to Ray actors: tasks are calls, and checkpoints travel as parcels where they must."""

    early = False  # only an actor that is ready knows whether it needs a parcel

    def __init__(self, options: Ray, assignment: Assignment, begun: bool) -> None:
        import ray

        self._ray: Any = ray
        self._options, self._assignment, self._begun = options, assignment, begun
        self._parcels: dict[str, Any] = {}
        """References to the parcels of checkpoints that may still be loaded, by name."""
        self._looked = -_ASK_AGAIN
        self._capacity = 0
        token = secrets.token_hex(16)
        if not options.object_store:
            (assignment.checkpoints / TOKEN).write_text(token)
        self.keep = room_for(assignment.size, max(1, self.room()))
        one_core = options.resources_per_agent.get("CPU", 1) <= 1
        self._arguments = (Hello.of(assignment, self.keep).to_json(), token, one_core)
        if self._capacity < 1:
            there = [node["Resources"] for node in ray.nodes() if node["Alive"]]
            self.close([])
            raise OptionError(
                f"no node of the Ray cluster has room for one agent: it asks for {dict(options.resources_per_agent)}, "
                f"but the nodes have {there}"
            )

    def room(self) -> int:
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

    def hire(self) -> _Actor:
        needed = dict(self._options.resources_per_agent)
        options: dict[str, Any] = {"num_cpus": needed.pop("CPU", 0), "num_gpus": needed.pop("GPU", 0)}
        if self._options.runtime_env:
            options["runtime_env"] = dict(self._options.runtime_env)
        remote = self._ray.remote(**options, resources=needed, max_restarts=0)(RayWorker)
        return _Actor(remote.remote(*self._arguments))

    def give(self, worker: _Actor, task: Task) -> None:
        parcel = None
        if task.load is not None and not worker.shares and worker.agents.get(task.agent) != task.load:
            parcel = self._parcel(task.load)
        worker.pending, worker.parcel = worker.handle.train.options(num_returns=2).remote(vars(task), parcel)

    def hear(self, workers: Sequence[_Actor], seconds: float) -> list[tuple[_Actor, Word]]:
        asked = {worker.pending: worker for worker in workers if worker.pending is not None}
        if not asked:
            time.sleep(min(seconds, 0.05))  # until the cluster has room
            return []
        answered, _ = self._ray.wait(list(asked), num_returns=1, timeout=seconds)
        if answered:
            answered, _ = self._ray.wait(list(asked), num_returns=len(asked), timeout=0)
        return [(asked[reference], self._word(asked[reference], reference)) for reference in answered]

    def end(self, worker: _Actor) -> None:
        if worker.task is not None and worker.task.load is not None:
            self._parcels.pop(worker.task.load, None)  # it may have been lost with its node; the run folder has it
        with contextlib.suppress(Exception):  # a cluster that is gone has no actors to end
            self._ray.kill(worker.handle)

    def close(self, workers: Sequence[_Actor]) -> None:
        self._parcels.clear()
        with contextlib.suppress(Exception):  # those that are at a task, or gone, leave their folder to the system
            idle = [worker for worker in workers if worker.ready and not worker.shares and worker.task is None]
            self._ray.get([worker.handle.tidy.remote() for worker in idle], timeout=5)
        for worker in workers:
            self.end(worker)
        with contextlib.suppress(OSError):
            (self._assignment.checkpoints / TOKEN).unlink()
        if self._begun:
            self._ray.shutdown()

    def _word(self, worker: _Actor, reference: Any) -> Word:
        errors = self._ray.exceptions
        try:
            message = self._ray.get(reference)
            worker.pending = None
            if not worker.ready:
                worker.shares = message["shares"]
                return Ready() if message["unusable"] is None else Unusable(message["unusable"])
            outcome = unpack_outcome(message)
            if isinstance(outcome, Done):
                self._take(outcome.task, None if worker.shares else worker.parcel)
        except (
            errors.RayActorError,
            errors.WorkerCrashedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,
        ) as error:
            self.end(worker)
            kind = "memory" if isinstance(error, errors.OutOfMemoryError) else "crash"
            said = str(error).strip().splitlines()[-1]
            hint = f"is popbandits installed on every node? The last said: {said}"
            return Died(kind, f"its Ray actor died ({type(error).__name__})", hint)
        except errors.RayError as error:
            raise RunError(f"Ray failed: {type(error).__name__}: {error}; resume the run once Ray is well") from error
        return outcome

    def _parcel(self, name: str) -> Any:
        """Return a reference to a checkpoint's parcel: the one its actor made, or one made of the run folder's."""
        if name not in self._parcels:
            path = self._assignment.checkpoints / name
            self._parcels[name] = self._ray.put(packed(path) if path.exists() else {})
        return self._parcels[name]

    def _take(self, task: Task, reference: Any) -> None:
        """Write the parcel that an actor made into the run folder, and keep it for whoever copies the agent."""
        mine = f"agent-{task.agent:04d}-"  # older checkpoints of the agent are in the run folder
        self._parcels = {name: held for name, held in self._parcels.items() if not name.startswith(mine)}
        if reference is None:
            return
        path = beside_of(self._assignment.checkpoints, task.save)
        try:
            unpacked(self._ray.get(reference), path)  # straight from the object store's own memory
            make_durable(path)
        except OSError as error:
            raise StorageError(f"a checkpoint could not be written: {error.strerror}; make room and resume") from error
        self._parcels[task.save] = reference
