"""The pure core: reports go in, actions come out. No I/O, no clock, no global random state."""

from popbandits.population._checks import checked_error
from popbandits.population._events import Action, Decision, Event, Extension, Report, Stop, Train
from popbandits.population._history import BestRow, History
from popbandits.population._population import Population
from popbandits.population._strategy import Job, Strategy, View

__all__ = [
    "Action",
    "BestRow",
    "Decision",
    "Event",
    "Extension",
    "History",
    "Job",
    "Population",
    "Report",
    "Stop",
    "Strategy",
    "Train",
    "View",
    "checked_error",
]
