"""The transformer (llama's), on a plain dictionary of weights named as in GGUF."""
import dataclasses
import math

import torch
import torch.nn.functional as F


@dataclasses.dataclass(frozen=True)
class Config:
    layers: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    context: int
    vocabulary: int
    rope_base: float = 10000.0
    norm_eps: float = 1e-5

    @property
    def head(self):
        return self.width // self.heads


# layers, width, heads, kv_heads, hidden; named by millions of parameters with 1,700 pieces.
SIZES = {
    "0.3": (4, 64, 4, 2, 192),
    "1": (5, 128, 4, 2, 288),
    "2": (6, 160, 5, 5, 416),
    "5": (7, 256, 8, 4, 592),
}


def config_of(size, vocabulary, context=2048):
    if size not in SIZES:
        raise SystemExit(f"invalid size: {size}; give one of {', '.join(SIZES)}")
    return Config(*SIZES[size], context, vocabulary)


def shapes(c):
    """The name and shape of every tensor, in the order of the file."""
    keys = c.kv_heads * c.head
    named = {"token_embd.weight": (c.vocabulary, c.width), "output_norm.weight": (c.width,)}
    for i in range(c.layers):
        named |= {
            f"blk.{i}.attn_norm.weight": (c.width,),
            f"blk.{i}.attn_q.weight": (c.width, c.width),
            f"blk.{i}.attn_k.weight": (keys, c.width),
            f"blk.{i}.attn_v.weight": (keys, c.width),
            f"blk.{i}.attn_output.weight": (c.width, c.width),
            f"blk.{i}.ffn_norm.weight": (c.width,),
            f"blk.{i}.ffn_gate.weight": (c.hidden, c.width),
            f"blk.{i}.ffn_up.weight": (c.hidden, c.width),
            f"blk.{i}.ffn_down.weight": (c.width, c.hidden),
        }
    return named


def parameters(c):
    return sum(math.prod(shape) for shape in shapes(c).values())


def initial(c, seed):
    """Weights to begin with; what adds to the stream begins small."""
    random = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in shapes(c).items():
        if len(shape) == 1:
            weights[name] = torch.ones(shape)
            continue
        scale = 0.05 if name == "token_embd.weight" else shape[1] ** -0.5
        if name.endswith(("attn_output.weight", "ffn_down.weight")):
            scale /= math.sqrt(2 * c.layers)
        weights[name] = torch.randn(shape, generator=random) * scale
    return {name: w.requires_grad_() for name, w in weights.items()}


def norm(x, weight, eps):
    return F.rms_norm(x, weight.shape, weight, eps)


def turns(c, first, count):
    """Cosines and sines of the rotary positions first, first + 1, ..."""
    speeds = c.rope_base ** (-torch.arange(0, c.head, 2, dtype=torch.float64) / c.head)
    angles = torch.arange(first, first + count, dtype=torch.float64)[:, None] * speeds
    return angles.cos().float(), angles.sin().float()


def rotate(x, cos, sin):
    """Turns neighbouring pairs of numbers; x is [batch, heads, tokens, head]."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


def attention(c, weights, block, x, past, place, mask):
    """One layer's attention; past: keys and values of what stands before, of one row for all of the batch."""
    rows, tokens, _ = x.shape

    def heads(name, count):
        return F.linear(x, weights[f"{block}{name}.weight"]).view(rows, tokens, count, c.head).transpose(1, 2)

    q = rotate(heads("attn_q", c.heads), *place)
    k, v = rotate(heads("attn_k", c.kv_heads), *place), heads("attn_v", c.kv_heads)
    present = (k, v)
    if past is not None:
        k = torch.cat((past[0].expand(rows, -1, -1, -1), k), dim=2)
        v = torch.cat((past[1].expand(rows, -1, -1, -1), v), dim=2)
    group = c.heads // c.kv_heads
    if group > 1:
        k, v = (t[:, :, None].expand(-1, -1, group, -1, -1).flatten(1, 2) for t in (k, v))
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return F.linear(y.transpose(1, 2).reshape(rows, tokens, c.width), weights[f"{block}attn_output.weight"]), present


def forward(c, weights, tokens, past=None, place=None, mask=None):
    """The last layer's normed states [batch, tokens, width], and the keys and values of all layers.

    past: what an earlier call on one row returned; it stands before every row of this batch. place and mask: the turns of each token,
    and who sees whom, where tokens do not simply follow each other."""
    first = past[0][0].shape[2] if past else 0
    count = tokens.shape[1]
    if place is None:
        place = turns(c, first, count)
        mask = torch.ones(count, first + count, dtype=torch.bool).tril(first)
    x = F.embedding(tokens, weights["token_embd.weight"])
    kept = []
    for i in range(c.layers):
        block = f"blk.{i}."
        y, present = attention(c, weights, block, norm(x, weights[f"{block}attn_norm.weight"], c.norm_eps),
                               past[i] if past else None, place, mask)
        x = x + y
        kept.append(present)
        n = norm(x, weights[f"{block}ffn_norm.weight"], c.norm_eps)
        gate = F.silu(F.linear(n, weights[f"{block}ffn_gate.weight"]))
        x = x + F.linear(gate * F.linear(n, weights[f"{block}ffn_up.weight"]), weights[f"{block}ffn_down.weight"])
    return norm(x, weights["output_norm.weight"], c.norm_eps), kept


def logits(weights, states):
    return F.linear(states, weights["token_embd.weight"])
