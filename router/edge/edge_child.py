"""The process that holds the sockets of clients: `python -m cactus_actors.router.edge.edge_child FD PARENT`.

It exchanges messages with the router, PARENT, over the socket FD and ends with it. If it ends, its clients
reconnect: it holds no state that they or the router cannot give to the next one.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import select
import signal
import socket
import sys

from cactus_actors.process.parent_death import end_with_parent
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.router.edge.edge_link import EdgeLink
from cactus_actors.router.edge.edge_messages import BindFailed, BindSockets, ToEdge
from cactus_actors.router.edge.edge_server import EdgeServer
from cactus_actors.router.process.memory_limit import limit_memory, out_of_memory


def serve(link: EdgeLink[ToEdge]) -> None:
    """Serve the sockets that the router names, until its Close; raises EOFError once the router is gone."""
    bind_request = _first(link)
    try:
        server = EdgeServer(link, bind_request)
        link.put(server.bind())
    except ConfigurationInvalid as error:
        link.put(BindFailed(error.message))
        link.flush()
        return
    link.flush()
    limit_memory(bind_request.max_memory_bytes)
    server.run()
    server.close()


def _first(link: EdgeLink[ToEdge]) -> BindSockets:
    poll = select.poll()
    poll.register(link, select.POLLIN)
    while True:
        poll.poll()
        for message in link.receive():
            if isinstance(message, BindSockets):
                return message


def main() -> None:
    descriptor, parent = sys.argv[1:]
    end_with_parent(int(parent))
    faulthandler.enable()
    for signal_number in (signal.SIGINT, signal.SIGTERM):  # the router handles them
        signal.signal(signal_number, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    link: EdgeLink[ToEdge] = EdgeLink(socket.socket(fileno=int(descriptor)), ToEdge)
    try:
        serve(link)
    except EOFError:
        os._exit(0)  # immediately: the next router wants to bind the same ports
    except MemoryError:
        out_of_memory()


if __name__ == "__main__":
    main()
