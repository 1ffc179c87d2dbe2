"""For type checkers; a test holds it to what there is."""

from collections.abc import Mapping
from typing import Any

import torch_geometric.data

from . import LinkNeighborLoader as LinkNeighborLoader
from . import NeighborLoader as NeighborLoader
from . import _Array, _Path

class FeatureStore(torch_geometric.data.FeatureStore):
    path: str
    node_type: str | None
    num_nodes: int
    num_features: int
    def __init__(self, path: _Path, node_type: str | None = None, *, policy: str = "lru", buffer: float | str | None = None,
                 precision: str | None = None, options: Mapping[str, Any] | None = None) -> None: ...
    def announce(self, ids: _Array) -> None: ...
    def stats(self) -> dict[str, Any]: ...
    def close(self) -> None: ...
    def get_all_tensor_attrs(self) -> list[torch_geometric.data.TensorAttr]: ...
    def __len__(self) -> int: ...

class GraphStore(torch_geometric.data.GraphStore):
    path: str
    edge_type: tuple[str, str, str] | None
    def __init__(self, path: _Path, edge_type: tuple[str, str, str] | None = None) -> None: ...
    def get_all_edge_attrs(self) -> list[torch_geometric.data.EdgeAttr]: ...
