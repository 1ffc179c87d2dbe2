"""Makes a tiny model file with random weights, which is enough to speak the protocol.

    make_model.py TEXT OUT

The vocabulary is single bytes and the pieces that are most frequent in TEXT (a prompt), so that
prompts do not become long.
"""
import collections
import sys

import gguf
import numpy as np

LAYERS, WIDTH, HEADS, HIDDEN, CONTEXT, MERGES = 2, 64, 4, 128, 16384, 700


def frequent_pieces(text):
    """Pairs that occur most often, merged one after the other."""
    words = [list("\u2581" + word) for word in text.replace("\n", " \n ").split(" ") if word]
    pieces = []
    for _ in range(MERGES):
        pairs = collections.Counter(p for word in words for p in zip(word, word[1:]))
        if not pairs:
            break
        (left, right), count = pairs.most_common(1)[0]
        if count < 2:
            break
        pieces.append(left + right)
        for word in words:
            i = 0
            while i + 1 < len(word):
                if word[i] == left and word[i + 1] == right:
                    word[i : i + 2] = [left + right]
                i += 1
    return pieces


def main(text_file, out):
    text = open(text_file, encoding="utf-8").read()
    kind = gguf.TokenType
    tokens = [(b"<unk>", 0.0, kind.UNKNOWN), (b"<s>", 0.0, kind.CONTROL), (b"</s>", 0.0, kind.CONTROL)]
    tokens += [(b"<0x%02X>" % i, 0.0, kind.BYTE) for i in range(256)]
    # Printable characters come as tokens of their own, too: merges start from them.
    singles = [chr(c) for c in range(33, 127)] + ["\u2581"]
    pieces = frequent_pieces(text)
    for rank, piece in enumerate(dict.fromkeys(pieces + singles)):
        tokens.append((piece.encode(), -float(rank + 1), kind.NORMAL))

    writer = gguf.GGUFWriter(out, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([t for t, _, _ in tokens])
    writer.add_token_scores([s for _, s, _ in tokens])
    writer.add_token_types([k for _, _, k in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)

    random = np.random.default_rng(1)

    def weights(name, *shape):
        writer.add_tensor(name, (random.standard_normal(shape) * 0.05).astype(np.float32))

    def ones(name):
        writer.add_tensor(name, np.ones(WIDTH, dtype=np.float32))

    weights("token_embd.weight", len(tokens), WIDTH)
    weights("output.weight", len(tokens), WIDTH)
    ones("output_norm.weight")
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        ones(block + "attn_norm.weight")
        ones(block + "ffn_norm.weight")
        for part in ("q", "k", "v", "output"):
            weights(f"{block}attn_{part}.weight", WIDTH, WIDTH)
        weights(block + "ffn_gate.weight", HIDDEN, WIDTH)
        weights(block + "ffn_up.weight", HIDDEN, WIDTH)
        weights(block + "ffn_down.weight", WIDTH, HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main(sys.argv[1], sys.argv[2])
