"""Forks for each command that a client passes: `server.py LISTENER ROOT`, started by `served.start`.

LISTENER is the number of a listening socket, ROOT the folder to remove at the end: when standard input ends.
"""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import selectors
import shutil
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass

PRELOADED = ("numpy", "onnx", "ml_dtypes", "safetensors.numpy", "filecheck.main", "rich.console")


@dataclass(frozen=True)
class Request:
    """A command to run."""

    name: str
    umask: int
    directory: bytes
    arguments: list[str]
    environment: dict[bytes, bytes]
    streams: list[int]
    """Descriptors of standard input, output and error."""


def main() -> None:
    """Serve until standard input ends; a fork leaves the loop and runs its command."""
    # For the commands: this module is gone when they run.
    import command

    preload()
    server = Server(socket.socket(fileno=int(sys.argv[1])))
    request = server.serve()
    server.close()
    if request is not None:
        command.run(request)
    shutil.rmtree(sys.argv[2], ignore_errors=True)


def preload() -> None:
    """Import what commands import: all of npu_mlir with the parts of xDSL that it takes, and libraries."""
    import npu_mlir

    for module in pkgutil.walk_packages(npu_mlir.__path__, "npu_mlir."):
        importlib.import_module(module.name)
    for name in PRELOADED:
        importlib.import_module(name)
    # What is there now is there to stay: the collector need not visit it, nor write to its pages in each fork.
    gc.collect()
    gc.freeze()


class Server:
    """Accepts commands, forks for each, and reports how they ended."""

    def __init__(self, listener: socket.socket):
        self.listener = listener
        self.ended, self.wake = os.pipe()
        """A pipe that gets a byte when a command has ended."""
        self.running: dict[int, socket.socket] = {}
        """The clients by the process that runs their commands."""
        self.selector = selectors.DefaultSelector()
        for source in (listener, sys.stdin, self.ended):
            self.selector.register(source, selectors.EVENT_READ)
        for descriptor in (self.ended, self.wake):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(self.wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # One from the terminal comes to all processes: the commands decide what to do, and they have to be reported.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def close(self) -> None:
        """Give back descriptors and signals; commands that still run, if it is the server that ends, are killed."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.selector.close()
        self.listener.close()
        for descriptor in (self.ended, self.wake):
            os.close(descriptor)
        for connection in self.running.values():
            connection.close()

    def serve(self) -> Request | None:
        """Serve until the input ends; in a fork, the command that it is to run."""
        while True:
            for key, _ in self.selector.select():
                source = key.fileobj
                if source is sys.stdin:
                    for process in self.running:
                        os.kill(process, signal.SIGKILL)
                    return None
                if source is self.listener:
                    request = self.accept()
                    if request is not None:
                        return request
                elif source == self.ended:
                    os.read(self.ended, 4096)
                    self.report_ended()
                elif isinstance(source, socket.socket):
                    self.pass_signals(source)

    def accept(self) -> Request | None:
        """Fork for a new command: the request in the fork, nothing in the server."""
        connection, _ = self.listener.accept()
        try:
            request = receive(connection)
        except (EOFError, ConnectionError):
            connection.close()
            return None
        process = os.fork()
        if process == 0:
            connection.close()
            return request
        for stream in request.streams:
            os.close(stream)
        self.running[process] = connection
        self.selector.register(connection, selectors.EVENT_READ)
        return None

    def report_ended(self) -> None:
        """Tell the clients of commands that have ended how they did, as `subprocess` has it: -9 for SIGKILL."""
        for process in list(self.running):
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                connection = self.running.pop(process)
                self.forget(connection)
                with suppress(ConnectionError):  # The client may have been killed.
                    connection.send(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
                connection.close()

    def pass_signals(self, connection: socket.socket) -> None:
        """Pass signals that a client got on to its command; kill the command if the client is gone."""
        try:
            numbers = connection.recv(16)
        except ConnectionError:
            numbers = b""
        if not numbers:
            self.forget(connection)
        for process, client in self.running.items():
            if client is connection:
                for number in numbers or [signal.SIGKILL]:
                    os.kill(process, number)

    def forget(self, connection: socket.socket) -> None:
        if connection in self.selector.get_map():
            self.selector.unregister(connection)


def receive(connection: socket.socket) -> Request:
    """Read a request as `client.request` writes it."""
    first, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    if len(streams) != 3:
        raise EOFError
    size, data = int.from_bytes(first[:8], "big"), first[8:]
    while len(data) < size:
        more = connection.recv(1 << 16)
        if not more:
            raise EOFError
        data += more
    name, umask, directory, count, *rest = data.split(b"\0")[:-1]
    arguments = [os.fsdecode(argument) for argument in rest[: int(count)]]
    environment = dict(item.split(b"=", 1) for item in rest[int(count) :])
    return Request(name.decode(), int(umask), directory, arguments, environment, streams)


if __name__ == "__main__":
    main()
