#include "trace_writer.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/executor/monitor.hpp"
#include "core/json.hpp"
#include "core/staging.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/version.hpp"
#include "rudder/graph/array_folder.hpp"

namespace rudder::buffer {

namespace fs = std::filesystem;

namespace {

/// Bytes collected before they are written.
constexpr std::size_t block = std::size_t{1} << 20;

/// An array that grows by small pieces.
class Collected {
public:
    explicit Collected(graph::ArrayStream stream) : stream_(std::move(stream)) {}
    template <class T>
    void add(T value) {
        const auto bytes = std::as_bytes(std::span(&value, 1));
        pending_.insert(pending_.end(), bytes.begin(), bytes.end());
        if (pending_.size() >= block) flush();
    }
    void flush() {
        stream_.append(std::span<const std::byte>(pending_));
        pending_.clear();
    }
    void finish() {
        flush();
        stream_.finish();
    }

private:
    graph::ArrayStream stream_;
    std::vector<std::byte> pending_;
};

/// The trace's facts while it is written, in the place of the manifest.
constexpr const char* begun_file = "begun.json";
constexpr const char* manifest_file = "manifest.json";

fs::path host_folder(const fs::path& trace, std::uint64_t host) {
    return trace / fmt::format("host-{:05}", host);
}

ElementType id_type(VertexId vertices) {
    return IdArray::needs_wide(vertices) ? ElementType::u64 : ElementType::u32;
}

Json header_json(const TraceHeader& h) {
    return {{"format", trace_format},
            {"version", trace_version},
            {"rudder", version()},
            {"host", h.host},
            {"hosts", h.hosts},
            {"vertices", h.vertices},
            {"steps_per_epoch", h.steps_per_epoch},
            {"first_step", h.first_step},
            {"capacity", h.capacity},
            {"row_bytes", h.row_bytes},
            {"precision", h.precision},
            {"policy", h.policy},
            {"graph", h.graph},
            {"seed", h.seed},
            {"batch", h.batch},
            {"own_vertices", h.own_vertices}};
}

constexpr const char* way_out = "resume without --trace, or train again with --force";

/// Where a trace that can be continued lies: one that was cut, else one that was finished.
std::optional<fs::path> found_folder(const fs::path& output) {
    const fs::path cut = Staging::lasting_path(output);
    std::error_code code;
    for (const char* file : {begun_file, manifest_file}) {
        if (fs::exists(cut / file, code)) return cut;
    }
    if (fs::exists(output / manifest_file, code)) return output;
    return std::nullopt;
}

void expect_same_run(const fs::path& folder, const TraceHeader& header) {
    std::error_code code;
    check_files_inside(folder);  // which are read, and written on
    const bool whole = fs::exists(folder / manifest_file, code);
    const fs::path file = folder / (whole ? manifest_file : begun_file);
    const Json found = read_json(file);
    const Json now = header_json(header);
    for (const char* key : {"format", "version", "host", "hosts", "vertices", "steps_per_epoch",
                            "first_step", "graph", "seed"}) {
        const Json before = json_field(found, key, file.string());
        if (before == now.at(key)) continue;
        throw input_error(fmt::format("the trace is from another run: {} was {}, now {}", key,
                                      before.dump(), now.at(key).dump()),
                          folder.string(), way_out);
    }
}

/// How many ids the first `after` steps of a folder have; they must all be there.
std::uint64_t expect_steps(const fs::path& folder, VertexId vertices, std::uint64_t after) {
    const auto size = [&](const char* name, ElementType type) {
        std::error_code code;
        const auto bytes = fs::file_size(folder / name, code);
        return code ? std::uint64_t{0} : std::uint64_t{bytes} / element_size(type);
    };
    const std::uint64_t entries = size("offsets.bin", ElementType::u64);
    std::uint64_t ids = 0;
    if (entries > after) {
        const File offsets = File::open(folder / "offsets.bin");
        offsets.read_at(after * sizeof(ids), std::as_writable_bytes(std::span(&ids, 1)));
        if (size("ids.bin", id_type(vertices)) >= ids) return ids;
    }
    throw input_error(
        fmt::format("the trace has {} of the {} steps before the checkpoint",
                    entries == 0 ? 0 : std::min(entries - 1, after - (entries > after ? 1 : 0)),
                    after),
        folder.string(), way_out);
}

}  // namespace

/// A folder under construction and the arrays that grow in it.
struct TraceWriter::State {
    State(const fs::path& trace, const TraceHeader& of)
        : header(of),
          wide(IdArray::needs_wide(of.vertices)),
          staging(Staging::lasting_folder(host_folder(trace, of.host))),
          folder(staging.path()) {}

    /// An empty trace; what was there is removed.
    void begin() {
        for (const auto& entry : fs::directory_iterator(staging.path()))
            fs::remove_all(entry.path());
        write_text(staging.path() / begun_file, header_json(header).dump(2) + "\n");
        offsets.emplace(folder.growing("offsets", ElementType::u64));
        ids.emplace(folder.growing("ids", id_type(header.vertices)));
        offsets->add(std::uint64_t{0});
    }

