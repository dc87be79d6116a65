"""Real Ray clusters on this machine, for tests."""

import gc
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def ray_cluster(*cpus: int, **resources: float) -> Iterator[Any]:
    """A Ray of several raylets, the first of which is the head; this process is connected to it.

    Args:
        cpus: of each raylet.
        resources: of the head, by name.
    """
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray
        from ray.cluster_utils import Cluster

        head = {"num_cpus": cpus[0], "resources": resources, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        for more in cpus[1:]:
            cluster.add_node(num_cpus=more)
        ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
    try:
        yield cluster
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.shutdown()
            cluster.shutdown()
            gc.collect()  # what Ray leaves open must not be found in another test
