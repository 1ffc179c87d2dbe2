// Reading traces: our folders, and the NPZ layout of the golden traces.
#include <algorithm>
#include <atomic>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "core/json.hpp"
#include "graph/io/npz.hpp"
#include "rudder/buffer/trace.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/graph/array_folder.hpp"

namespace rudder::buffer {

namespace {

namespace fs = std::filesystem;

template <class To, class From>
std::vector<To> converted(std::span<const From> from, const std::string& where) {
    std::vector<To> to(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (!std::in_range<To>(from[i])) {
            throw input_error(fmt::format("invalid value: {} is out of range", from[i]),
                              fmt::format("{}, position {}", where, i), "record the trace again");
        }
        to[i] = static_cast<To>(from[i]);
    }
    return to;
}

// ---- NPZ ---------------------------------------------------------------------------------------

template <class To>
std::vector<To> integers(const graph::NpzArchive& archive, const std::string& name) {
    graph::NpyReader reader = archive.open(name);
    const Array<std::int64_t> values = graph::read_integers(reader);
    return converted<To>(values.span(), archive.where(name));
}

std::uint64_t scalar(const graph::NpzArchive& archive, const std::string& name) {
    graph::NpyReader reader = archive.open(name);
    return graph::read_scalar(reader);
}

std::vector<double> numbers(const graph::NpzArchive& archive, const std::string& name) {
    graph::NpyReader reader = archive.open(name);
    const Array<float> values = graph::read_floats(reader);
    return {values.begin(), values.end()};
}

/// A file in the folder for such, which others may write to: names that are taken are not used.
File make_spill() {
    static std::atomic<std::uint64_t> made{0};
    constexpr int most_tries = 1000;
    for (int i = 0; i < most_tries; ++i) {
        const auto name = fmt::format("rudder-trace-{}-{}", ::getpid(), made++);
        if (auto file = File::create_private(fs::temp_directory_path() / name))
            return std::move(*file);
    }
    throw Error(ErrorKind::failed, "cannot make a temporary file",
                fs::temp_directory_path().string(), "remove rudder-trace-* there, or set TMPDIR");
}

/// Ids of an archive: a few in memory, many in a file of their own that is gone with its mapping.
IdArray read_trace_ids(graph::NpyReader& reader, VertexId vertices) {
    constexpr std::uint64_t block = std::uint64_t{1} << 20;
    if (reader.left() <= block) return graph::read_ids(reader, reader.left(), vertices);
    struct Removed {
        fs::path path;
        ~Removed() {
            std::error_code code;
            fs::remove(path, code);
        }
    };
    File file = make_spill();
    const Removed spill{file.path()};
    while (reader.left() > 0) {
        const IdArray ids = graph::read_ids(reader, std::min(block, reader.left()), vertices);
        file.write(ids.span().as_bytes());
    }
    file.close();
    if (IdArray::needs_wide(vertices))
        return IdArray(Array<std::uint64_t>::adopt(Region::map(spill.path)));
    return IdArray(Array<std::uint32_t>::adopt(Region::map(spill.path)));
}

std::unique_ptr<const HostTrace> read_npz(const fs::path& file) {
    const graph::NpzArchive archive(file);
    TraceHeader header;
    header.vertices = scalar(archive, "num_nodes");
    if (archive.has("steps_per_epoch")) header.steps_per_epoch = scalar(archive, "steps_per_epoch");
    HostTrace::Arrays arrays;
    arrays.halo = integers<VertexId>(archive, "halo_id");
    if (archive.has("halo_degree")) {
        arrays.halo_degree = integers<std::uint32_t>(archive, "halo_degree");
    }
    if (archive.has("inclusion")) arrays.inclusion = numbers(archive, "inclusion");
    if (archive.has("decision")) arrays.listed = integers<std::uint8_t>(archive, "decision");
    arrays.offsets = integers<std::uint64_t>(archive, "offset");
    graph::NpyReader reader = archive.open("id");
    IdArray ids = read_trace_ids(reader, header.vertices);
    reader.finish();
    return std::make_unique<const HostTrace>(header, std::move(arrays), std::move(ids),
                                             file.string());
}

// ---- folders -----------------------------------------------------------------------------------

template <class T>
std::vector<T> array_of(const graph::ArrayFolder& folder, const std::string& name,
                        std::uint64_t count) {
    const Array<T> values = folder.map<T>(name, {count});
    return {values.begin(), values.end()};
}

TraceHeader header_of(const graph::ArrayFolder& folder) {
    const Json& json = folder.manifest();
    const std::string where = folder.manifest_path();
    TraceHeader header;
    header.host = json_u64(json, "host", where);
    header.hosts = json_u64(json, "hosts", where);
    header.vertices = json_u64(json, "vertices", where);
    header.steps_per_epoch = json_u64(json, "steps_per_epoch", where);
    header.first_step = json_u64(json, "first_step", where);
    header.capacity = json_u64(json, "capacity", where);
    header.row_bytes = json_u64(json, "row_bytes", where);
    header.precision = json_string(json, "precision", where);
    header.policy = json_string(json, "policy", where);
    header.graph = json_string(json, "graph", where);
    header.seed = json_u64(json, "seed", where);
    if (json.contains("batch")) header.batch = json_u64(json, "batch", where);
    if (json.contains("own_vertices")) header.own_vertices = json_u64(json, "own_vertices", where);
    return header;
}

std::unique_ptr<const HostTrace> read_host(const fs::path& path) {
    const graph::ArrayFolder folder(path, trace_format, trace_version);
    folder.verify_checksums();
    const std::string where = folder.manifest_path();
    const TraceHeader header = header_of(folder);
    const std::uint64_t halo = json_u64(folder.manifest(), "halo", where);
    const std::uint64_t steps = json_u64(folder.manifest(), "steps", where);
    const std::uint64_t needed = json_u64(folder.manifest(), "needed", where);
    HostTrace::Arrays arrays;
    arrays.halo = array_of<VertexId>(folder, "halo", halo);
    if (folder.has("halo_degree")) {
        arrays.halo_degree = array_of<std::uint32_t>(folder, "halo_degree", halo);
    }
    if (folder.has("inclusion")) arrays.inclusion = array_of<double>(folder, "inclusion", halo);
    if (folder.has("decision")) arrays.listed = array_of<std::uint8_t>(folder, "decision", steps);
    arrays.offsets =
        array_of<std::uint64_t>(folder, "offsets", checked_add<std::uint64_t>(steps, 1, "steps"));
    IdArray ids = IdArray::needs_wide(header.vertices)
                      ? IdArray(folder.map<std::uint64_t>("ids", {needed}))
                      : IdArray(folder.map<std::uint32_t>("ids", {needed}));
    return std::make_unique<const HostTrace>(header, std::move(arrays), std::move(ids), where);
}

void check_hosts(const Trace& trace, const fs::path& path) {
    const TraceHeader& first = trace.front()->header();
    std::set<std::uint64_t> seen;
    for (const auto& host : trace) {
        const TraceHeader& header = host->header();
        seen.insert(header.host);
        if (header.vertices != first.vertices || header.graph != first.graph ||
            header.hosts != first.hosts || header.seed != first.seed) {
            throw input_error(fmt::format("host {} is from another run or graph than host {}",
                                          header.host, first.host),
                              path.string(), "keep the traces of each run in a separate folder");
        }
        if (host->steps() != trace.front()->steps() || header.first_step != first.first_step) {
            throw input_error(
                fmt::format("host {} has {} steps and host {} has {}: the trace is "
                            "cut short",
                            header.host, host->steps(), first.host, trace.front()->steps()),
                path.string(), "record the trace again");
        }
    }
    if (seen.size() != first.hosts || trace.size() != first.hosts ||
        *seen.rbegin() >= first.hosts) {
        throw input_error(fmt::format("{} of {} hosts are here: the trace is cut short",
                                      trace.size(), first.hosts),
                          path.string(), "copy the folders of all hosts here, or record it again");
    }
}

std::vector<fs::path> host_folders(const fs::path& folder) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().filename().string().starts_with("host-")) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace

Trace read_trace(const fs::path& path) {
    std::error_code code;
    if (!fs::exists(path, code)) {
        throw input_error("trace not found", path.string(),
                          "check the path; 'rudder train --trace' records one");
    }
    Trace trace;
    if (!fs::is_directory(path)) {
        trace.push_back(read_npz(path));
        return trace;
    }
    const fs::path folder = fs::is_directory(path / "trace") ? path / "trace" : path;
    const auto hosts = host_folders(folder);
    if (hosts.empty()) {
        throw input_error("incomplete trace: folder host-00000 is missing", folder.string(),
                          "check the path; a run that was cut short leaves none");
    }
    for (const fs::path& host : hosts)
        trace.push_back(read_host(host));
    check_hosts(trace, folder);
    return trace;
}

}  // namespace rudder::buffer
