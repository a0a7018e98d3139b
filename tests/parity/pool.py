"""Runs operations in worker processes, so that a crash or a hang costs one operation and not the run."""

import multiprocessing
import multiprocessing.connection
import resource
import time

import torch

from .harness import CHECKS, LIMITS, Failure, Score, check_name
from .subjects import Side

MEMORY = 16 << 30  # address space of a worker: a runaway allocation becomes a MemoryError


class Worker:
    """A forked process that scores the names it is sent: everything is imported already, so it starts at once."""

    context = multiprocessing.get_context("fork")

    def __init__(self, subject, options, others, check=check_name):
        self.pipe, end = self.context.Pipe()
        inherited = [worker.pipe for worker in others] + [self.pipe]
        self.process = self.context.Process(target=serve, args=(end, inherited, subject, options, check), daemon=True)
        self.process.start()
        end.close()
        self.name, self.deadline = None, None

    def send(self, name, timeout):
        self.name, self.deadline = name, time.monotonic() + timeout
        self.pipe.send(name)

    def stop(self):
        self.process.kill()
        self.process.join()
        self.pipe.close()


def serve(pipe, inherited, subject, options, check=check_name):
    for other in inherited:  # or the end of the parent would not be seen
        other.close()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    subject.module.set_num_threads(1)  # the workers share the cores
    while True:
        try:
            name = pipe.recv()
        except EOFError:
            return
        pipe.send(check(name, subject, **options))


def lost(name, kind, text, checks):
    score = Score(name)
    score.marks = dict.fromkeys(checks, "fail")
    score.failures = [Failure(check, "-", 0, name, kind, text) for check in checks]
    return score


def score_all(names, subject, workers=2, timeout=300.0, check=check_name, **options):
    """Yields the Score of each name as it is ready, by `check`; `options` are its own."""
    torch.set_num_threads(1)
    subject = subject if isinstance(subject, Side) else Side(subject)
    options = {"checks": CHECKS, "limits": LIMITS, **options}
    waiting, crew = list(reversed(names)), []
    try:
        while waiting or any(worker.name for worker in crew):
            while waiting and len(crew) < workers:
                crew.append(Worker(subject, options, crew, check))
            for worker in crew:
                if worker.name is None and waiting:
                    worker.send(waiting.pop(), timeout)
            busy = [worker for worker in crew if worker.name]
            soonest = min(worker.deadline for worker in busy) - time.monotonic()
            ready = multiprocessing.connection.wait([worker.pipe for worker in busy], max(0.0, soonest))
            for worker in busy:
                if worker.pipe in ready:
                    try:
                        yield worker.pipe.recv()
                        worker.name = None
                        continue
                    except (EOFError, ConnectionResetError):
                        worker.process.join()
                        told = "crash", f"the process ended with {worker.process.exitcode}"
                elif time.monotonic() >= worker.deadline:
                    told = "time", f"not done after {timeout:g} s"
                else:
                    continue
                yield lost(worker.name, *told, options["checks"])
                worker.stop()
                crew.remove(worker)
    finally:
        for worker in crew:
            worker.stop()
