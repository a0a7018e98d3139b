"""The pool of threads: every share is done once, whoever does it, and the pool outlives forks and does not outlive the process."""

import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tensorgrad as torch
from tensorgrad.backends import native
from tensorgrad.kernels import machine, pool
from tensorgrad.kernels.code import Code, address, module, parallel
from tensorgrad.settings import openblas

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pthreads")


@pytest.fixture(scope="module")
def count():
    """A kernel that adds 1 to numbers t, t + T, ... of an array: a share done twice, or by nobody, shows."""
    declared = {}
    code = Code("work", [("ptr", "table"), ("i64", "t"), ("i64", "T")], declared)
    n, numbers = code.load("%table", 1, "i64"), code.load("%table", 2, "ptr")
    with code.loop("%t", n, "%T") as place:
        code.store(code.plus(code.load(numbers, place, "i64"), 1), numbers, place, "i64")
    (run,) = machine.functions(module([code], [parallel("run", "work", declared, 2)], declared), ["run"])

    def call(numbers, shares):
        table = np.array([shares, len(numbers), address(numbers)])
        run(address(table))

    return call


def run(code, **environment):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout.strip()


@pytest.mark.parametrize("shares", [1, 2, 3, 8, 40])
def test_every_share_is_done_once(count, shares):
    numbers = np.zeros(997, np.int64)
    for n in range(300):
        count(numbers, shares)
        if n % 100 == 99:
            time.sleep(0.002)  # workers fall asleep
    assert (numbers == 300).all()


def test_jobs_of_several_threads_at_once(count):
    """One has the pool, the others do their shares alone; none mixes with another's."""
    arrays = [np.zeros(5000 + n, np.int64) for n in range(6)]

    def work(numbers):
        for _ in range(400):
            count(numbers, 4)

    threads = [threading.Thread(target=work, args=(a,)) for a in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((a == 400).all() for a in arrays)


def test_products_and_loops_of_several_threads_at_once(count):
    """OpenBLAS's shares wait for one another, so they must not meet a pool that is busy with something else."""
    a = np.random.default_rng(0).standard_normal((300, 300)).astype(np.float32)
    want, wrong, numbers = a.astype(float) @ a, [], [np.zeros(3000, np.int64) for _ in range(2)]

    def multiply():
        wrong.extend(n for n in range(60) if not np.allclose(a @ a, want, rtol=1e-3, atol=1e-3))

    def loops(numbers):
        for _ in range(2000):
            count(numbers, 3)

    threads = [threading.Thread(target=multiply) for _ in range(3)]
    threads += [threading.Thread(target=loops, args=(n,)) for n in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and all((n == 2000).all() for n in numbers)


def test_openblas_runs_its_shares_in_the_pool(count):
    """Its own threads take no time any more; with more shares than workers so far, workers are added."""
    if openblas("set_threads_callback_function") is None or machine.most_threads() == 1:
        pytest.skip("OpenBLAS without a way to lend it threads, or one core")
    program = """
import os
import numpy as np
import tensorgrad as torch
from tensorgrad.kernels import machine, pool
from tensorgrad.settings import openblas

def times():
    return {n: sum(map(int, open(f"/proc/self/task/{n}/stat").read().split()[13:15])) for n in os.listdir("/proc/self/task")}

openblas("set_num_threads")(3)
a = np.ones((700, 700))
a @ a
before = times()
pool.start(machine.engine())
right = all((a @ a == 700).all() for _ in range(60))
after = times()
print(right, [n for n in before if int(n) != os.getpid() and after[n] - before[n] > 2], len(after) - len(before))
"""
    if not os.path.isdir("/proc/self/task"):
        pytest.skip("no /proc")
    assert run(program) == "True [] 2"


def test_results_are_those_of_one_thread():
    x, before = torch.randn(300, 700), torch.get_num_threads()

    def results():
        def f(x):
            return (
                torch.softmax(x, 1),
                torch.nn.functional.gelu(x),
                torch.nn.functional.layer_norm(x, (700,)),
                x.exp() * 2,
            )

        with native.using(True):
            return *f(x), *torch.compile(f)(x)

    several = results()
    try:
        torch.set_num_threads(1)
        assert all(torch.equal(one, other) for one, other in zip(results(), several, strict=True))
    finally:
        torch.set_num_threads(before)


FORK = """
import os, threading
import numpy as np
import tensorgrad as torch

x = torch.randn(700, 700)
a = x.numpy()

def f():
    return [torch.nn.functional.gelu(x).sum().item(), x.softmax(1).sum().item(), np.sum(a @ a)]

want = f()
stop = threading.Event()

def keep():
    while not stop.is_set():
        torch.nn.functional.gelu(x)  # the pool is busy at the moment of many forks

thread = threading.Thread(target=keep)
thread.start()
bad = 0
for _ in range(20):
    child = os.fork()
    if child == 0:
        os._exit(0 if np.allclose(f(), want) else 1)
    bad += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
stop.set()
thread.join()
print(bad, np.allclose(f(), want))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forks_in_the_middle():
    assert run(FORK, TENSORGRAD_JIT="1") == "0 True"


@pytest.mark.parametrize("pause", [0, 0.05], ids=["awake", "asleep"])
def test_workers_do_not_keep_a_process(pause):
    code = f"""
import time
import tensorgrad as torch
x = torch.randn(1000, 1000)
torch.nn.functional.gelu(x); x @ x
time.sleep({pause})
print("end")
"""
    for _ in range(3):
        begin = time.monotonic()
        assert run(code, TENSORGRAD_JIT="1") == "end"
        assert time.monotonic() - begin < 60


def test_no_more_threads_than_asked_for():
    code = """
import os
import tensorgrad as torch
torch.set_num_threads(1)
x = torch.randn(1000, 1000)
before = len(os.listdir("/proc/self/task"))
torch.nn.functional.gelu(x); x.softmax(1); x @ x
print(len(os.listdir("/proc/self/task")) - before)
"""
    if not os.path.isdir("/proc/self/task"):
        pytest.skip("no /proc")
    assert run(code, TENSORGRAD_JIT="1") == "0"


def test_where_no_thread_can_be_started_the_caller_works():
    text = pool.text(0).replace("@pthread_create(ptr %handle", "@refused(ptr %handle")
    text = text.replace("declare i32 @pthread_create(ptr, ptr, ptr, ptr)",
                        "define internal i32 @refused(ptr %a, ptr %b, ptr %c, ptr %d) {\n  ret i32 11\n}")  # fmt: skip
    assert text.count("@refused(") == 2
    machine.engine()
    begin, _ = machine.functions(text, ["begin", "run"], keep=False)
    begin(None)
    seen, work = [], ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    _, start = machine.engine().functions(text, ["begin", "run"])
    start = ctypes.CFUNCTYPE(None, work, ctypes.c_void_p, ctypes.c_int64)(start)
    share = work(lambda table, t, T: seen.append((t, T)))
    for shares in (1, 2, 5):
        start(share, None, shares)
    assert seen == [(t, T) for T in (1, 2, 5) for t in range(T)]


@pytest.mark.parametrize("gap", [0, 0.001])
def test_short_jobs_are_done_with_workers_awake_or_asleep(count, gap):
    numbers = np.zeros(997, np.int64)
    for _ in range(100):
        count(numbers, 2 | pool.SHORT)
        time.sleep(gap)
    assert (numbers == 100).all()
    count(numbers, 1 | pool.SHORT)
    assert (numbers == 101).all()
