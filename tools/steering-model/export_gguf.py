"""Writes a model file as GGUF, for llama.cpp's server and Ollama, and a Modelfile for Ollama.

    export_gguf.py MODEL OUT_FOLDER
"""
import os
import sys

import gguf

import files
import vocabulary as words

TEMPLATE = ("{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] + '<|end|>' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}")

# Ollama knows only templates of its own list by themselves.
MODELFILE = """FROM ./model.gguf
TEMPLATE \"\"\"{{ range .Messages }}<|{{ .Role }}|>{{ .Content }}<|end|>{{ end }}<|assistant|>\"\"\"
PARAMETER stop <|end|>
PARAMETER temperature 0
"""


def token_kind(id):
    if id == words.UNKNOWN:
        return gguf.TokenType.UNKNOWN
    if id < words.FIRST_BYTE:
        return gguf.TokenType.CONTROL
    return gguf.TokenType.BYTE if id < words.FIRST_PIECE else gguf.TokenType.NORMAL


def export(path, folder):
    config, tokens, arrays = files.read_model(path)
    vocabulary = words.Vocabulary(tokens)
    writer = gguf.GGUFWriter(os.path.join(folder, "model.gguf"), "llama")
    writer.add_name("rudder steering model")
    writer.add_context_length(config["context"])
    writer.add_embedding_length(config["width"])
    writer.add_block_count(config["layers"])
    writer.add_feed_forward_length(config["hidden"])
    writer.add_head_count(config["heads"])
    writer.add_head_count_kv(config["kv_heads"])
    writer.add_rope_dimension_count(config["width"] // config["heads"])
    writer.add_rope_freq_base(config["rope_base"])
    writer.add_layer_norm_rms_eps(config["norm_eps"])
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token.encode() for token in tokens])
    writer.add_token_scores(vocabulary.scores())
    writer.add_token_types([token_kind(id) for id in range(len(tokens))])
    writer.add_unk_token_id(words.UNKNOWN)
    writer.add_bos_token_id(words.START)
    writer.add_eos_token_id(words.END)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    for name, array in arrays.items():
        writer.add_tensor(name, array.copy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with open(os.path.join(folder, "Modelfile"), "w", encoding="utf-8") as out:
        out.write(MODELFILE)


if __name__ == "__main__":
    export(sys.argv[1], sys.argv[2])
