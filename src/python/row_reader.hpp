// Feature rows for samplers of others: through a buffer, and ahead of time where ids are announced.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/types.hpp"

#include "worker.hpp"

namespace rudder::python {

struct RowReaderRequest {
    std::string path;     ///< of parts, or of a data set, which is divided into a part per rank
    std::string options;  ///< an object of JSON: options of training by their names
};

struct RowReaderFacts {
    std::uint64_t vertices = 0;
    std::uint64_t width = 0;
    std::string path;  ///< of the parts
    int rank = 0;
    int size = 1;
};

/// Ids asked for at a time are a step of the buffer, which is this rank's alone. Ranks ask as often
/// as they like; only making one and closing it are collective. Steps that were announced are on
/// their way before they are asked for.
class RowReader {
public:
    RowReader(const RowReaderRequest& request, Poll poll);
    ~RowReader();
    RowReader(const RowReader&) = delete;
    RowReader& operator=(const RowReader&) = delete;

    [[nodiscard]] const RowReaderFacts& facts() const noexcept { return facts_; }
    /// What will be asked for next, after what was announced before. Distinct ids of the graph.
    void announce(std::vector<VertexId> ids, Poll poll);
    /// Their rows, in this order. What was announced before them and not asked for is dropped;
    /// where others are announced, those stay, and these pass the buffer by.
    [[nodiscard]] std::shared_ptr<Array<float>> rows(std::vector<VertexId> ids, Poll poll);
    /// An object of JSON.
    [[nodiscard]] std::string stats(Poll poll);
    /// Collective.
    void close(Poll poll);

private:
    struct State;
    std::shared_ptr<State> state_;
    RowReaderFacts facts_;
    Worker worker_;
};

}  // namespace rudder::python
