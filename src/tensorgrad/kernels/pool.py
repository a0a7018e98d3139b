"""Threads that share compiled loops, and NumPy's matrix products, among the cores: started once, they wait for the next job.

A job is work(table, t, T) for t from 0 to T - 1. Its shares are taken one by one from a word in memory (number of the job, T,
next share), by the workers and by the caller itself: a worker that wakes late costs nothing, since the caller goes on with
what is left. A worker turns for a short time, so that it starts at once when jobs follow each other, and then sleeps. There is
one job at a time: whoever finds the pool in use, from another thread or from inside a share, does all shares alone.

OpenBLAS lets others run its shares. It has threads of its own, which would also turn while they wait, on the same cores; with
one pool for loops and products nothing is in the way. Its shares wait for one another, so there must be a worker for each.
"""

import ctypes
import os
import platform
import re
import sys

from tensorgrad.settings import openblas

NEAR = 20_000  # nanoseconds between jobs that follow each other
TURN, SHORT_TURN = 200_000, 20_000  # nanoseconds that a worker waits before it sleeps; beside other threads of BLAS
RUN = "tensorgrad_pool_run"  # what other modules call: RUN(work, table, T), or T | SHORT
SHORT = 1 << 14  # of a job that takes less time than it takes to wake a worker, some 30 us

