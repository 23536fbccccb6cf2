"""Programs in a fresh interpreter, for tests of what is imported when, and of the state of a whole process.

    assert run_python("import sys, wengert; print('scipy' in sys.modules)").stdout == "False\n"

A process that has imported NumPy, and nothing that NumPy does not import, waits for programs and forks for each: a
fork takes milliseconds, where a new interpreter with NumPy takes a tenth of a second. What a program needs from the
start of its interpreter (options, the seed of hashes, variables that NumPy or the system's libraries read) asks for
`subprocess`, as does a system without forks.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

SERVER = """
import os, sys
import numpy

def serve(request):
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.path[0] = ""
    status = 0
    try:
        exec(compile(request["code"], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    except SystemExit as exit:
        status = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)

for line in sys.stdin:
    child = os.fork()
    if not child:
        serve(eval(line))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@cache
def start_server() -> subprocess.Popen[str]:
    """The process that forks, one for each process of tests."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("WENGERT_")}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables
    )
    atexit.register(server.kill)
    return server


def run_python(code: str, *, check: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a program prints in a fresh interpreter, with these environment variables; an error if it fails."""
    environment = os.environ | variables
    if not hasattr(os, "fork"):
        words = [sys.executable, "-c", code]
        return subprocess.run(words, capture_output=True, text=True, check=check, env=environment)
    server = start_server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, name) for name in ("stdout", "stderr")}
        names = {name: str(file) for name, file in files.items()}
        request = {"code": code, "folder": os.getcwd(), "environment": dict(environment), **names}
        server.stdin.write(f"{request!r}\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
        done = subprocess.CompletedProcess("run_python", status, *[file.read_text() for file in files.values()])
    if check and status:
        raise AssertionError(f"The program ended with status {status}:\n{done.stderr}")
    return done