    /// The first `count` steps of what is in the folder, and no others.
    void cut(std::uint64_t count) {
        needed = expect_steps(staging.path(), header.vertices, count);
        steps = count;
        offsets.emplace(folder.growing_after("offsets", ElementType::u64, count + 1));
        ids.emplace(folder.growing_after("ids", id_type(header.vertices), needed));
        if (fs::exists(staging.path() / "decision.bin"))
            decisions.emplace(folder.growing_after("decision", ElementType::u8, count));
    }

    void go_on(std::uint64_t after) {
        if (found_folder(staging.output()) == staging.output()) {
            fs::remove_all(staging.path());
            fs::rename(staging.output(), staging.path());
        }
        // From here on it is no whole trace.
        if (fs::exists(staging.path() / manifest_file))
            fs::rename(staging.path() / manifest_file, staging.path() / begun_file);
        cut(after);
    }

    void flush() {
        // In this order an offset in its file has its ids in theirs.
        ids->flush();
        if (decisions) decisions->flush();
        offsets->flush();
    }

    void add(std::span<const VertexId> list) {
        for (const VertexId id : list) {
            RUDDER_CHECK(id < header.vertices);
            if (wide) {
                ids->add(id);
            } else {
                ids->add(static_cast<std::uint32_t>(id));
            }
        }
        needed += list.size();
        ++steps;
        offsets->add(needed);
    }

    Monitor monitor;
    TraceHeader header;
    bool wide;
    Staging staging;
    graph::ArrayFolderWriter folder;
    std::optional<Collected> offsets;
    std::optional<Collected> ids;
    std::optional<Collected> decisions;
    std::uint64_t halo = 0;
    std::uint64_t steps = 0;
    std::uint64_t needed = 0;
};

TraceWriter::TraceWriter(const fs::path& trace, const TraceHeader& header,
                         std::span<const VertexId> halo, std::span<const std::uint32_t> halo_degree,
                         std::span<const double> inclusion, std::uint64_t after) {
    RUDDER_CHECK(halo_degree.empty() || halo_degree.size() == halo.size());
    RUDDER_CHECK(inclusion.empty() || inclusion.size() == halo.size());
    if (after > 0) expect(trace, header, after);
    state_ = std::make_unique<State>(trace, header);
    if (after > 0) {
        state_->go_on(after);
    } else {
        state_->begin();
    }
    state_->halo = halo.size();
    state_->folder.write("halo", halo);
    if (!halo_degree.empty()) state_->folder.write("halo_degree", halo_degree);
    if (!inclusion.empty()) state_->folder.write("inclusion", inclusion);
}

TraceWriter::~TraceWriter() = default;

void TraceWriter::expect(const fs::path& trace, const TraceHeader& header, std::uint64_t after) {
    const fs::path output = host_folder(trace, header.host);
    const auto folder = found_folder(output);
    if (!folder) {
        throw usage_error(
            fmt::format("the run has no trace of the {} steps before the checkpoint", after),
            trace.string(), way_out);
    }
    expect_same_run(*folder, header);
    static_cast<void>(expect_steps(*folder, header.vertices, after));
}

void TraceWriter::step(std::span<const VertexId> ids) {
    const Monitor::Lock lock(state_->monitor);
    RUDDER_CHECK(!state_->decisions);
    state_->add(ids);
}

void TraceWriter::step(std::span<const VertexId> ids, bool replace) {
    State& s = *state_;
    const Monitor::Lock lock(s.monitor);
    if (s.steps == 0) s.decisions.emplace(s.folder.growing("decision", ElementType::u8));
    RUDDER_CHECK(s.decisions);
    s.add(ids);
    s.decisions->add(static_cast<std::uint8_t>(replace ? 1 : 0));
}

void TraceWriter::flush() {
    const Monitor::Lock lock(state_->monitor);
    state_->flush();
}

void TraceWriter::show_steps(const StepSink& sink) {
    State& s = *state_;
    const Monitor::Lock lock(s.monitor);
    s.flush();
    const auto offsets = Array<std::uint64_t>::adopt(Region::map(s.staging.path() / "offsets.bin"));
    Region file = Region::map(s.staging.path() / "ids.bin");
    const IdArray ids = s.wide ? IdArray(Array<std::uint64_t>::adopt(std::move(file)))
                               : IdArray(Array<std::uint32_t>::adopt(std::move(file)));
    std::vector<VertexId> step;
    ids.span().visit([&](const auto all) {
        for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
            const auto of_step = all.subspan(offsets[i], offsets[i + 1] - offsets[i]);
            step.assign(of_step.begin(), of_step.end());
            sink(step);
        }
    });
}

void TraceWriter::finish() {
    finish(state_->steps);
}

void TraceWriter::finish(std::uint64_t steps) {
    State& s = *state_;
    const Monitor::Lock lock(s.monitor);
    if (steps < s.steps) {
        s.flush();
        s.cut(steps);
    }
    s.offsets->finish();
    s.ids->finish();
    if (s.decisions) s.decisions->finish();
    Json manifest = header_json(s.header);
    manifest["halo"] = s.halo;
    manifest["steps"] = s.steps;
    manifest["needed"] = s.needed;
    s.folder.finish(std::move(manifest));
    fs::remove(s.staging.path() / begun_file);
    s.staging.commit();
}

}  // namespace rudder::buffer
