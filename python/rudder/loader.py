"""The loader: batches with their rows, fetched before they are asked for."""

import json
import os
import sys
import weakref

from . import _rudder
from ._errors import Error
from .batch import maker
from .dataset import Dataset

_loaders = weakref.WeakSet()


def drop_all():
    """Ends all loaders there are, in the background."""
    for loader in list(_loaders):
        loader._engine = None


_roles = {"train": "train", "valid": "valid", "val": "valid", "test": "test"}


def _fanout(num_neighbors):
    """In the order of ``--fanout``: the input side, which is the last hop, first."""
    try:
        if isinstance(num_neighbors, str):
            raise TypeError
        hops = [int(count) for count in num_neighbors]
    except (TypeError, ValueError):
        hops = []
    if not hops:
        raise Error(f"invalid num_neighbors: {num_neighbors!r}", "usage", "NeighborLoader",
                    "give a list of numbers, a hop each; -1 takes all neighbours")
    return hops[::-1]


def _type_fanout(path, num_neighbors):
    """Those of each type of edges, as ``--fanout`` and ``--type-fanout``."""
    types = Dataset(path).edge_types
    given = {name if isinstance(name, tuple) else (None, name, None): _fanout(hops)
             for name, hops in num_neighbors.items()}
    remedy = f"give a list for each of {', '.join(' '.join(name) for name in types)}" if types else "give one list"
    for name in given:
        if not any(name in (known, (None, known[1], None)) for known in types):
            raise Error(f"unknown type of edges in num_neighbors: {name[1] if name[0] is None else name!r}", "usage",
                        "NeighborLoader", remedy)
    of_types = [given.get(known, given.get((None, known[1], None))) for known in types]
    if None in of_types:
        raise Error(f"num_neighbors lacks {types[of_types.index(None)]!r}", "usage", "NeighborLoader", remedy)
    texts = (f"{known[1]}:{','.join(map(str, hops))}" for known, hops in zip(types, of_types))
    return {"fanout": [1] * len(of_types[0]), "type-fanout": ";".join(texts)}


def _role(path, input_nodes):
    """The role of the seeds; of ``(type, role)`` the type must be the one that has labels."""
    if isinstance(input_nodes, tuple) and len(input_nodes) == 2:
        kind, input_nodes = input_nodes
        labelled = Dataset(path).labelled_type
        if kind != labelled:
            raise Error(f"invalid input_nodes: the vertices of type {kind!r} have no labels", "usage", "NeighborLoader",
                        f"give {labelled!r}" if labelled else "give 'train', 'valid' or 'test'")
    if not isinstance(input_nodes, str) or input_nodes not in _roles:
        raise Error(f"invalid input_nodes: {input_nodes!r}", "usage", "NeighborLoader",
                    "give 'train', 'valid' or 'test'")
    return _roles[input_nodes]


class _Epoch:
    """The batches of one epoch of a loader. What is thrown while it waits, such as KeyboardInterrupt, takes nothing
    from it: the next batch is the one that was waited for."""

    def __init__(self, loader):
        self._loader = loader
        self._turn = None  # not begun
        self._left = 0  # steps
        self._waiting = []  # batches of a step that has come

    def __iter__(self):
        return self

    def __next__(self):
        loader = self._loader
        if loader is None:
            raise StopIteration
        if self._turn is None:
            self._turn = loader._begin_epoch()
            self._left = loader.steps_per_epoch
        if self._turn != loader._turn:
            raise Error("an epoch of this loader was begun while another was under way", "usage", "NeighborLoader",
                        "iterate over it once at a time, or make another loader")
        if not self._waiting:
            if self._left == 0:
                loader._open().pause()
                self._loader = None
                raise StopIteration
            self._waiting = loader._open().next()[::-1]
            self._left -= 1
        arrays = self._waiting.pop()
        loader._given = loader._parts - 1 - len(self._waiting)
        return loader._make(arrays)

    def close(self):
        """Leaves it: nothing more of it is drawn."""
        loader, self._loader = self._loader, None
        if loader is not None and self._turn is not None:
            loader._leave_epoch(self._turn)

    def __del__(self):
        self.close()


