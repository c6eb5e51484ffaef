"""Hosts on one machine: network namespaces of Linux, each with a cable to one switch.

Nothing of the machine's own network is touched. What runs in a host sees its address, its own loopback and
the other hosts, and nothing else.
"""

import ctypes
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

NET = 0x40000000
"""What ``setns`` calls a network."""


def missing():
    """Why there can be no hosts here, as a sentence; nothing if there can."""
    if os.geteuid() != 0:
        return "hosts of one's own need root, because they are network namespaces"
    if shutil.which("ip") is None:
        return "hosts of one's own need ip, of the package iproute2"
    try:
        ip("netns", "add", probe := f"isogloss{os.getpid()}-probe")
    except subprocess.CalledProcessError as error:
        return f"network namespaces cannot be made here: {error.stderr.strip()}"
    ip("netns", "del", probe)
    return ""


def ip(*words):
    """Have ``ip`` do something."""
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True, text=True)


class Host:
    """A host: a thread that lives in its network, and whatever that thread starts.

    Parameters
    ----------
    switch : str
        The namespace with the switch.
    name : str
        The namespace of the host.
    address : str
        Its address.
    """

    def __init__(self, switch, name, address):
        self.switch, self.name, self.address = switch, name, address
        self.port = f"port{address.rpartition('.')[2]}"
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", switch, "link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("-n", switch, "link", "set", self.port, "master", "switch", "up")
        ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        self._inside = ThreadPoolExecutor(1, initializer=enter, initargs=(name,))

    def begin(self, function, *arguments, **options):
        """Call a function inside the host; gives its future."""
        return self._inside.submit(function, *arguments, **options)

    def do(self, function, *arguments, **options):
        """Call a function inside the host; gives what it gives."""
        return self.begin(function, *arguments, **options).result()

    def cut(self):
        """Cut its cable at the switch: what it sends is lost, and nobody is told."""
        ip("-n", self.switch, "link", "set", self.port, "down")

    def mend(self):
        """Put its cable back."""
        ip("-n", self.switch, "link", "set", self.port, "up")

    def close(self):
        """Take it away."""
        self._inside.shutdown(cancel_futures=True)
        ip("netns", "del", self.name)


@contextmanager
def network(*names):
    """Hosts of these names on one switch, for as long as the block takes."""
    mark = f"isogloss{os.getpid()}"
    switch, hosts = f"{mark}-switch", {}
    ip("netns", "add", switch)
    try:
        ip("-n", switch, "link", "add", "switch", "type", "bridge")
        ip("-n", switch, "link", "set", "switch", "up")
        for number, name in enumerate(names, 1):
            hosts[name] = Host(switch, f"{mark}-{name}", f"10.90.0.{number}")
        yield hosts
    finally:
        for host in hosts.values():
            host.close()
        ip("netns", "del", switch)


def enter(name):
    """Have the thread that calls this live in the network of a namespace."""
    library = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{name}", "rb") as place:
        if library.setns(place.fileno(), NET):
            raise OSError(ctypes.get_errno(), f"the network {name} cannot be entered")
