"""GraphSAGE in NumPy: a loader needs neither PyTorch nor a network of ours.

python3 examples/python/sage_numpy.py PATH [EPOCHS]
"""

import sys

import numpy

import rudder


def mean(h, edges, destinations):
    """The mean of what each destination reads."""
    total = numpy.zeros((destinations, h.shape[1]), h.dtype)
    numpy.add.at(total, edges[1], h[edges[0]])
    degree = numpy.maximum(numpy.bincount(edges[1], minlength=destinations), 1).astype(h.dtype)[:, None]
    return total / degree, degree


def train_step(batch, weights, rate):
    """Two layers of ReLU([h, mean] W) and the cross entropy of the seeds; loss and right answers."""
    inputs, h = [], batch.x
    for number, weight in enumerate(weights):
        edges, _, destinations = rudder.layer(batch, number)
        average, degree = mean(h, edges, destinations)
        both = numpy.concatenate([h[:destinations], average], axis=1)
        inputs.append((h, edges, degree, both))
        h = both @ weight
        if number + 1 < len(weights):
            h = numpy.maximum(h, 0)
    seeds = numpy.arange(batch.batch_size)
    shares = numpy.exp(h - h.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    loss = -numpy.log(shares[seeds, batch.y] + 1e-9).sum()
    right = (shares.argmax(axis=1) == batch.y).sum()
    gradient = shares
    gradient[seeds, batch.y] -= 1
    gradient /= max(batch.batch_size, 1)
    for number in reversed(range(len(weights))):
        h, edges, degree, both = inputs[number]
        back = gradient @ weights[number].T
        weights[number] -= rate * (both.T @ gradient)
        width = h.shape[1]
        gradient = numpy.zeros_like(h)
        gradient[:len(back)] = back[:, :width]
        numpy.add.at(gradient, edges[0], (back[:, width:] / degree)[edges[1]])
        gradient *= h > 0  # of the ReLU that made h; nobody asks for the first layer's
    return loss, right


def main(path, epochs):
    loader = rudder.NeighborLoader(path, num_neighbors=[10, 5], seed=1, output="numpy")
    draws = numpy.random.default_rng(1)
    sizes = [loader.num_features, 32, loader.num_classes]
    weights = [draws.normal(0, (1 / a) ** 0.5, (2 * a, b)).astype(numpy.float32) for a, b in zip(sizes, sizes[1:])]
    for epoch in range(epochs):
        loss = right = seeds = 0
        for batch in loader:
            of_batch, right_of_batch = train_step(batch, weights, 0.1)
            loss, right, seeds = loss + of_batch, right + right_of_batch, seeds + batch.batch_size
        print(f"epoch {epoch + 1}: loss {loss / seeds:.4f}, accuracy {right / seeds:.4f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
