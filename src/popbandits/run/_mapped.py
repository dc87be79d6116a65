"""Mapped: a functional trainable for many agents, compiled as one function and spread over all devices."""

import copy
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from popbandits._errors import OptionError, PopbanditsError, TrainableError
from popbandits.run._functional import Functional

try:
    import jax
    import jax.numpy as jnp
    from jax.extend.core import jaxpr_as_fun
except ModuleNotFoundError as error:
    raise OptionError("Vectorised() needs JAX; install it with: pip install 'popbandits[rl]'") from error

_BRANCHES = (
    jax.errors.ConcretizationTypeError,  # its subclasses too: Python's if, while and bool on a traced number
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.UnexpectedTracerError,
)


class Mapped:
    """The states of some agents, and the functions that train them.

    Args:
        factory: the trainable.
        config: what `init` is called with beside the seed.
        size: agents.
        metric: what a score that `step` returns without a name is called.
        choices: the names of hparams that are Choices.
    """

    def __init__(
        self,
        factory: Functional,
        config: Mapping[str, Any],
        size: int,
        metric: str = "score",
        choices: Collection[str] = (),
    ) -> None:
        self._factory, self._size, self._metric, self._choices = factory, size, metric, choices
        self._state: Any = None
        self._constants: Any = None
        devices = jax.devices()
        count = max(n for n in range(1, len(devices) + 1) if size % n == 0)
        mesh = jax.sharding.Mesh(np.array(devices[:count]), ("agents",))
        self._spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("agents"))
        self._init = _compiled_where_possible(lambda seed: factory.init(seed, **copy.deepcopy(dict(config))))
        # Left to itself, XLA would give every device all agents after a copy, and compile anew for that.
        self._interval = jax.jit(self._compiled, out_shardings=self._spread)
        self._put = jax.jit(
            lambda state, i, one: jax.tree.map(lambda all_, x: all_.at[i].set(x), state, one),
            out_shardings=self._spread,
        )

    @property
    def begun(self) -> bool:
        """Whether there are agents yet."""
        return self._state is not None

    def made(self, seed: int) -> Any:
        """Return the state of one agent with fresh weights, as arrays."""
        with self._one_sentence("init"):
            state = self._init(seed)
        try:
            # By way of numpy: Python's numbers would be of a weak type, with which a second call compiles anew.
            return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)), state)
        except TypeError as error:
            raise TrainableError(
                f"a state that is mapped over agents holds arrays and numbers, but {str(error).splitlines()[0]}; "
                "keep a random key as jax.random.key_data(key)"
            ) from None

    def initial(self, seeds: Mapping[int, int]) -> Any:
        """Return the states of all agents with fresh weights; those without a seed get the first one's."""
        first = next(iter(seeds.values()))
        made = [self.made(seeds.get(agent, first)) for agent in range(self._size)]
        forms = {str(jax.tree.map(lambda leaf: (leaf.shape, str(leaf.dtype)), state)): None for state in made}
        if len(forms) > 1:
            raise TrainableError(
                f"init must make states of one form for all seeds, but made {' and '.join(list(forms)[:2])}"
            )
        with self._one_sentence("init"):
            return jax.tree.map(lambda *leaves: jnp.stack(leaves), *made)

    def become(self, state: Any) -> None:
        """Take over the states of all agents."""
        with self._one_sentence("init"):
            self._state = jax.device_put(state, self._spread)

    def one(self, agent: int) -> Any:
        """Return the state of one agent."""
        return jax.tree.map(lambda leaf: leaf[agent], self._state)

    def replace(self, agent: int, state: Any) -> None:
        """Give one agent another state."""
        self._state = self._put(self._state, agent, state)

    def reseed(self, seeds: Mapping[int, int]) -> None:
        """Let some agents draw other random numbers from here on."""
        if self._factory.reseeded is not None:
            for agent, seed in seeds.items():
                self.replace(agent, self._factory.reseeded(self.one(agent), seed))

    def on_host(self) -> Any:
        """Return the states of all agents as numpy arrays."""
        return jax.tree.map(np.asarray, self._state)

    def train(
        self, hparams: Any, trained: Collection[int], copies: Mapping[int, Any], seeds: Mapping[int, int]
    ) -> dict[str, Any]:
        """Copy, reseed and train one interval; return every metric, a number for each agent.

        Args:
            hparams: nested as the space is, a number for each agent; what is no array is a constant.
            trained: who trains; the others stay as they are.
            copies: for each agent that copies, its donor.
            seeds: for those, what their random numbers are drawn from.
        """
        source, copied, new, mask = np.arange(self._size), *(np.zeros(self._size, t) for t in (bool, np.uint32, bool))
        for agent, donor in copies.items():
            source[agent], copied[agent] = donor, agent in seeds
            new[agent] = seeds.get(agent, 0)
        mask[list(trained)] = True
        moving = {name: leaf for name, leaf in _leaves(hparams) if isinstance(leaf, np.ndarray)}
        self._constants = hparams
        with self._one_sentence("step"):
            self._state, result = self._interval(self._state, source, copied, new, mask, moving)
            return {name: np.asarray(column, dtype=float) for name, column in result.items()}

    @contextmanager
    def _one_sentence(self, function: str) -> Iterator[None]:
        """Say in one sentence what is wrong with the user's function, whatever it raises.

        Raises:
            TrainableError: with what to change.
        """
        try:
            yield
        except PopbanditsError:
            raise
        except _BRANCHES as error:
            raise TrainableError(
                f"{function} cannot be compiled: {_first_line(error)} Hparams and state are traced: use jnp.where or "
                "jax.lax.cond in place of Python's if, and jnp in place of numpy; a Choice arrives as a position"
            ) from None
        except Exception as error:
            told = f"{type(error).__name__}: {_first_line(error)}"
            if "callback" in str(error).lower():
                told = f"{function} cannot be mapped over agents: {told}; leave calls of the host out of it"
            elif "RESOURCE_EXHAUSTED" in str(error):
                told = (
                    f"{self._size} agents do not fit into the memory of the device: {_first_line(error)}; "
                    "train fewer agents, or a smaller model"
                )
            elif isinstance(error, jax.errors.JaxRuntimeError):
                told = f"{function} failed on the device: {_first_line(error)}"
            elif function == "step" and isinstance(error, TypeError | ValueError | KeyError | AttributeError):
                told = (
                    f"step cannot be mapped over agents: {told}; it must return (state, score) or (state, metrics), "
                    "with arrays"
                )
            else:
                told = f"{function} failed: {told}"
            raise TrainableError(told) from error

    def _compiled(self, state: Any, source: Any, copied: Any, seeds: Any, trained: Any, moving: Any) -> Any:
        gathered = jax.tree.map(lambda leaf: leaf[source], state)
        if self._factory.reseeded is not None:
            gathered = _chosen(copied, jax.vmap(self._factory.reseeded)(gathered, seeds), gathered)
        after, result = jax.vmap(self._traced(gathered, moving))(gathered, moving)
        _check_like(gathered, after)
        named = result if isinstance(result, dict) else {self._metric: result}
        for name, column in named.items():
            if column.shape != (self._size,):
                raise TrainableError(f"a metric is one number, but {name} has the shape {column.shape[1:]}")
            if jnp.issubdtype(column.dtype, jnp.complexfloating):
                raise TrainableError(f"a metric is a real number, but {name} is complex; return its real part")
        return _chosen(trained, after, gathered), named

    def _traced(self, states: Any, moving: Mapping[str, Any]) -> Any:
        """Return `step` for one agent, traced once; warn when it does not use a Choice.

        `hparams["optimiser"] == "adam"` is false for every position, without an error. What gives it away is that
        nothing in the traced function depends on the Choice.
        """
        one = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), (states, moving))
        traced, shape = jax.make_jaxpr(self._step, return_shape=True)(*one)
        names = sorted(moving)  # the order in which JAX has the values of a dict
        used = {id(var) for equation in traced.jaxpr.eqns for var in equation.invars}
        used |= {id(var) for var in traced.jaxpr.outvars}
        inputs = traced.jaxpr.invars[-len(names) :] if names else []
        for name, var in zip(names, inputs, strict=True):
            if name in self._choices and id(var) not in used:
                warnings.warn(
                    f"step does not use the Choice {name!r}: with Vectorised() it is given the position of the value, "
                    "and comparing that with the value itself is never true; compare it with 0, 1, …",
                    stacklevel=2,
                )
        evaluated = jaxpr_as_fun(traced)
        tree = jax.tree.structure(shape)
        return lambda state, given: jax.tree.unflatten(tree, evaluated(*jax.tree.leaves((state, given))))

    def _step(self, state: Any, moving: Mapping[str, Any]) -> Any:
        return self._factory.train(state, _filled(self._constants, moving))


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0]


