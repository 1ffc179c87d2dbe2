"""A server of DistDGL: holds one part, answers trainers. Its settings are in the environment (dgl_machine.py)."""
import os

import dgl.distributed

dgl.distributed.initialize(os.environ["DGL_IP_CONFIG"])
