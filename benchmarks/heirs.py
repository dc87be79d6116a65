"""How often weights that do not lead would lead: what heirs find on the ill-conditioned quadratic.

    python -m benchmarks.heirs

An heir trains the weights of an agent that does not lead with the hparams of the leader. Here its first score is
compared with what the leader reports in the same interval, over the runs that PB2's parts were chosen on.
"""

import numpy as np

import popbandits as pb
from benchmarks._choosing import QUADRATICS, quadratic_runs
from popbandits.population import History


def leads(history: History) -> list[float]:
    """Return by how much each heir's first score exceeds that of the agent whose hparams it trains with."""
    found = []
    before = np.maximum(history.before, 0)
    copied = (history.before >= 0) & (history.agent != history.agent[before])
    kept = (history.before >= 0) & ~copied & (history.points == history.points[before]).all(axis=1)
    changed = copied & (history.points != history.points[before]).any(axis=1)
    for heir in np.flatnonzero(changed).tolist():
        alike = kept & (history.interval == history.interval[heir])
        alike &= (history.points == history.points[heir]).all(axis=1)
        if alike.any():
            found.append(float(history.score[heir] - history.score[alike].max()))
    return found


def main() -> None:
    """Print what heirs have found."""
    print("| agents | heirs | ahead of the leader | median lead of those | median of all |")
    print("|---|---|---|---|---|")
    for size in QUADRATICS.values():
        lead = np.concatenate([leads(run.history) for run in quadratic_runs(pb.PB2, size)])
        ahead = lead[lead > 0]
        print(
            f"| {size} | {len(lead)} | {len(ahead) / len(lead):.2f} | {np.median(ahead):.2f} | {np.median(lead):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
