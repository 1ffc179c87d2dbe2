"""Runs several commands at a time, each on cores of its own, until a moment."""
import heapq
import itertools
import sys
import threading
import time


class Late(Exception):
    """There is no time for it."""


class Lanes:
    """Runs commands on disjoint cores, the most urgent first, until a moment."""

    def __init__(self, cores, per_run, end):
        count = max(1, len(cores) // per_run)
        self.lanes = [",".join(map(str, cores[i * per_run:(i + 1) * per_run])) for i in range(count)]
        self.begun = time.monotonic()
        self.end = end
        self.jobs = []
        self.order = itertools.count()
        self.change = threading.Condition()
        self.busy = 0
        self.failed = []
        self.skipped = []

    def add(self, urgency, name, work, seconds=0.0):
        """`work(lane)` is called on a thread; lower urgencies come first; `seconds`: what it is thought to take."""
        with self.change:
            heapq.heappush(self.jobs, (urgency, next(self.order), name, work, seconds))
            self.change.notify_all()

    def run(self):
        threads = [threading.Thread(target=self.serve, args=(lane,)) for lane in self.lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def serve(self, lane):
        while True:
            with self.change:
                while not self.jobs and self.busy:
                    self.change.wait()
                if not self.jobs:
                    self.change.notify_all()
                    return
                _, _, name, work, seconds = heapq.heappop(self.jobs)
                if time.monotonic() + (seconds() if callable(seconds) else seconds) > self.end:
                    self.skipped.append(name)
                    continue
                self.busy += 1
            begun = time.monotonic()
            try:
                work(lane)
                print(f"{begun - self.begun:6.1f} {time.monotonic() - begun:6.1f} s  [{lane}] {name}", file=sys.stderr, flush=True)
            except Late:
                self.skipped.append(name)
            except Exception as error:  # one run that fails does not take the others with it
                self.failed.append(f"{name}: {error}")
                print(f"failed: {name}: {error}", file=sys.stderr, flush=True)
            finally:
                with self.change:
                    self.busy -= 1
                    self.change.notify_all()
