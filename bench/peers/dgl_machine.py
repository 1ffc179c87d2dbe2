"""One of DistDGL's machines on this one: a /dev/shm of its own, a server and a trainer.

Runs in a mount namespace of its own (unshare), by the system's Python:

    dgl_machine.py PYTHON MACHINE MACHINES FOLDER ADDRESSES PORT [options of dgl_trainer.py]

FOLDER is what dgl_parts.py wrote, ADDRESSES the file with an address and a port per machine, PORT that of the trainers'
process group.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    python, machine, machines, folder, addresses, port = sys.argv[1:7]
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=50%", "tmpfs", "/dev/shm"], check=True)
    common = dict(os.environ, DGL_DIST_MODE="distributed", DGL_IP_CONFIG=addresses, DGL_NUM_SERVER="1",
                  DGL_NUM_SAMPLER="0", DGL_NUM_CLIENT=machines, DGL_GRAPH_FORMAT="csc", DGL_GROUP_ID="0",
                  DGL_KEEP_ALIVE="0", DGL_CONF_PATH=os.path.join(folder, "graph.json"), OMP_NUM_THREADS="1",
                  TP_SOCKET_IFNAME="lo", GLOO_SOCKET_IFNAME="lo", PEER_MACHINE=machine, PYTHONUNBUFFERED="1")
    server = subprocess.Popen([python, os.path.join(HERE, "dgl_server.py")],
                              env=dict(common, DGL_ROLE="server", DGL_SERVER_ID=machine), stdout=subprocess.DEVNULL)
    try:
        trained = subprocess.run(
            [python, os.path.join(HERE, "dgl_trainer.py"), *sys.argv[7:]],
            env=dict(common, MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=machine, LOCAL_RANK="0",
                     WORLD_SIZE=machines, PEER_SERVER=str(server.pid)))
        try:
            server.wait(timeout=10)  # it ends when all trainers have
        except subprocess.TimeoutExpired:
            pass
    finally:
        server.kill()
        server.wait()
    sys.exit(trained.returncode)


main()
