"""Kernels that start at once: a pytest plugin for `make test`, which runs nbval.

Each worker keeps one process that has imported what pages import. A kernel is a fork of
it, with the folder and the environment that nbval gave it; messages and the comparison
of outputs are nbval's own. `python warm.py SOCKET FILE` stands for the kernel: it asks
for the fork, and passes signals on to it.

Of a figure nbval compares what it shows, not its pixels: only the page of the first
chapter draws them.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Thread

HERE = str(Path(__file__).resolve())


def pytest_configure(config):
    """Put our command in the place of the one that starts a kernel."""
    is_worker = hasattr(config, "workerinput")
    leads = config.getoption("numprocesses", None) and not is_worker
    if not config.getoption("nbval") or leads:
        return
    import ipykernel.kernelspec

    address = str(Path(tempfile.mkdtemp(prefix="grokbook-")) / "socket")
    keeper = subprocess.Popen([sys.executable, HERE, address], stdout=subprocess.PIPE)
    atexit.register(keeper.kill)
    keeper.stdout.readline()  # it is ready
    command = [sys.executable, "-I", "-S", HERE, address, "{connection_file}"]
    spec = {"argv": command, "display_name": "warm", "language": "python"}
    ipykernel.kernelspec.get_kernel_dict = lambda *_, **__: spec | {"metadata": {}}


def pytest_itemcollected(item):
    """What the machinery of kernels warns of is no matter of a page."""
    if item.path.suffix == ".ipynb":
        import pytest

        item.add_marker(pytest.mark.filterwarnings("ignore"))


def keep(address):
    """Import the libraries, then fork for everybody who asks."""
    import matplotlib_inline.backend_inline  # noqa: F401
    import scipy.stats  # noqa: F401
    import torch
    import torch._dynamo  # which the first optimizer imports, in more than a second
    from ipykernel import kernelapp

    from claimbook import claims, evidence, tables  # noqa: F401
    from claimbook.plots import picture

    torch.set_num_threads(1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a kernel here
    server = socket.socket(socket.AF_UNIX)
    server.bind(address)
    server.listen()
    print("ready", flush=True)
    while True:
        asked, _ = server.accept()
        told = json.loads(asked.makefile().readline())
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            server.close()
            os.setsid()
            Thread(target=end_with, args=[asked], daemon=True).start()
            os.chdir(told["folder"])
            os.environ.clear()
            os.environ.update(told["environment"])
            if Path(told["folder"]).name != "basics":
                picture.png_and_size = glance
            # errors alone, as where a page is executed: that a kernel talks over a port
            # of this machine is no matter of a page
            kernelapp.launch_new_instance(argv=["-f", told["file"], "--log-level=40"])
            os._exit(0)  # which closes the socket, and so tells who asked
        asked.sendall(f"{pid}\n".encode())
        asked.close()


def glance(figure, **_):
    """No pixels; ValueError where two names of a legend look the same.

    The legend of a panel speaks for that panel alone.
    """
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    for legend in filter(None, legends):
        seen = {}
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            name = text.get_text()
            if (other := seen.setdefault(look(handle), name)) != name:
                raise ValueError(f"'{other}' looks like '{name}'")
    return b"", (0, 0)


def look(handle):
    """What tells the entry of a legend from another."""
    from matplotlib.colors import to_rgba_array

    colour = "get_color" if hasattr(handle, "get_xdata") else "get_facecolor"
    every = colour, "get_linestyle", "get_marker", "get_markerfacecolor", "get_hatch"
    told = [getattr(handle, one, str)() for one in every]
    return to_rgba_array(told[0])[0].round(3).tobytes(), *map(str, told[1:])


def end_with(asked):
    """End a kernel when who asked for it is gone, however that came."""
    asked.recv(1)
    os._exit(0)


def ask(address, file):
    """Be the kernel for who started it: end with it, and pass signals on."""
    told = {"file": file, "folder": os.getcwd(), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(address)
        asked.sendall(f"{json.dumps(told)}\n".encode())
        answer = asked.makefile()
        pid = int(answer.readline())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda kind, _: os.kill(pid, kind))
        answer.read()  # until it has ended


if __name__ == "__main__":
    ask(*sys.argv[1:]) if len(sys.argv) > 2 else keep(sys.argv[1])
