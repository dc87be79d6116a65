"""The same run on Ray actors: on this machine, or on a cluster with `pb.Ray(address="auto")`."""

import popbandits as pb
from popbandits.problems.trainables import NoisySGDAgent

if __name__ == "__main__":
    executor = pb.Ray(resources_per_agent={"CPU": 1})
    run = pb.tune(NoisySGDAgent, NoisySGDAgent.space, population=4, intervals=10, executor=executor)
    print(run.best.score, run.best.schedule)

# Its last line of output, which differs a little from machine to machine:
# 0.41381421028450543 ({'lr': 0.6853709965278467}, {'lr': 0.6853709965278467}, {'lr': 0.6853709965278467}, {'lr':
# 0.6853709965278467}, {'lr': 0.00038671272514924495}, {'lr': 0.00038671272514924495}, {'lr': 0.00038671272514924495},
# {'lr': 0.00038671272514924495}, {'lr': 0.0009226038802810455}, {'lr': 0.005086157146894423})
