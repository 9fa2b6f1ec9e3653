# SPDX-License-Identifier: Apache-2.0
"""A prefork HTTP server as gunicorn is one: the master listens and forks, its workers accept and answer.

usage: prefork.py WORKERS
Says "port P", then "ready"; every answer is the worker's process id and the result of some work. At
SIGTERM the master ends its workers, each of which says how many requests it has answered.
"""

import os
import signal
import socket
import sys


def work(number):
    """About a millisecond of Python."""
    return sum(i * i % (number % 97 + 2) for i in range(4000))


def answer(connection):
    request = b""
    while b"\r\n\r\n" not in request:
        part = connection.recv(4096)
        if not part:
            return False
        request += part
    number = int(request.split(b" ", 2)[1].strip(b"/") or 0)
    body = b"%d %d\n" % (os.getpid(), work(number))
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body), body))
    return True


def serve(listener):
    """A worker: the end is asked for between two requests."""
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    listener.settimeout(0.1)
    answered = 0
    while not stopped:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        connection.settimeout(30)
        with connection:
            answered += answer(connection)
    os.write(1, b"worker %d answered %d\n" % (os.getpid(), answered))
    os._exit(0)


def main():
    workers = []
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    for _ in range(int(sys.argv[1])):
        pid = os.fork()
        if pid == 0:
            serve(listener)
        workers.append(pid)

    def end(*_):
        for pid in workers:
            os.kill(pid, signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    os.write(1, b"port %d\nworkers %s\nready\n" % (
        listener.getsockname()[1], " ".join(map(str, workers)).encode()))
    status = 0
    for pid in workers:
        status |= os.waitpid(pid, 0)[1]
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
