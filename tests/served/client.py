"""Has a command run by the server of `served.server`: stands in for the program of the same name.

It hands over its arguments, environment, working directory and standard streams, and ends as the command ends. It
starts for each command of a test, so it imports only what is built into Python: with `-IS`, that takes some 10 ms.
"""

import _signal
import _socket
import posix
import sys

SOCKET = "socket"
"""The server's socket, beside the folder with the links to this file."""

SERVER_GONE = 70


def request(name: str, arguments: list[str]) -> bytes:
    """What the server needs to know: name, umask, working directory, arguments, environment, each ended by a NUL."""
    umask = posix.umask(0o77)
    posix.umask(umask)
    fields = [name, str(umask), posix.getcwd(), str(len(arguments)), *arguments]
    encoded = [field.encode("utf-8", "surrogateescape") for field in fields]
    environment = [key + b"=" + value for key, value in posix.environ.items()]
    return b"".join(field + b"\0" for field in encoded + environment)


def main() -> None:
    here, _, name = sys.argv[0].rpartition("/")
    message = request(name, sys.argv[1:])
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(f"{here}/../{SOCKET}")
    for number in (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM):
        _signal.signal(number, lambda number, _: connection.send(bytes([number])))
    descriptors = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    message = len(message).to_bytes(8, "big") + message
    sent = connection.sendmsg([message], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
    connection.sendall(message[sent:])
    # Only the command holds the streams now: a reader of its output sees the end when it ends.
    for number in (0, 1):
        posix.close(number)
    answer = connection.recv(4)
    if len(answer) < 4:
        posix.write(2, f"{name}: the server of the tests' tools is gone\n".encode())
        posix._exit(SERVER_GONE)
    status = int.from_bytes(answer, "big", signed=True)
    if status < 0:  # Ended by a signal: so do we.
        if -status != _signal.SIGKILL:
            _signal.signal(-status, _signal.SIG_DFL)
        posix.kill(posix.getpid(), -status)
    posix._exit(status)


main()
