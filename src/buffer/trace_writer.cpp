#include "rudder/buffer/trace_writer.hpp"

#include <optional>

#include <fmt/format.h>

#include "rudder/core/json.hpp"
#include "rudder/core/staging.hpp"
#include "rudder/core/version.hpp"
#include "rudder/graph/array_folder.hpp"

namespace rudder {

namespace {

/// Bytes collected before they are written.
constexpr std::size_t block = std::size_t{1} << 20;

/// An array that grows by small pieces.
class Collected {
public:
    explicit Collected(ArrayStream stream) : stream_(std::move(stream)) {}
    template <class T>
    void add(T value) {
        const auto bytes = std::as_bytes(std::span(&value, 1));
        pending_.insert(pending_.end(), bytes.begin(), bytes.end());
        if (pending_.size() >= block) flush();
    }
    void finish() {
        flush();
        stream_.finish();
    }

private:
    void flush() {
        stream_.append(std::span<const std::byte>(pending_));
        pending_.clear();
    }
    ArrayStream stream_;
    std::vector<std::byte> pending_;
};

std::filesystem::path host_folder(const std::filesystem::path& trace, std::uint64_t host) {
    std::filesystem::create_directories(trace);
    return trace / fmt::format("host-{:05}", host);
}

}  // namespace

struct TraceWriter::State {
    State(const std::filesystem::path& trace, const TraceHeader& of)
        : header(of),
          wide(IdArray::needs_wide(of.vertices)),
          staging(Staging::folder(host_folder(trace, of.host), Existing::replace)),
          folder(staging.path()),
          offsets(folder.growing("offsets", ElementType::u64)),
          ids(folder.growing("ids", wide ? ElementType::u64 : ElementType::u32)) {}

    TraceHeader header;
    bool wide;
    Staging staging;
    ArrayFolderWriter folder;
    Collected offsets;
    Collected ids;
    std::optional<Collected> decisions;
    std::uint64_t halo = 0;
    std::uint64_t steps = 0;
    std::uint64_t needed = 0;
};

TraceWriter::TraceWriter(const std::filesystem::path& trace, const TraceHeader& header,
                         std::span<const VertexId> halo, std::span<const std::uint32_t> halo_degree,
                         std::span<const double> inclusion)
    : state_(std::make_unique<State>(trace, header)) {
    RUDDER_CHECK(halo_degree.empty() || halo_degree.size() == halo.size());
    RUDDER_CHECK(inclusion.empty() || inclusion.size() == halo.size());
    state_->halo = halo.size();
    state_->folder.write("halo", halo);
    if (!halo_degree.empty()) state_->folder.write("halo_degree", halo_degree);
    if (!inclusion.empty()) state_->folder.write("inclusion", inclusion);
    state_->offsets.add(std::uint64_t{0});
}

TraceWriter::~TraceWriter() = default;

void TraceWriter::step(std::span<const VertexId> ids) {
    RUDDER_CHECK(!state_->decisions);
    for (const VertexId id : ids) {
        RUDDER_CHECK(id < state_->header.vertices);
        if (state_->wide) {
            state_->ids.add(id);
        } else {
            state_->ids.add(static_cast<std::uint32_t>(id));
        }
    }
    state_->needed += ids.size();
    ++state_->steps;
    state_->offsets.add(state_->needed);
}

void TraceWriter::step(std::span<const VertexId> ids, bool replace) {
    std::optional<Collected> decisions;
    if (state_->steps == 0) {
        decisions.emplace(state_->folder.growing("decision", ElementType::u8));
    } else {
        RUDDER_CHECK(state_->decisions);
        decisions = std::move(state_->decisions);
    }
    state_->decisions.reset();
    step(ids);
    decisions->add(static_cast<std::uint8_t>(replace ? 1 : 0));
    state_->decisions = std::move(decisions);
}

void TraceWriter::finish() {
    State& s = *state_;
    s.offsets.finish();
    s.ids.finish();
    if (s.decisions) s.decisions->finish();
    const TraceHeader& h = s.header;
    s.folder.finish(Json{{"format", trace_format},
                         {"version", trace_version},
                         {"rudder", version()},
                         {"host", h.host},
                         {"hosts", h.hosts},
                         {"vertices", h.vertices},
                         {"halo", s.halo},
                         {"steps", s.steps},
                         {"needed", s.needed},
                         {"steps_per_epoch", h.steps_per_epoch},
                         {"first_step", h.first_step},
                         {"capacity", h.capacity},
                         {"row_bytes", h.row_bytes},
                         {"precision", h.precision},
                         {"policy", h.policy},
                         {"graph", h.graph},
                         {"seed", h.seed}});
    s.staging.commit();
}

}  // namespace rudder
