"""Time whole steps: PyTorch eager, tensorgrad eager and compiled, each in a process of its own, and where a compiled one goes.

    python benchmarks/compiled.py [--only mlp,gpt] [--rounds 3] [--threads 1]

The floor of a compiled step is its matrix products at the best rate that BLAS or our own reach in this run, plus the
bytes that its loops read and write at the rate of a copy of arrays as large as the second cache. The best of all steps
counts: what else runs on the machine makes steps slower, never faster.
"""

import argparse
import json
import os
import subprocess
import sys
import time

from steps import STEPS


def timed(step, seconds):
    """The best time of a step, in microseconds."""
    for _ in range(3):
        step()
    best, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def measure(contender, name, seconds, threads):
    """What one contender needs for one workload."""
    library, _, compiled = contender.partition("-")
    module = __import__(library)
    if threads:
        module.set_num_threads(threads)
        if library == "tensorgrad":
            from tensorgrad.kernels import machine

            machine.threads = lambda: threads
    module.manual_seed(0)
    start = time.perf_counter()
    step = STEPS[name](module)
    step = module.compile(step) if compiled else step
    step()
    found = {"first": time.perf_counter() - start, "us": timed(step, seconds)}
    if compiled:
        found.update(parts(step))
    return found


def parts(step):
    """Of a compiled step: microseconds in products, loops and Python functions, and the work and bytes of each kind."""
    from tensorgrad.compiler.explain import row
    from tensorgrad.kernels.schedule import Host, Loops, Product

    program = next(iter(step.programs.values()))[0].program
    steps = [s for s in program.plan.steps if not (type(s) is Loops and 0 in s.shape)]
    found = {"work": 0.0, "bytes": 0.0, "products": 0.0, "loops": 0.0, "python": 0.0, "arena": program.arena_size}
    names = {Loops: "loops", Product: "products", Host: "python"}
    for part, seconds in zip(steps, program.timed(20)):
        _, _, moved, work = row(part, program)
        found[names[type(part)]] += seconds * 1e6
        if type(part) is Product:
            found["work"] += work
        else:
            found["bytes"] += moved
    return found


def rates(threads):
    """(floating-point operations a second of the best matrix product, bytes a second of a copy within the cache)."""
    import numpy as np

    from tensorgrad.kernels import machine, product

    best, ways = 0.0, [np.matmul]
    if machine.available():
        machine.threads = lambda: threads or machine.most_threads()
        ways.append(product.multiply)
    for n in (384, 512, 768):
        a, b = np.ones((n, n), np.float32), np.ones((n, n), np.float32)
        for multiply in ways:
            best = max(best, 2 * n**3 / timed(lambda a=a, b=b, multiply=multiply: multiply(a, b), 0.3) * 1e6)
    x = np.ones(1 << 17, np.float32)
    y = np.empty_like(x)
    return best, 2 * x.nbytes / timed(lambda: np.copyto(y, x), 0.3) * 1e6


def in_own_process(*words, threads=0):
    environment = dict(os.environ)
    if threads:
        environment |= {
            "OPENBLAS_NUM_THREADS": str(threads),
            "OMP_NUM_THREADS": str(threads),
            "MKL_NUM_THREADS": str(threads),
        }
    command = [sys.executable, os.path.abspath(__file__), *map(str, words), "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(STEPS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.7)
    parser.add_argument("--threads", type=int, default=0, help="threads of all contenders; 0: as many as they take")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--rates", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.rates:
        print(json.dumps(rates(args.threads)))
        return
    if args.one:
        print(json.dumps(measure(*args.one, args.seconds, args.threads)))
        return
    flops, bandwidth = in_own_process("--rates", threads=args.threads)
    print(f"best matrix product {flops / 1e9:.0f} GFLOP/s, copy {bandwidth / 1e9:.0f} GB/s\n")
    print("| step | PyTorch | eager | compiled | floor | products | loops | Python functions | around | first call |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in args.only.split(","):
        best = {}
        for _ in range(args.rounds):
            for contender in ("torch", "tensorgrad", "tensorgrad-compiled"):
                got = in_own_process("--one", contender, name, "--seconds", args.seconds, threads=args.threads)
                if contender not in best or got["us"] < best[contender]["us"]:
                    best[contender] = got
        theirs, ours = best["torch"]["us"], best["tensorgrad-compiled"]
        floor = (ours["work"] / flops + ours["bytes"] / bandwidth) * 1e6 if not ours["python"] else None
        inside = [ours[k] for k in ("products", "loops", "python")]
        around = max(ours["us"] - sum(inside), 0)
        cells = [f"{theirs:.0f} us", f"{best['tensorgrad']['us'] / theirs:.2f}", f"{ours['us'] / theirs:.2f}",
                 "" if floor is None else f"{floor / theirs:.2f}", *[f"{t:.0f} us" for t in (*inside, around)],
                 f"{ours['first']:.2f} s"]  # fmt: skip
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
