import subprocess
import sys
import time

from benchmarks._watch import work_of

WORK = "sum(i * i for i in range(20_000_000))"


def started(code: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_process_that_sleeps_stands_still_and_one_that_computes_does_not() -> None:
    with started(f"print('ready', flush=True); input(); print({WORK}, flush=True); input()") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        before = work_of(process.pid)
        while before.busy or work_of(process.pid) != before:  # until it has gone to sleep
            time.sleep(0.05)
            before = work_of(process.pid)
        process.stdin.write("go\n")
        process.stdin.flush()
        process.stdout.readline()
        assert work_of(process.pid).ticks > before.ticks
        process.kill()


def test_the_work_of_a_child_counts() -> None:
    inner = f"{WORK}; print(1, flush=True); input()"
    with started(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])") as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert work_of(process.pid).ticks > 20
        process.kill()
