"""DGL's binary files: dictionaries of tensors, and graphs. Read without DGL."""

import os
import struct

from ._errors import Error

_tensors = 0xDD5A9FBE3FA2443F
_array = 0xDD5E40F096B4A13F
_file = 0xDD2E4FF046B4A13F
_graph = 0xDD589FBE35224ABF
_meta_graph = 0xDD3C5FFE20046ABF
_relation = 0xDD2E60F0F6B4A127
_csr = 0xDD6CD31205DFF127
_coo = 0xDD61FFD305DFF127

_coo_code, _csr_code, _csc_code = 1, 2, 4
_header_bytes = 4096
_most_items = 1 << 20


class _Reader:
    """A file from its beginning on; what is not as it should be is an input Error that names it."""

    def __init__(self, path):
        import numpy

        self.path = path
        try:
            size = os.path.getsize(path)
            self._bytes = numpy.memmap(path, numpy.uint8, "r") if size else numpy.empty(0, numpy.uint8)
        except OSError as error:
            raise Error(error.strerror or str(error), "input", path, "give the folder that DGL has written") from error
        self._at = 0

    def fail(self, problem):
        raise Error(problem, "input", f"{self.path}, byte {self._at}", "write the partition again with DGL")

    def seek(self, at):
        self._at = at

    def bytes(self, count):
        if count < 0 or count > len(self._bytes) - self._at:
            self.fail("the file is cut short")
        piece = self._bytes[self._at:self._at + count]
        self._at += count
        return piece

    def number(self, kind="Q"):
        return struct.unpack("<" + kind, self.bytes(struct.calcsize("<" + kind)).tobytes())[0]

    def expect(self, magic, what):
        if self.number() != magic:
            self.fail(f"invalid {what}: another beginning")

    def count(self, what):
        count = self.number()
        if count > _most_items:
            self.fail(f"invalid number of {what}: {count}")
        return count

    def text(self):
        return self.bytes(self.number()).tobytes().decode("utf-8", "replace")

    def texts(self):
        return [self.text() for _ in range(self.count("names"))]

    def array(self):
        """One tensor, as it lies in the file."""
        import numpy

        self.expect(_array, "array")
        self.number()  # reserved
        self.bytes(8)  # the device
        dimensions = self.number("i")
        code, bits, lanes = struct.unpack("<BBH", self.bytes(4).tobytes())
        kinds = {(0, 8): "i1", (0, 16): "i2", (0, 32): "i4", (0, 64): "i8", (1, 1): "u1", (1, 8): "u1", (1, 16): "u2",
                 (1, 32): "u4", (1, 64): "u8", (2, 16): "f2", (2, 32): "f4", (2, 64): "f8"}
        if (code, bits) not in kinds or lanes != 1:
            self.fail(f"invalid array: elements of code {code} with {bits} bits")
        if not 0 <= dimensions <= 8:
            self.fail(f"invalid array: {dimensions} dimensions")
        shape = [self.number("q") for _ in range(dimensions)]
        size = self.number("q")
        kind = numpy.dtype("<" + kinds[code, bits])
        count = 1
        for extent in shape:
            count *= extent
        if any(extent < 0 for extent in shape) or count * kind.itemsize != size:
            self.fail(f"invalid array: {size} bytes for a shape of {shape}")
        return self.bytes(size).view(kind).reshape(shape)

    def named(self):
        """Tensors by name."""
        return {self.text(): self.array() for _ in range(self.count("tensors"))}


def read_tensors(path):
    """The tensors by name of a file of ``dgl.data.utils.save_tensors``."""
    reader = _Reader(path)
    reader.expect(_tensors, "file of tensors")
    reader.number()
    return reader.named()


class Relation:
    """Edges of one type: ``source`` and ``destination``, in the order of their edge ids."""

    def __init__(self, source, destination):
        self.source = source
        self.destination = destination


class Graph:
    """A graph of a file: edges by type, and the tensors of vertices and edges by type and name."""

    def __init__(self, relations, node_tensors, edge_tensors, node_types, edge_types):
        self.relations = relations
        self.node_tensors = node_tensors
        self.edge_tensors = edge_tensors
        self.node_types = node_types
        self.edge_types = edge_types


def _compressed(reader):
    reader.expect(_csr, "compressed matrix")
    reader.number("q")
    reader.number("q")
    made = [reader.array() for _ in range(3)]
    reader.bytes(1)
    return made


def _coordinates(reader):
    reader.expect(_coo, "list of edges")
    reader.number("q")
    reader.number("q")
    made = [reader.array() for _ in range(3)]
    reader.bytes(2)
    return made


def _meta(reader):
    reader.expect(_meta_graph, "graph of types")
    _compressed(reader)


def _by_id(reader, rows, columns, ids):
    """Edges in the order of their ids; without ids they are in it."""
    import numpy

    if len(rows) != len(columns) or (len(ids) and len(ids) != len(rows)):
        reader.fail("invalid edges: arrays of different lengths")
    if not len(ids):
        return Relation(rows, columns)
    if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= len(ids)):
        reader.fail("invalid edges: an id that is too large")
    source, destination = numpy.empty_like(rows), numpy.empty_like(columns)
    source[ids] = rows
    destination[ids] = columns
    return Relation(source, destination)


def _expanded(reader, offsets, columns):
    """The row of each entry."""
    import numpy

    counts = numpy.diff(offsets)
    if not len(offsets) or int(offsets[0]) != 0 or (len(counts) and int(counts.min()) < 0) or int(offsets[-1]) != len(columns):
        reader.fail("invalid compressed matrix: offsets that do not fit")
    return numpy.repeat(numpy.arange(len(counts), dtype=columns.dtype), counts)


def _unit(reader):
    """One relation, which may lie there in several formats."""
    reader.expect(_relation, "relation")
    saved = reader.number("q")
    reader.number("q")
    formats = saved & 0xFFFFFFFF if saved >> 32 else {1: _coo_code, 2: _csr_code, 3: _csc_code}.get(saved, 0)
    relation = None
    if formats & _coo_code:
        _meta(reader)
        relation = _by_id(reader, *_coordinates(reader))
    if formats & _csr_code:
        _meta(reader)
        offsets, columns, ids = _compressed(reader)
        relation = relation or _by_id(reader, _expanded(reader, offsets, columns), columns, ids)
    if formats & _csc_code:
        _meta(reader)
        offsets, columns, ids = _compressed(reader)
        relation = relation or _by_id(reader, columns, _expanded(reader, offsets, columns), ids)
    if relation is None:
        reader.fail(f"invalid relation: format {saved}")
    return relation


def read_graph(path):
    """The first graph of a file of ``dgl.save_graphs``."""
    reader = _Reader(path)
    reader.expect(_file, "file of graphs")
    version, kind, graphs = reader.number(), reader.number(), reader.number()
    if (version, kind) != (2, 2) or graphs < 1:
        reader.fail(f"invalid file of graphs: version {version}, kind {kind}, {graphs} graphs")
    reader.seek(_header_bytes)
    reader.seek(reader.number())
    reader.expect(_graph, "graph")
    _meta(reader)
    relations = [_unit(reader) for _ in range(reader.count("relations"))]
    for _ in range(reader.count("types of vertices")):
        reader.number("q")
    node_tensors = [reader.named() for _ in range(reader.count("types of vertices"))]
    edge_tensors = [reader.named() for _ in range(reader.count("types of edges"))]
    node_types = reader.texts()
    return Graph(relations, node_tensors, edge_tensors, node_types, reader.texts())
