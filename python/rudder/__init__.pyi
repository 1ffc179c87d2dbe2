"""What the package offers, for type checkers; a test holds it to what there is."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

_Path = str | os.PathLike[str]
_Array = Any  # of NumPy, a tensor, or whatever numpy.asarray takes
_Arrays = _Array | dict[Any, _Array]  # of one type, or by type
_Fanout = Sequence[int] | Mapping[Any, Sequence[int]]  # of all types of edges, or by type
_Frame = Any  # a pandas.DataFrame where pandas is installed, else columns by name
_Names = str | Sequence[str]

version: str
__version__: str

class Error(Exception):
    problem: str
    kind: str
    where: str
    remedy: str
    def __init__(self, problem: str, kind: str = "usage", where: str = "", remedy: str = "") -> None: ...

class Batch:
    x: Any
    y: Any
    edge_index: Any
    n_id: Any
    e_id: Any
    input_id: Any
    edge_label_index: Any
    edge_label: Any
    batch_size: int
    num_sampled_nodes: list[int]
    num_sampled_edges: list[int]
    def __init__(self, **values: Any) -> None: ...
    @property
    def num_nodes(self) -> int: ...

class HeteroBatch:
    def __init__(self, nodes: Mapping[str, Mapping[str, Any]],
                 edges: Mapping[tuple[str, str, str], Mapping[str, Any]]) -> None: ...
    @property
    def node_types(self) -> list[str]: ...
    @property
    def edge_types(self) -> list[tuple[str, str, str]]: ...
    @property
    def num_nodes(self) -> int: ...
    def __getitem__(self, name: str | tuple[str, str, str]) -> Any: ...
    def __getattr__(self, name: str) -> dict[Any, Any]: ...

def layer(batch: Any, number: int) -> tuple[Any, Any, Any]: ...

class Dataset:
    path: str
    num_nodes: int
    num_edges: int
    num_features: int
    num_classes: int
    targets: str
    split: dict[str, int]
    parts: int
    node_types: list[str]
    edge_types: list[tuple[str, str, str]]
    num_nodes_dict: dict[str, int]
    num_features_dict: dict[str, int]
    labelled_type: str | None
    def __init__(self, path: _Path) -> None: ...
    @classmethod
    def open(cls, path: _Path) -> Dataset: ...
    @classmethod
    def from_arrays(cls, path: _Path, edge_index: _Arrays, x: _Arrays | None = None, y: _Arrays | None = None, *,
                    train_mask: _Arrays | None = None, val_mask: _Arrays | None = None, test_mask: _Arrays | None = None,
                    edge_weight: _Arrays | None = None, num_nodes: int | dict[str, int] | None = None, directed: bool = False,
                    split: str | None = None, seed: int = 0, force: bool = False) -> Dataset: ...
    @classmethod
    def from_pyg(cls, path: _Path, data: Any, **options: Any) -> Dataset: ...
    @classmethod
    def from_pandas(cls, path: _Path, edges: Any, nodes: Any = None, *, source: str = "source", target: str = "target",
                    node: str = "id", features: Sequence[str] | None = None, label: str | None = None,
                    **options: Any) -> Dataset: ...
    @classmethod
    def from_dgl(cls, path: _Path, part_config: _Path, *, features: str | None = None, labels: str | None = None,
                 **options: Any) -> Dataset: ...
    def partition(self, parts: int, path: _Path | None = None, *, method: str | None = None, seed: int = 0,
                  force: bool = False) -> Dataset: ...
    def edge_index(self) -> Any: ...
    def original_ids(self) -> Any: ...

class NeighborLoader:
    path: str
    num_features: int
    num_features_dict: dict[str, int]
    num_classes: int
    rank: int
    world_size: int
    steps_per_epoch: int
    folder: str | None
    def __init__(self, path: _Path, num_neighbors: _Fanout, batch_size: int | None = None,
                 input_nodes: str | tuple[str, str] = "train",
                 shuffle: bool = True, seed: int = 0, policy: str | None = None, buffer: float | str | None = None,
                 agent: str | None = None, precision: str | None = None, sampler: str | None = None,
                 redraw: int | str | None = None, *, epochs: int | None = None, floor: bool = False,
                 edge_ids: bool = False, output: str = "auto", out: _Path | None = None, force: bool = False,
                 options: Mapping[str, Any] | None = None, num_workers: int = 0) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __enter__(self) -> NeighborLoader: ...
    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None: ...
    def note_loss(self, loss: Any) -> None: ...
    def stats(self) -> dict[str, Any]: ...
    def close(self) -> None: ...

class LinkNeighborLoader(NeighborLoader):
    def __init__(self, path: _Path, num_neighbors: Sequence[int], batch_size: int | None = None, input_edges: str = "train",
                 seed: int = 0, negatives: str = "uniform:1", policy: str | None = None,
                 buffer: float | str | None = None, agent: str | None = None, precision: str | None = None,
                 sampler: str | None = None, redraw: int | str | None = None, *, epochs: int | None = None,
                 floor: bool = False, output: str = "auto", out: _Path | None = None, force: bool = False,
                 options: Mapping[str, Any] | None = None, num_workers: int = 0) -> None: ...

class Answer:
    action: str | dict[str, Any] | None
    shadows: list[dict[str, Any]]
    note: str
    def __init__(self, action: str | Mapping[str, Any] | None = None, shadows: Sequence[Mapping[str, Any]] = (),
                 note: str = "") -> None: ...

def register_agent(name: str, agent: Callable[..., Any], *, interval: int = 1, decides: bool = False,
                   **parameters: float) -> None: ...
def register_policy(name: str, policy: Callable[..., Any], **parameters: float) -> None: ...

class Run:
    summary: dict[str, Any] | None
    folder: str | None
    interrupted: bool
    def __init__(self, summary: dict[str, Any] | None, folder: str | None, interrupted: bool,
                 epochs: list[dict[str, Any]] | None) -> None: ...
    @classmethod
    def open(cls, folder: _Path) -> Run: ...
    def epochs(self) -> _Frame: ...
    def steps(self) -> _Frame: ...
    def decisions(self) -> _Frame: ...
    def state_dict(self) -> dict[str, Any]: ...

class ProgressBar:
    def __init__(self, **options: Any) -> None: ...
    def on_step(self, done: int, steps: int, loss: float) -> None: ...
    def close(self) -> None: ...

def train(path: _Path, *, out: _Path | None = None, callbacks: Sequence[Any] = (), progress: bool | None = None,
          **options: Any) -> Run: ...
def evaluate(run: _Path, *, data: _Path | None = None, **options: Any) -> dict[str, Any] | None: ...
def predict(run: _Path, *, data: _Path | None = None, out: _Path | None = None, **options: Any) -> _Frame: ...
def replay(trace: _Path, *, policies: _Names | None = None, buffers: float | Sequence[float] | None = None,
           agents: _Names | None = None, **options: Any) -> _Frame: ...
def compare(path: _Path, *, policies: _Names | None = None, agents: _Names | None = None, out: _Path | None = None,
            **options: Any) -> _Frame: ...
def state_dict(run: _Path) -> dict[str, Any]: ...
def write_state_dict(state: Mapping[str, Any], like: _Path, out: _Path) -> None: ...
def use_mpi(communicator: Any = None) -> None: ...