class NeighborLoader:
    """Mini-batches of sampled neighbours, as ``torch_geometric.loader.NeighborLoader`` gives them.

    Each ``iter()`` is the next epoch. A step has one batch per part that this process holds; all processes of a job
    yield equally many. With the same seed the batches are those that ``rudder train`` computes on. Of a graph of several types
    they are ``HeteroData``, or ``rudder.HeteroBatch``; ``num_features_dict`` has the width of each type.

    Parameters
    ----------
    path
        Parts (``rudder partition``), or a data set: it is divided into a part per process, in a folder beside it.
    num_neighbors
        Neighbours per vertex and hop, the seeds' own first: the reverse of ``--fanout``. -1: all. In a graph of several
        types they hold for each type of edges, or a dictionary has a list for each: by name, or by
        ``(source, name, destination)``.
    batch_size
        Seeds per part and step, at most. Default: about 20 steps per epoch.
    input_nodes
        ``'train'``, ``'valid'`` or ``'test'``: which vertices are seeds. In a graph of several types they are of the type that
        has labels, which may be named: ``('paper', 'train')``.
    shuffle
        Seeds are in another order in every epoch; else by ascending id.
    seed
        The same seed gives the same batches.
    policy, buffer, agent
        What is kept of rows that other machines own, how many (a share of the halo), and who steers it: as the options
        of ``rudder train``.
    precision, sampler, redraw
        As the options of ``rudder train``.
    epochs
        How often the loader will be iterated over; look-ahead ends there. Default: without end.
    floor
        The fewest rows that any policy could have fetched are counted, which takes time: ``stats()['floor']`` once the
        loader is closed.
    edge_ids
        Batches have ``e_id``: see ``Batch``. Every machine must hold the whole topology (the default where it fits).
    output
        ``'pyg'``, ``'torch'`` or ``'numpy'``. Default: the first of them that is installed.
    out, force
        A folder to keep what the loader does as a run, for ``rudder report`` and ``Run.open``: see ``note_loss``. Processes
        wait for each other in every step then. ``force`` replaces what lies there.
    options
        Further options of ``rudder train`` by their names, such as ``{'window': 8, 'in-flight': 3}``.
    """

    def __init__(self, path, num_neighbors, batch_size=None, input_nodes="train", shuffle=True, seed=0, policy=None,
                 buffer=None, agent=None, precision=None, sampler=None, redraw=None, *, epochs=None, floor=False,
                 edge_ids=False, output="auto", out=None, force=False, options=None, num_workers=0):
        self._begin(path, num_neighbors, batch_size, input_nodes, shuffle, seed, policy, buffer, agent, precision,
                    sampler, redraw, epochs, floor, edge_ids, output, out, force, options, num_workers)

    def _begin(self, path, num_neighbors, batch_size, input_nodes, shuffle, seed, policy, buffer, agent, precision,
               sampler, redraw, epochs, floor, edge_ids, output, out, force, options, num_workers):
        if num_workers != 0:
            raise Error(f"invalid num_workers: {num_workers}", "usage", "NeighborLoader",
                        "leave it out: batches are made ahead by threads of the loader, which forked workers would "
                        "not have")
        path = os.fspath(path)
        role = _role(path, input_nodes)
        settings = dict(options or {})
        given = {"batch": batch_size, "seed": seed, "policy": policy,
                 "buffer": buffer, "agent": agent, "precision": precision, "sampler": sampler, "redraw": redraw,
                 "epochs": epochs}
        settings.update({name: value for name, value in given.items() if value is not None})
        if isinstance(num_neighbors, dict):
            settings.update(_type_fanout(path, num_neighbors))
        else:
            settings["fanout"] = _fanout(num_neighbors)
        self._make = maker(output)
        try:
            text = json.dumps(settings)
        except TypeError as error:
            raise Error(f"invalid option: {error}", "usage", "NeighborLoader", "give numbers and texts") from error
        self._engine = _rudder.Engine(path, text, role, bool(shuffle), bool(floor), bool(edge_ids),
                                      "" if out is None else os.fspath(out), bool(force), list(sys.orig_argv))
        self.folder = None if out is None else os.fspath(out)
        facts = self._engine.facts()
        self.path = facts["path"]
        self.num_features = facts["num_features"]
        self.num_features_dict = facts["widths"]
        self.num_classes = facts["num_classes"]
        self.rank = facts["rank"]
        self.world_size = facts["world_size"]
        self.steps_per_epoch = facts["steps_per_epoch"]
        self._parts = facts["parts"]
        self._epochs = facts["epochs"]
        self._turn = 0
        self._given = None  # of the batches of a step, the one that was given last
        _loaders.add(self)

    def __len__(self):
        """Batches per epoch of this process."""
        return self.steps_per_epoch * self._parts

    def _open(self):
        if self._engine is None:
            raise Error("the loader is closed", "usage", "NeighborLoader", "make another one")
        return self._engine

    def __iter__(self):
        """The next epoch, which begins with its first batch. One that is left early is not drawn to its end."""
        self._open()
        return _Epoch(self)

    def _begin_epoch(self):
        """Its number; what is left of the epoch before is passed over."""
        engine = self._open()
        if engine.step % self.steps_per_epoch:
            engine.skip_epoch()
        if engine.step == self._epochs * self.steps_per_epoch:
            raise Error(f"all {self._epochs} epochs have been taken", "usage", "NeighborLoader",
                        "give more epochs, or none")
        self._turn += 1
        return self._turn

    def _leave_epoch(self, turn):
        if self._engine is not None and turn == self._turn:
            self._engine.leave_epoch()

    def note_loss(self, loss):
        """The loss of the batch that was given last, for the run folder: a step's is the mean over all parts."""
        if self._given is not None:
            self._open().note_loss(self._given, float(loss))

    def stats(self):
        """What this process has loaded so far: steps, rows, bytes, seconds, and the policy now."""
        return json.loads(self._open().stats())

    def close(self):
        """Ends the loader with all processes; without it that happens when nobody holds the loader any more."""
        if self._engine is not None:
            self._engine.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.close()

    def __reduce__(self):
        raise Error("a loader cannot be pickled", "usage", "NeighborLoader",
                    "make it in the process that uses it: it holds threads, connections and the place in its epoch")

    def __repr__(self):
        return (f"NeighborLoader({self.path!r}, steps_per_epoch={self.steps_per_epoch}, rank={self.rank} of "
                f"{self.world_size})")