TEXT = """
@lock = internal global [16 x i64] zeroinitializer, align 64   ; held by whoever has the pool
@mutex = internal global [16 x i64] zeroinitializer, align 64  ; of those who fall asleep
@woken = internal global [16 x i64] zeroinitializer, align 64
@word = internal global i64 0, align 64                        ; job << 32 | T << 16 | next share
@work = internal global ptr null, align 8
@table = internal global ptr null, align 8
@done = internal global i64 0, align 64
@asleep = internal global i64 0, align 64
@workers = internal global i64 0, align 8
@last = internal global i64 0, align 8                         ; when somebody has last done all shares alone

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_trylock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_yield()
DECLARE_PAUSE

; A pool without workers: at the beginning, and in the child of a fork, where the workers are gone.
define void @begin(ptr %unused) {
  %a = call i32 @pthread_mutex_init(ptr @lock, ptr null)
  %b = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %c = call i32 @pthread_cond_init(ptr @woken, ptr null)
  store i64 0, ptr @word
  store i64 0, ptr @asleep
  store i64 0, ptr @workers
  ret void
}

; Nanoseconds of a clock.
define internal i64 @now() {
  %time = alloca [2 x i64]
  %r = call i32 @clock_gettime(i32 CLOCK, ptr %time)
  %s = load i64, ptr %time
  %p = getelementptr i64, ptr %time, i64 1
  %n = load i64, ptr %p
  %m = mul i64 %s, 1000000000
  %t = add i64 %m, %n
  ret i64 %t
}

; Whether a share is left to take.
define internal i1 @open(i64 %word) alwaysinline {
  %next = and i64 %word, 65535
  %shifted = lshr i64 %word, 16
  %count = and i64 %shifted, 65535
  %left = icmp ult i64 %next, %count
  ret i1 %left
}

; Take one share and do it; false if none is left. What is read of a job counts only if the word is still the same after it.
define internal i1 @share() {
entry:
  br label %look
look:
  %seen = load atomic i64, ptr @word acquire, align 8
  %left = call i1 @open(i64 %seen)
  br i1 %left, label %take, label %none
take:
  %do = load atomic ptr, ptr @work monotonic, align 8
  %with = load atomic ptr, ptr @table monotonic, align 8
  %after = add i64 %seen, 1
  %pair = cmpxchg ptr @word, i64 %seen, i64 %after acq_rel monotonic
  %mine = extractvalue { i64, i1 } %pair, 1
  br i1 %mine, label %act, label %look
act:
  %t = and i64 %seen, 65535
  %shifted = lshr i64 %seen, 16
  %count = and i64 %shifted, 65535
  call void %do(ptr %with, i64 %t, i64 %count)
  %old = atomicrmw add ptr @done, i64 1 release
  ret i1 true
none:
  ret i1 false
}

; A moment of waiting; true once it has been long.
define internal i1 @moment(i64 %turn, i64 %since) {
entry:
  CALL_PAUSE
  %part = and i64 %turn, 7
  %often = icmp eq i64 %part, 7
  br i1 %often, label %look, label %short
look:
  %now = call i64 @now()
  %passed = sub i64 %now, %since
  %long = icmp sgt i64 %passed, TURN
  ret i1 %long
short:
  ret i1 false
}

define internal ptr @worker(ptr %unused) {
entry:
  br label %fresh
fresh:
  %job = load atomic i64, ptr @word monotonic, align 8
  %did = call i1 @share()
  %since = call i64 @now()
  br label %look
look:
  %turn = phi i64 [ 0, %fresh ], [ %turns, %idle ]
  %now = load atomic i64, ptr @word monotonic, align 8
  %same = icmp eq i64 %now, %job
  br i1 %same, label %idle, label %fresh
idle:
  %turns = add i64 %turn, 1
  %long = call i1 @moment(i64 %turn, i64 %since)
  br i1 %long, label %sleep, label %look
sleep:
  %r = call i32 @pthread_mutex_lock(ptr @mutex)
  %old = atomicrmw add ptr @asleep, i64 1 seq_cst
  %seen = load atomic i64, ptr @word seq_cst, align 8
  %left = call i1 @open(i64 %seen)
  br i1 %left, label %awake, label %rest
rest:
  %s = call i32 @pthread_cond_wait(ptr @woken, ptr @mutex)
  br label %awake
awake:
  %older = atomicrmw sub ptr @asleep, i64 1 seq_cst
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  %first = call i1 @share()
  %y = call i32 @sched_yield()  ; it may have woken on the core of the caller
  br label %fresh
}

; As many workers as a job of so many shares has use for; false if they cannot be started.
define internal i1 @enough(i64 %count) {
entry:
  %handle = alloca ptr
  br label %look
look:
  %there = load i64, ptr @workers
  %all = add i64 %there, 1
  %short = icmp slt i64 %all, %count
  br i1 %short, label %start, label %yes
start:
  %failed = call i32 @pthread_create(ptr %handle, ptr null, ptr @worker, ptr null)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %no, label %started
started:
  %thread = load ptr, ptr %handle
  %r = call i32 @pthread_detach(ptr %thread)
  store i64 %all, ptr @workers
  br label %look
yes:
  ret i1 true
no:
  ret i1 false
}

; A job of at least two shares, by whoever holds the lock.
define internal void @job(ptr %work, ptr %table, i64 %count) {
entry:
  store atomic ptr %work, ptr @work monotonic, align 8
  store atomic ptr %table, ptr @table monotonic, align 8
  store atomic i64 0, ptr @done monotonic, align 8
  %last = load atomic i64, ptr @word monotonic, align 8
  %number = lshr i64 %last, 32
  %next = add i64 %number, 1
  %high = shl i64 %next, 32
  %size = shl i64 %count, 16
  %both = or i64 %high, %size
  %word = or i64 %both, 1
  store atomic i64 %word, ptr @word seq_cst, align 8
  %asleep = load atomic i64, ptr @asleep seq_cst, align 8
  %workers = load i64, ptr @workers
  %awake = sub i64 %workers, %asleep
  %others = sub i64 %count, 1
  %missing = sub i64 %others, %awake
  %any = icmp sgt i64 %missing, 0
  br i1 %any, label %wake, label %own
wake:
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %signal
signal:
  %n = phi i64 [ %missing, %wake ], [ %m, %signal ]
  %s = call i32 @pthread_cond_signal(ptr @woken)
  %m = sub i64 %n, 1
  %more = icmp sgt i64 %m, 0
  br i1 %more, label %signal, label %up
up:
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %own
own:
  call void %work(ptr %table, i64 0, i64 %count)
  %mine = atomicrmw add ptr @done, i64 1 release
  br label %help
help:
  %did = call i1 @share()
  br i1 %did, label %help, label %finish
finish:
  %since = call i64 @now()
  br label %look
look:
  %turn = phi i64 [ 0, %finish ], [ %turns, %idle ], [ %turns, %yield ]
  %done = load atomic i64, ptr @done acquire, align 8
  %whole = icmp eq i64 %done, %count
  br i1 %whole, label %end, label %idle
idle:
  %turns = add i64 %turn, 1
  %long = call i1 @moment(i64 %turn, i64 %since)
  br i1 %long, label %yield, label %look
yield:
  %y = call i32 @sched_yield()
  br label %look
end:
  ret void
}

; A short job wakes nobody, unless one came just before it: then more are likely to follow.
define void @run(ptr %work, ptr %table, i64 %asked) {
entry:
  %count = and i64 %asked, COUNT
  %few = icmp slt i64 %count, 2
  br i1 %few, label %single, label %ask
single:
  call void %work(ptr %table, i64 0, i64 1)
  ret void
ask:
  %long = icmp eq i64 %asked, %count
  br i1 %long, label %try, label %look
look:
  %there = load atomic i64, ptr @workers monotonic, align 8
  %asleep = load atomic i64, ptr @asleep monotonic, align 8
  %awake = icmp sgt i64 %there, %asleep
  br i1 %awake, label %try, label %flow
flow:
  %now = call i64 @now()
  %last = load atomic i64, ptr @last monotonic, align 8
  %gap = sub i64 %now, %last
  %rare = icmp sgt i64 %gap, NEAR
  br i1 %rare, label %alone, label %try
try:
  %taken = call i32 @pthread_mutex_trylock(ptr @lock)
  %free = icmp eq i32 %taken, 0
  br i1 %free, label %shared, label %alone
shared:
  %all = call i1 @enough(i64 %count)
  call void @job(ptr %work, ptr %table, i64 %count)
  %u = call i32 @pthread_mutex_unlock(ptr @lock)
  ret void
alone:
  %t = phi i64 [ 0, %flow ], [ 0, %try ], [ %s, %alone ]
  call void %work(ptr %table, i64 %t, i64 %count)
  %s = add i64 %t, 1
  %more = icmp slt i64 %s, %count
  br i1 %more, label %alone, label %end
end:
  %after = call i64 @now()
  store atomic i64 %after, ptr @last monotonic, align 8
  ret void
}

; A share of a product: the table has OpenBLAS's function, its array of shares, the size of each and a number for all.
; The places that it keeps for threads are counted from the end here: its own threads, asleep, have those at the beginning.
define internal void @product(ptr %table, i64 %t, i64 %count) {
  %do = load ptr, ptr %table
  %p1 = getelementptr i64, ptr %table, i64 1
  %shares = load ptr, ptr %p1
  %p2 = getelementptr i64, ptr %table, i64 2
  %size = load i64, ptr %p2
  %p3 = getelementptr i64, ptr %table, i64 3
  %data = load i64, ptr %p3
  %number = trunc i64 %data to i32
  %far = mul i64 %t, %size
  %share = getelementptr i8, ptr %shares, i64 %far
  %place = sub i64 LAST_PLACE, %t
  %small = trunc i64 %place to i32
  call void %do(i32 %small, ptr %share, i32 %number)
  ret void
}

; What OpenBLAS calls. A product waits for the pool, and for workers if there are too few.
define void @products(i32 %unused, ptr %do, i32 %count, i64 %size, ptr %shares, i32 %data) {
entry:
  %table = alloca [4 x i64]
  store ptr %do, ptr %table
  %p1 = getelementptr i64, ptr %table, i64 1
  store ptr %shares, ptr %p1
  %p2 = getelementptr i64, ptr %table, i64 2
  store i64 %size, ptr %p2
  %p3 = getelementptr i64, ptr %table, i64 3
  %wide = sext i32 %data to i64
  store i64 %wide, ptr %p3
  %T = sext i32 %count to i64
  %few = icmp slt i64 %T, 2
  br i1 %few, label %single, label %lock
single:
  call void @product(ptr %table, i64 0, i64 1)
  ret void
lock:
  %l = call i32 @pthread_mutex_lock(ptr @lock)
  br label %start
start:
  %all = call i1 @enough(i64 %T)
  br i1 %all, label %shared, label %later
later:
  %y = call i32 @sched_yield()
  br label %start
shared:
  call void @job(ptr @product, ptr %table, i64 %T)
  %u = call i32 @pthread_mutex_unlock(ptr @lock)
  ret void
}
"""


