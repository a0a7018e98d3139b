"""A progress bar for work that takes more than a moment. It writes text to stderr and nothing else.

On a terminal and in a notebook one line redraws itself; in a log (a file, a pipe) a plain line appears now and then.
"""

import math
import os
import shutil
import sys
import time
import weakref

from .page import number

_REDRAW_SECONDS = 0.1
_LOG_SECONDS = 10.0
_PACE_SECONDS = 3.0
_BAR_WIDTH = 24

_bars = []  # weak references to all bars, oldest first; `_open_bars` drops those closed or forgotten


class Progress:
    """Progress through `total` steps: iterate over it, or use it as a context manager and call `advance`.

    Made by `progress`, which says what the arguments mean.
    """

    def __init__(self, iterable=None, title="", *, total=None, file=None, after=1.0):
        if total is None and iterable is not None:
            try:
                total = len(iterable)
            except TypeError:
                total = None  # a generator: count, without an end in sight
        self.iterable, self.title, self.total, self.done = iterable, title, total, 0
        self.file = sys.stderr if file is None else file
        self.facts = ""
        self._redraws = _redraws(self.file)
        self._interval = _REDRAW_SECONDS if self._redraws else _LOG_SECONDS
        self._blocks = "━╸ " if _can_write("━╸", self.file) else "#> "
        self._began = time.perf_counter()
        self._next = self._began + after
        self._pace = None  # recent seconds a step: the first steps are often slower, and must not spoil the estimate
        self._measured = (self._began, 0)
        self._written = 0  # characters of the line on the screen
        self._shown = self._closed = False
        _bars.append(weakref.ref(self))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def __iter__(self):
        if self.iterable is None:
            raise TypeError(
                "this progress bar counts steps and has nothing to iterate over; pass an iterable to progress()"
            )
        try:
            for item in self.iterable:
                yield item
                self.advance()
        finally:
            self.close()

    def __len__(self):
        if self.total is None:
            raise TypeError("the length of this progress bar is not known")
        return self.total

    def advance(self, steps=1, **facts):
        """Count `steps` more as done; `facts` (loss=0.25) are shown at the end of the line.

        >>> with tensorgrad.show.progress(total=10) as bar:
        ...     bar.advance(4, loss=0.5)
        ...     bar.done
        4
        """
        self.done += steps
        if facts:
            self.facts = "  ".join(f"{name} {_brief(value)}" for name, value in facts.items())
        if time.perf_counter() >= self._next:
            self._show()

    def close(self):
        """Leave the last state on the screen, if anything was shown at all; further calls do nothing.

        >>> bar = tensorgrad.show.progress(total=2)
        >>> bar.close()
        """
        if self._closed:
            return
        outer = self._around()
        self._closed = True
        if self._shown and outer is None:
            self._write(self.line(), last=True)
        elif self._shown:
            self._write("")

    def line(self):
        """The line as it would be shown now.

        >>> tensorgrad.show.progress(total=3, title="training").line()
        'training   0%                          0/3'
        """
        elapsed = time.perf_counter() - self._began
        share = 0.0 if not self.total else min(1.0, self.done / self.total)
        head, count = [self.title] if self.title else [], f"{self.done:,}"
        if self.total is not None:
            head += [f"{math.floor(share * 100):3d}%", self._bar(share)]
            count += f"/{self.total:,}"
        parts = [" ".join([*head, count])]
        if self._closed or (self.total is not None and self.done >= self.total):
            parts.append(f"in {_clock(elapsed)}")
        elif self.total and self.done:
            pace = elapsed / self.done if self._pace is None else self._pace
            parts.append(f"{_clock(pace * (self.total - self.done))} left")
        elif self.done:
            parts.append(f"{self.done / max(elapsed, 1e-9):,.1f}/s")
        if self.facts:
            parts.append(self.facts)
        return "  ".join(parts)

    def _bar(self, share):
        full, head, empty = self._blocks
        filled = int(share * _BAR_WIDTH)
        return (full * filled + (head if filled < _BAR_WIDTH and self.done else "")).ljust(_BAR_WIDTH, empty)

    def _measure(self):
        """Follow the pace of the last few seconds."""
        now, (then, done) = time.perf_counter(), self._measured
        if self.done > done:
            pace = (now - then) / (self.done - done)
            kept = 0.0 if self._pace is None else math.exp((then - now) / _PACE_SECONDS)
            self._pace = kept * (self._pace or 0.0) + (1 - kept) * pace
            self._measured = (now, self.done)

    def _around(self):
        """The unfinished bar around this one, if there is one: an inner bar makes way for it when it ends."""
        bars = _open_bars()
        outer = [bar for bar in bars[: bars.index(self)] if bar.total is None or bar.done < bar.total]
        return outer[-1] if outer else None

    def _show(self):
        self._measure()
        self._next = time.perf_counter() + self._interval
        if self._closed:
            return
        outer = self._around()
        mine = _open_bars()[-1] is self if self._redraws else outer is None
        if not mine:
            return  # the line on a terminal belongs to the innermost bar; a log is told of the outermost only
        if not self._shown and outer is not None:
            self._written = outer._written
        self._shown = True
        self._write(self.line())

    def _write(self, text, last=False):
        if self._redraws:
            width = max(20, shutil.get_terminal_size().columns - 1)
            text = text[:width]
            padded = text.ljust(self._written)  # blanks over what a longer line left: works where escape codes do not
            self._written = len(text)
            text = f"\r{padded}" + ("\n" if last else "")
        else:
            text += "\n"
        try:
            self.file.write(text)
            self.file.flush()
        except (OSError, ValueError):  # stderr closed under us: the work goes on
            self._next = math.inf
            self._closed = True


def progress(iterable=None, title="", *, total=None, file=None, after=1.0):
    """Show progress while iterating, or while `advance` is called inside `with`; silent for work under a second.

    `total` is needed where `len(iterable)` is not known, `file` stands for stderr, `after` is the silence at first,
    in seconds.

    >>> sum(tensorgrad.show.progress([1, 2, 3], "adding"))
    6
    >>> with tensorgrad.show.progress(total=3, title="training") as bar:
    ...     for step in range(3):
    ...         bar.advance(loss=1 / (step + 1))
    """
    return Progress(iterable, title, total=total, file=file, after=after)


def _open_bars():
    """The bars that are neither closed nor forgotten, oldest first."""
    found = [bar for bar in (reference() for reference in _bars) if bar is not None and not bar._closed]
    _bars[:] = map(weakref.ref, found)
    return found


def _redraws(file):
    """True where writing a carriage return goes back to the start of the line."""
    if type(file).__module__.startswith("ipykernel"):
        return True
    try:
        return file.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):
        return False


def _can_write(text, file):
    try:
        text.encode(getattr(file, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _clock(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _brief(value):
    try:
        return f"{number(value):.4g}"
    except (TypeError, ValueError, RuntimeError):
        return str(value)
