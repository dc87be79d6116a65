"""MF-PBT: sub-populations that decide at several frequencies, so that some agents are judged by what lasts.

The population is cut into sub-populations of equal size. The first runs PBT in every interval, the others only in
every third and every ninth. At the end of a period, the worst of a sub-population copies the best of it with
perturbed hparams. Between sub-populations there is migration: when the best of another one leads, the second worst
takes its weights. Into a slower sub-population only weights migrate, and it keeps its hparams; into a faster one
hparams come too. With four agents there are two sub-populations of two, and the worst is the one that migrates.
"""

from dataclasses import dataclass

from popbandits.strategies import (
    Action,
    Decision,
    Stop,
    Train,
    View,
    finite_scores,
    generator,
    keep,
    near,
    next_interval,
    random_hparams,
    spent,
    start_at_random,
)


@dataclass(frozen=True)
class MFPBT:
    """PBT at several frequencies, with migration of weights from slow to fast and back."""

    factor: int = 3
    spread: float = 0.1

    def start(self, view: View) -> Decision:
        return start_at_random(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        return Decision(tuple(self._next(view, agent) for agent in due))

    def _next(self, view: View, agent: int) -> Action:
        if spent(view, agent):
            return Stop(agent)
        done = next_interval(view, agent) - 1
        groups = 3 if view.size >= 6 else 2 if view.size >= 4 else 1
        own, period = agent % groups, self.factor ** (agent % groups)
        score = finite_scores(view)
        if not score:
            return Train(agent, random_hparams(view, agent, done))
        mine = sorted((a for a in score if a % groups == own), key=lambda a: (score[a], a))
        if agent not in score:
            donor = max(score, key=lambda a: (score[a], -a))
            return Train(agent, near(view, donor, agent, self.spread), donor)
        if done % period != 0 or len(mine) < 2:
            return keep(view, agent)
        leader = max(score, key=lambda a: (score[a], -a))
        migrant = mine[1] if len(mine) > 2 else mine[0]
        if agent == migrant and leader % groups != own:
            faster = self.factor ** (leader % groups) > period  # the leader is slower than this agent
            source = leader if faster else agent
            return Train(agent, view.history.hparams(view.last[source]), leader)
        if agent == mine[0]:
            return Train(agent, self._explored(view, mine[-1], agent, done), mine[-1])
        return keep(view, agent)

    def _explored(self, view: View, donor: int, agent: int, done: int) -> dict[str, object]:
        if generator(view.seed, "mf-pbt", done, agent).random() < 0.25:
            return dict(random_hparams(view, agent, done))
        return dict(near(view, donor, agent, self.spread))
