"""The search space: what each hyperparameter may be, and the way to the unit cube and back."""

from popbandits.space._files import space_from_json, space_from_toml, space_to_json, space_to_toml
from popbandits.space._params import Choice, Float, Int, Param
from popbandits.space._space import Space, SpaceLike, as_space

__all__ = [
    "Choice",
    "Float",
    "Int",
    "Param",
    "Space",
    "SpaceLike",
    "as_space",
    "space_from_json",
    "space_from_toml",
    "space_to_json",
    "space_to_toml",
]
