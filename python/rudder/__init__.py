"""Batches of a graph on many machines, for a model and a loop of your own.

>>> import rudder
>>> loader = rudder.NeighborLoader("graph", num_neighbors=[25, 10], batch_size=1000)
>>> for batch in loader:
...     train(batch.x, batch.edge_index, batch.y)
"""

from . import _rudder
from ._errors import Error
from .batch import Batch, HeteroBatch, layer
from .dataset import Dataset
from .loader import LinkNeighborLoader, NeighborLoader
from .mpi import use_mpi
from .own import Answer, register_agent, register_policy
from .runs import ProgressBar, Run, compare, evaluate, predict, replay, train
from .weights import state_dict, write_state_dict

version = __version__ = _rudder.version

__all__ = ["Answer", "Batch", "Dataset", "Error", "HeteroBatch", "LinkNeighborLoader", "NeighborLoader", "ProgressBar", "Run", "compare",
           "evaluate", "layer", "predict", "register_agent", "register_policy", "replay", "state_dict", "train", "use_mpi",
           "version", "write_state_dict"]
