"""Every error this library raises on purpose.

PopbanditsError
├── SpaceError              the search space cannot be used
│   ├── BoundsError         reversed, infinite or non-positive bounds
│   └── ChoiceError         no values, or the same value twice
├── HparamsError            hparams that do not match the space
├── ReportError             a report that cannot be taken; the population is unchanged
│   ├── UnknownAgentError   no such agent
│   ├── OutOfTurnError      the agent owes no report, or owes another interval's
│   └── ScoreError          the score is not a number
├── OptionError             a setting that does not exist or has a value it cannot have
├── TrainableError          user code that cannot be trained
│   ├── DataError           images to learn from that are missing or damaged
│   └── TrainingFailedError every agent failed, or no score was finite
└── RunError                a run folder that cannot be used
    └── StorageError        the disk is full or fails; the run can be resumed
"""


class PopbanditsError(Exception):
    """Base class: catch this to catch everything popbandits raises on purpose."""


class SpaceError(PopbanditsError, ValueError):
    """The search space cannot be used."""


class BoundsError(SpaceError):
    """Bounds that are reversed, infinite, or not positive where they must be."""


class ChoiceError(SpaceError):
    """A Choice without values, or with the same value twice."""


class HparamsError(PopbanditsError, ValueError):
    """Hparams with unknown or missing names, or with values outside the space."""


class ReportError(PopbanditsError, ValueError):
    """A report that cannot be taken. The population is as it was before."""


class UnknownAgentError(ReportError):
    """A report of an agent that is not in the population."""


class OutOfTurnError(ReportError):
    """A report of an agent that owes none, or of another interval than the one it trains."""


class ScoreError(ReportError):
    """A score that is not a number; nan and infinities are numbers here, and rank last."""


class OptionError(PopbanditsError, ValueError):
    """A setting that does not exist, or has a value it cannot have."""


class TrainableError(PopbanditsError):
    """User code that lacks a method, cannot be imported by a worker, or does not do what a trainable must."""


class DataError(TrainableError):
    """Images to learn from that are missing, damaged, or not what was asked for."""


class TrainingFailedError(TrainableError):
    """Every agent failed as often as it may, or a run has ended without one finite score."""


class RunError(PopbanditsError):
    """A run folder that does not exist, is in use, is damaged, or is of another version."""


class StorageError(RunError):
    """The disk is full or fails; what was logged before is intact, and the run can be resumed."""