class LinkNeighborLoader(NeighborLoader):
    """Mini-batches of links, as ``torch_geometric.loader.LinkNeighborLoader`` gives them: for those who learn which vertices
    are joined.

    The edges of the graph are divided into links for training, validation and test (80/10/10, by the seed) as
    ``rudder train --task link`` does it, and the batches for training are those that it computes on. Messages pass along
    training links alone, and never along those that the batch is asked about.

    Parameters
    ----------
    path, num_neighbors, seed, policy, buffer, agent, precision, sampler, redraw, epochs, floor, output, out, force, options
        As of ``NeighborLoader``.
    batch_size
        Links per part and step, at most.
    input_edges
        ``'train'``, ``'valid'`` or ``'test'``: which links are asked about. In a graph of several types ``(type, role)``, the
        type by its name or as ``(source, name, destination)``; its part of the batch has ``edge_label_index``.
    negatives
        Pairs that are drawn beside each link: ``'uniform:N'``, ``'degree:N'`` or ``'in-batch:N'``.
    """

    def __init__(self, path, num_neighbors, batch_size=None, input_edges="train", seed=0, negatives="uniform:1", policy=None,
                 buffer=None, agent=None, precision=None, sampler=None, redraw=None, *, epochs=None, floor=False,
                 output="auto", out=None, force=False, options=None, num_workers=0):
        options = dict(options or {}, task="link", negatives=negatives)
        if isinstance(input_edges, tuple) and len(input_edges) == 2:
            kind, input_edges = input_edges
            options["link-type"] = kind if isinstance(kind, str) else kind[1]
        if not isinstance(input_edges, str) or input_edges not in _roles:
            raise Error(f"invalid input_edges: {input_edges!r}", "usage", "LinkNeighborLoader",
                        "give 'train', 'valid' or 'test'")
        self._begin(path, num_neighbors, batch_size, input_edges, True, seed, policy, buffer, agent, precision, sampler,
                    redraw, epochs, floor, False, output, out, force, options, num_workers)

    def __repr__(self):
        return "Link" + super().__repr__()
