import subprocess
import sys

from benchmarks._watch import work_of


def test_a_process_that_sleeps_does_no_work_and_one_that_computes_does() -> None:
    code = "import sys; sys.stdin.readline(); print(sum(i * i for i in range(20_000_000)), flush=True); sys.stdin.readline()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as done:
        assert done.stdin is not None
        assert done.stdout is not None
        while work_of(done.pid).busy:  # until it has started up
            pass
        before = work_of(done.pid)
        assert work_of(done.pid) == before
        done.stdin.write("go\n")
        done.stdin.flush()
        done.stdout.readline()
        assert work_of(done.pid).ticks > before.ticks
        done.kill()


def test_the_work_of_a_child_counts() -> None:
    inner = "sum(i * i for i in range(20_000_000)); print(1, flush=True); input()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as done:
        assert done.stdout is not None
        done.stdout.readline()
        assert work_of(done.pid).ticks > 20
        done.kill()
