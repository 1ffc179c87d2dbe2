"""For programs that use PyTorch Geometric: loaders under their own names, and stores."""

from .loader import LinkNeighborLoader, NeighborLoader

__all__ = ["FeatureStore", "GraphStore", "LinkNeighborLoader", "NeighborLoader"]


def __getattr__(name):
    """The stores, which need PyTorch Geometric, once they are asked for."""
    if name in ("FeatureStore", "GraphStore"):
        from . import stores

        return getattr(stores, name)
    raise AttributeError(f"module 'rudder.pyg' has no attribute '{name}'")
