// A trained network on a graph in memory: neighbours and rows in, answers out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rudder/graph/features.hpp"
#include "rudder/graph/topology.hpp"
#include "rudder/graph/topology_builder.hpp"
#include "rudder/nn/network.hpp"

namespace rudder::train {

/// What a network says of every vertex of a graph, in the order of their ids. Filled again it keeps
/// its memory.
struct Answers {
    std::size_t outputs = 0;        ///< columns of a row of scores
    std::size_t hidden = 0;         ///< columns of an embedding; 0: there are none
    std::vector<float> scores;      ///< vertices x outputs, before softmax or sigmoid
    std::vector<float> embeddings;  ///< vertices x hidden: the last hidden layer, activated

    [[nodiscard]] VertexId vertices() const noexcept {
        return outputs == 0 ? 0 : scores.size() / outputs;
    }
    [[nodiscard]] std::span<const float> row(VertexId v) const noexcept {
        return std::span(scores).subspan(v * outputs, outputs);
    }
    /// The output with the highest score, the first of equals: the class of a network of classes.
    [[nodiscard]] std::size_t best(VertexId v) const noexcept;
};

/// Whether embeddings are wanted, too.
enum class Embeddings : bool { no, yes };

/// A network as a run left it, to be asked about graphs in memory. It reads no file once it is
/// open, and sends no message. All of its functions may be called from several threads at once:
/// each call that runs has memory of its own, weights included, which is kept for the next one.
class Model {
public:
    /// Of the folder of a run (its best checkpoint by validation, else the last) or of a single
    /// checkpoint. None that can be used is an input Error.
    [[nodiscard]] static Model open(const std::filesystem::path& folder);
    ~Model();
    Model(Model&&) noexcept;
    Model& operator=(Model&&) noexcept;

    /// What the network was made from: model, inputs (columns of a row), outputs, layers.
    [[nodiscard]] const nn::NetworkOptions& network() const noexcept;
    /// By output, where the data set that it was trained on has names; else empty.
    [[nodiscard]] std::span<const std::string> class_names() const noexcept;
    /// Steps it was trained for.
    [[nodiscard]] std::uint64_t step() const noexcept;

    /// Rows of floats, one vertex after the other, as infer takes them: `inputs` columns each, and
    /// normalised by infer if those of the run were. The memory stays the caller's. A number of
    /// floats that is not whole rows is an input Error.
    [[nodiscard]] graph::FeatureView rows(std::span<const float> values) const;

    /// The answers for all vertices of a graph, each from all of its neighbours, on all threads.
    /// Rows may be of any type that data sets store.
    ///
    /// The bits are those of `rudder predict` where rows list their neighbours in the same order,
    /// whatever the threads; rows of a run in int8 or int4 are read as they are given. What does
    /// not fit the network, ids out of range, rows that do not ascend and values that are not
    /// finite are input Errors, and leave `answers` alone.
    void infer(const graph::TopologyView& graph, const graph::FeatureView& rows, Answers& answers,
               Embeddings embeddings = Embeddings::no) const;

private:
    struct State;
    explicit Model(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// The same into memory of its own.
[[nodiscard]] Answers infer(const Model& model, const graph::TopologyView& graph,
                            const graph::FeatureView& rows);
/// Of edges in any order, made into a graph as `rudder import` does unless told otherwise: both
/// ways, without self loops and duplicates. It has as many vertices as there are rows.
[[nodiscard]] Answers infer(const Model& model, std::span<const graph::Edge> edges,
                            const graph::FeatureView& rows,
                            const graph::BuildOptions& options = {});

}  // namespace rudder::train

namespace rudder {

using train::Answers;
using train::infer;
using train::Model;

}  // namespace rudder
