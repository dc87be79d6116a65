"""What commands cost on a run of a million reports: processor time and memory of status, history and verify.

python -m benchmarks.long_run

Nothing is trained: the log is written as an engine would, with its summary beside it.
"""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import popbandits as pb
from benchmarks._speed import keep
from popbandits.population import Decision
from popbandits.problems.trainables import MovingPeakAgent
from popbandits.run import DecisionEntry, Details, Entry, Log, ReportEntry, RunState, Settings, Target
from popbandits.run._summary import EVERY, write_summary

AGENTS, INTERVALS = 8, 125_000
COMMANDS = ("status", "history", "verify")
CALL = "import sys; sys.argv[0] = 'popbandits'; from popbandits.cli import main; main()"


def entries(settings: Settings) -> Iterator[Entry]:
    """Yield what random search decides and its agents report."""
    population = settings.population()
    decision: Decision | None = population.start()
    while decision is not None:
        yield DecisionEntry(decision, {})
        made = None
        for action in decision.trained:
            interval = population.training[action.agent].interval
            score = float((interval * 7919 + action.agent * 104_729) % 99_991)
            yield ReportEntry(action.agent, interval, score, details=Details({"score": score, "loss": -score}))
            made = population.tell(action.agent, score)
        decision = made


def write(folder: Path) -> None:
    """Write the run."""
    (folder / "checkpoints").mkdir(parents=True)
    space = MovingPeakAgent.space
    settings = Settings(Target.of(MovingPeakAgent), space, pb.RandomSearch(), AGENTS, INTERVALS)
    state, told = RunState(settings), 0
    with closing(Log.create(folder, settings.to_json() | {"version": pb.__version__})) as log:
        for entry in entries(settings):
            state.follow(log.add(entry))
            if log.length >= told + EVERY:
                told = log.length
                log.commit()
                write_summary(folder, state, log)
        log.commit()


def main() -> None:
    """Print and keep what each command costs."""
    with tempfile.TemporaryDirectory() as there:
        folder = Path(there) / "run"
        write(folder)
        print(f"a log of {(folder / 'run.sqlite').stat().st_size / 1e6:.0f} MB")
        for command in COMMANDS:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            measured = [sys.executable, "-c", _WATCHED, command, str(folder)]
            done = subprocess.run(measured, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            cost = f"{seconds:.1f} s of processor time, {int(done.stderr.splitlines()[-1]) / 1e6:.0f} MB of memory"
            print(f"{command}: {cost}")
            keep(f"`popbandits {command}` on a run of a million reports", cost)


_WATCHED = rf"""
import atexit, re, sys
most = lambda: 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1])
atexit.register(lambda: print(most(), file=sys.stderr))
{CALL}
"""

if __name__ == "__main__":
    main()