def _compiled_where_possible(init: Any) -> Any:
    """Return `init` as one compiled function; one that cannot be compiled, such as one that reads a file, as it is."""
    compiled = jax.jit(init)

    def made(seed: int) -> Any:
        nonlocal compiled
        try:
            return compiled(seed)
        except Exception:
            compiled = init
            return init(seed)

    return made


def _check_like(before: Any, after: Any) -> None:
    """Refuse a state whose shapes have changed: the next interval would have to be compiled anew."""
    kinds = [[(leaf.shape[1:], str(leaf.dtype)) for leaf in jax.tree.leaves(tree)] for tree in (before, after)]
    if jax.tree.structure(before) != jax.tree.structure(after) or len(kinds[0]) != len(kinds[1]):
        raise TrainableError(
            f"the state must keep its form, but init makes {jax.tree.structure(before)} and step returns "
            f"{jax.tree.structure(after)}"
        )
    for was, is_now in zip(*kinds, strict=True):
        if was != is_now:
            raise TrainableError(f"the state must keep its shapes, but step made of an array {was} one {is_now}")


def _chosen(mask: Any, a: Any, b: Any) -> Any:
    """Return for each agent its state of a where the mask is set, else of b."""
    return jax.vmap(lambda take, x, y: jax.tree.map(partial(jnp.where, take), x, y))(mask, a, b)


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in tree.items():
        found += _leaves(value, f"{prefix}{name}.") if isinstance(value, dict) else [(f"{prefix}{name}", value)]
    return found


def _filled(tree: Mapping[str, Any], moving: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return hparams with the numbers that move in their places."""
    return {
        name: _filled(value, moving, f"{prefix}{name}.")
        if isinstance(value, dict)
        else moving.get(f"{prefix}{name}", value)
        for name, value in tree.items()
    }
