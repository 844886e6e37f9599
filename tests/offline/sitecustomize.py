"""Python loads this at start (its folder is on ``PYTHONPATH``): no test reaches past this machine.

An audit hook sees every connection, whichever library opens it, and needs no import of its own, so that the programs
that tests start are watched at no cost to their start.
"""

import sys

LOCAL = frozenset({"127.0.0.1", "::1", "localhost", "", None})
NAME_LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})
SENDING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})

refused: list[str] = []
"""What was refused in this process: libraries swallow errors, the fixture that reads this does not."""


class OutsideError(RuntimeError):
    """A test tried to reach an address that is not this machine's."""


def stay_inside(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse name look-ups and connections but to the loopback addresses; Unix sockets pass."""
    if event in SENDING:
        address = arguments[1]
        if not isinstance(address, tuple) or not isinstance(address[0], str):
            return
        host = address[0]
    elif event in NAME_LOOKUPS:
        host = arguments[0]
        if isinstance(host, bytes):
            host = host.decode("ascii", "replace")
    else:
        return
    if host not in LOCAL:
        refused.append(f"{event}: {host}")
        raise OutsideError(f"{event} to {host!r}: tests only talk to 127.0.0.1 and ::1")


sys.addaudithook(stay_inside)
