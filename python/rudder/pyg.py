"""For programs that use PyTorch Geometric: the loader under its own name."""

from .loader import NeighborLoader

__all__ = ["NeighborLoader"]
