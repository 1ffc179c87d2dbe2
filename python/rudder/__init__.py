"""Batches of a graph on many machines, for a model and a loop of your own.

>>> import rudder
>>> loader = rudder.NeighborLoader("graph", num_neighbors=[25, 10], batch_size=1000)
>>> for batch in loader:
...     train(batch.x, batch.edge_index, batch.y)
"""

from . import _rudder
from ._errors import Error
from .batch import Batch, layer
from .dataset import Dataset
from .loader import NeighborLoader

version = __version__ = _rudder.version

__all__ = ["Batch", "Dataset", "Error", "NeighborLoader", "layer", "version"]
