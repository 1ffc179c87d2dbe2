// What a store is made of, as its pulls see it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "feature_store.hpp"
#include "pull_scratch.hpp"
#include "remote_fetch.hpp"
#include "row_places.hpp"

namespace rudder::store {

struct StoreCore {
    comm::Communicator comm;
    RowFormat format;
    bool in_wire_format;  ///< the host's rows, as they lie
    RowPlaces places;
    std::vector<partition::Part> parts;            ///< opened; their files stay mapped
    std::shared_ptr<std::span<std::byte>> window;  ///< of Shards::shared
    ScratchPool pool;
    std::unique_ptr<RowExchange> exchange;  ///< none where all parts are on this host
    std::atomic<std::uint64_t> bulk{0};     ///< rows per message; 0: about 256 KiB

    /// Turns host rows at these addresses into floats.
    void load(std::span<const std::byte* const> rows, float* const* out) const {
        in_wire_format ? format.decode_rows(rows, out) : format.load_rows(rows, out);
    }
};

/// Begins a pull; see FeatureStore::pull.
[[nodiscard]] Pull begin_pull(StoreCore& core, std::span<const RowsWanted> wanted, comm::Kind kind);
/// See FeatureStore::load_local.
void load_local(const StoreCore& core, std::span<const RowsWanted> wanted);

}  // namespace rudder::store
