"""The model file: safetensors with our words in its header, and the checksum of its data."""
import json
import struct

import numpy as np
import xxhash

FORMAT, VERSION = "rudder-steering-model", "1"
BLOCK = 4 << 20


def checksum(data):
    """array_checksum of include/rudder/core/checksum.hpp: XXH3 of the XXH3s of 4 MiB blocks, in hex."""
    blocks = [xxhash.xxh3_64_intdigest(data[at : at + BLOCK]) for at in range(0, len(data), BLOCK)]
    return f"{xxhash.xxh3_64_intdigest(struct.pack(f'<{len(blocks)}Q', *blocks)):016x}"


def header_checksum(words):
    """Of what the header says of the model."""
    text = words["config"] + "\n" + words["tokens"]
    return f"{xxhash.xxh3_64_intdigest(text.encode()):016x}"


def to_bfloat16(array):
    """The upper halves of 32-bit floats, rounded to the nearest, ties to even."""
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bfloat16(halves):
    return (halves.astype(np.uint32) << 16).view(np.float32)


def write_model(path, config, tokens, arrays):
    """Writes a model: config as a dictionary, the pieces, and 32-bit arrays by name, as bfloat16."""
    header, data = {}, b""
    for name, array in arrays.items():
        part = to_bfloat16(array).tobytes()
        header[name] = {"dtype": "BF16", "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    words = {"config": json.dumps(config), "tokens": json.dumps(tokens, ensure_ascii=False)}
    header["__metadata__"] = {"format": FORMAT, "version": VERSION, **words, "checksum": checksum(data),
                              "header_checksum": header_checksum(words)}
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


def read_model(path):
    """The config, the pieces, and the arrays as 32-bit floats."""
    with open(path, "rb") as file:
        content = file.read()
    size = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8 : 8 + size]), content[8 + size :]
    words = header.pop("__metadata__")
    if words.get("format") != FORMAT or words.get("version") != VERSION:
        raise SystemExit(f"invalid model file: {path} has another format or version than {FORMAT} {VERSION}")
    own = header_checksum(words)
    if checksum(data) != words["checksum"] or words.get("header_checksum", own) != own:
        raise SystemExit(f"invalid model file: the checksum of {path} does not fit; make the file again")
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        kinds = {"BF16": np.uint16, "F32": np.float32}
        raw = np.frombuffer(data[begin:end], dtype=kinds[entry["dtype"]])
        values = from_bfloat16(raw) if entry["dtype"] == "BF16" else raw
        arrays[name] = values.reshape(entry["shape"])
    return json.loads(words["config"]), json.loads(words["tokens"]), arrays
