"""Tools that a server forks behave as real processes do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import served

BINARIES = Path(sys.executable).parent
INPUT = Path(__file__).resolve().parents[1] / "lit" / "inputs" / "softmax.mlir"


@pytest.fixture(scope="module")
def tools() -> served.Tools:
    return served.start(os.environ)


Outcome = tuple[int, str, str]


def outcome(command: list[str | Path], **options: object) -> Outcome:
    """Exit status, output, messages."""
    arguments: dict[str, object] = {
        "stdin": subprocess.DEVNULL,
        "capture_output": True,
        "text": True,
        "timeout": 60,
    }
    if "input" in options:
        del arguments["stdin"]
    done = subprocess.run(command, **{**arguments, **options})  # type: ignore[call-overload]
    return done.returncode, done.stdout, done.stderr


def both(tools: served.Tools, *command: str, **options: object) -> Outcome:
    """How a command ends, which is the same either way."""
    name, *arguments = command
    served_program = tools.python if name == "python" else tools.folder / name
    real = outcome([BINARIES / name, *arguments], **options)
    assert outcome([served_program, *arguments], **options) == real
    return real


def python(tools: served.Tools, code: str, *arguments: str, **options: object) -> Outcome:
    return both(tools, "python", "-c", dedent(code), *arguments, **options)


@pytest.mark.parametrize("tool", served.TOOLS)
def test_tools(tools: served.Tools, tool: str):
    status, output, _ = both(tools, tool, "--version")
    assert status == 0
    assert output


def test_input_and_output(tools: served.Tools):
    status, output, _ = both(tools, "npu-opt", "-", "--cse", input=INPUT.read_text())
    assert status == 0
    assert "func.func" in output


def test_a_mistake(tools: served.Tools):
    status, _, messages = both(tools, "npu-opt", str(INPUT), "--no-such-pass")
    assert status == 1
    assert "unknown option '--no-such-pass'" in messages


def test_empty_input(tools: served.Tools):
    assert python(tools, "import sys; print(repr(sys.stdin.read()))")[1] == "''\n"


def test_exit_status(tools: served.Tools):
    for argument, status in (("", 0), ("3", 3), ("257", 1), ("None", 0), ("'a message'", 1)):
        assert python(tools, f"import sys; sys.exit({argument})")[0] == status


def test_a_traceback_shows_the_program_alone(tools: served.Tools, tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text("def f():\n    raise ValueError('no')\nf()\n")
    status, _, messages = both(tools, "python", str(script))
    assert status == 1
    assert messages.startswith("Traceback (most recent call last):\n  File")
    assert messages.endswith("ValueError: no\n")


def test_arguments_directory_umask_and_environment(tools: served.Tools, tmp_path: Path):
    code = """
        import os, sys
        print(sys.argv, os.getcwd(), sys.path[0], os.environ["SOME"], sorted(os.environ), __name__, __file__)
        os.close(os.open("made", os.O_CREAT | os.O_WRONLY, 0o666))
        print(oct(os.stat("made").st_mode))
        os.remove("made")
        """
    script = tmp_path / "script.py"
    script.write_text(dedent(code))
    environment = {**os.environ, "SOME": "thing\nor = other"}
    options = {"cwd": tmp_path, "env": environment, "umask": 0o27}
    status, output, _ = both(tools, "python", str(script), "", "a b", "\udcff", **options)
    assert status == 0
    assert "thing\nor = other" in output
    assert "0o100640" in output


def test_modules(tools: served.Tools):
    assert both(tools, "python", "-m", "json.tool", input='{"a":1}')[1] == '{\n    "a": 1\n}\n'


def test_settings_of_python_get_a_process_of_their_own(tools: served.Tools):
    options = {"env": {**os.environ, "PYTHONHASHSEED": "1"}}
    assert python(tools, "print(hash('a'))", **options) == python(tools, "print(hash('a'))", **options)
    assert both(tools, "python", "-O", "-c", "assert False")[0] == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_command_that_dies(tools: served.Tools, number: signal.Signals):
    assert python(tools, f"import os; os.kill(os.getpid(), {number.value})")[0] == -number


def test_exit_handlers_threads_and_what_is_left_to_write(tools: served.Tools):
    code = """
        import atexit, os, sys, threading, time
        atexit.register(print, "at exit")
        threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()
        sys.stdout.write("main ")
        """
    assert python(tools, code)[:2] == (0, "main thread\nat exit\n")


@pytest.mark.parametrize(("unbuffered", "status"), [("", 120), ("1", 1)])
def test_the_reader_of_the_output_is_gone(unbuffered: str, status: int):
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    tools = served.start(environment)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        for program in (tools.python, BINARIES / "python"):
            command = [program, "-c", "print('a' * 10)"]
            done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, env=environment)
            assert done.returncode == status
            assert "BrokenPipeError" in done.stderr
    finally:
        os.close(writer)


def test_the_output_ends_with_the_command(tools: served.Tools):
    """A pipe from a command that closes its output has an end, although client and server go on."""
    code = "import os, sys; os.close(1); sys.stdin.read()"
    with subprocess.Popen(
        [tools.python, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_command(tools: served.Tools, number: signal.Signals):
    code = f"""
        import signal, sys
        def handle(number, frame):
            print("got", number)
            sys.exit(5)
        signal.signal({number.value}, handle)
        print("ready", flush=True)
        signal.pause()
        """
    command = [tools.python, "-c", dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.read() == f"got {number.value}\n"
    assert process.returncode == 5


def test_a_command_dies_with_its_client(tools: served.Tools):
    code = "import os, signal; print(os.getpid(), flush=True); signal.pause()"
    with subprocess.Popen([tools.python, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) != process.pid
        process.kill()
        assert process.stdout.read() == ""  # The end of the pipe: the command doesn't hold it any longer.


def test_the_server_dies_with_its_owner(tmp_path: Path):
    code = f"""
        import os, subprocess, sys
        sys.path.insert(0, {str(Path(served.__file__).parents[1])!r})
        import served
        tools = served.start(os.environ)
        subprocess.Popen([tools.python, "-c", "import signal; print('ready', flush=True); signal.pause()"])
        print(tools.folder.parent, flush=True)
        sys.stdin.read()
        """
    command = [sys.executable, "-c", dedent(code)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert (folder / "socket").exists()
        assert owner.stdout.readline() == "ready\n"
        owner.kill()
        assert owner.stdout.read() == ""  # Neither server nor command is there to hold the pipe.
    assert not folder.exists()