def text(places):
    """The pool for this system and processor. `places`: how many threads OpenBLAS keeps places for, 0 if it stays apart."""
    clock = {"darwin": 6, "freebsd": 4}.get(sys.platform.rstrip("0123456789"), 1)  # CLOCK_MONOTONIC
    x86, arm = ("x86.sse2.pause", "", ""), ("aarch64.hint", "i32", "i32 1")
    pause = {"x86_64": x86, "amd64": x86, "aarch64": arm, "arm64": arm}.get(platform.machine().lower())
    words = {
        "DECLARE_PAUSE": f"declare void @llvm.{pause[0]}({pause[1]})" if pause else "",
        "CALL_PAUSE": f"call void @llvm.{pause[0]}({pause[2]})" if pause else "",
        "CLOCK": clock,
        "COUNT": SHORT - 1,
        "NEAR": NEAR,
        "TURN": TURN if places else SHORT_TURN,
        "LAST_PLACE": places - 1,
    }
    found = TEXT
    for word, value in words.items():
        found = found.replace(word, str(value))
    return found


def start(engine):
    """Make the pool of this process, and let compiled modules and OpenBLAS know it."""
    setter, config, count = (openblas(n) for n in ("set_threads_callback_function", "get_config", "get_num_threads"))
    places = 0
    if setter and config and count:
        config.restype = ctypes.c_char_p
        said = re.search(rb"MAX_THREADS=(\d+)", config())
        places = int(said[1]) if said and 2 * count() <= int(said[1]) else 0
    begin, run, products = engine.functions(text(places), ["begin", "run", "products"])
    begin = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(begin)
    begin(None)
    os.register_at_fork(after_in_child=lambda: begin(None))
    engine.binding.add_symbol(RUN, run)
    if places:
        setter.argtypes = [ctypes.c_void_p]
        setter(products)
