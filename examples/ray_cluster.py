"""The same run on Ray actors: on this machine, or on a cluster with `pb.Ray(address="auto")`."""

import popbandits as pb
from popbandits.problems.trainables import NoisySGDAgent

if __name__ == "__main__":
    executor = pb.Ray(resources_per_agent={"CPU": 1})
    run = pb.tune(NoisySGDAgent, NoisySGDAgent.space, population=4, intervals=10, executor=executor)
    print(run.best.score, run.best.schedule)
