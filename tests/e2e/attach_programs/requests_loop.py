# SPDX-License-Identifier: Apache-2.0
"""A client that asks a server all the time and counts what it is answered."""

import collections
import threading
import time
import urllib.request


class Client:
    """As a context: threads that ask until it is left."""

    def __init__(self, port, threads=2, pause_s=0.005):
        self.url = "http://127.0.0.1:%d/" % port
        self.pause_s = pause_s
        self.answered = collections.Counter()  # by the first word of the answer
        self.request_count = 0
        self.errors = []
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._request_loop) for _ in range(threads)]

    def _request_loop(self):
        while not self.over.is_set():
            with self.lock:
                self.request_count += 1
                number = self.request_count
            try:
                with urllib.request.urlopen(self.url + str(number), timeout=600) as reply:
                    worker = reply.read().decode().split()[0]
                with self.lock:
                    self.answered[worker] += 1
            except OSError as error:
                self.errors.append(repr(error))
            time.sleep(self.pause_s)

    def total(self):
        with self.lock:
            return sum(self.answered.values())

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
