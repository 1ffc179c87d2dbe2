#include "partition_cache.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/log.hpp"
#include "partition/partition.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"
#include "rudder/graph/array_folder.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/run/ranks.hpp"

namespace rudder::run {

namespace fs = std::filesystem;

namespace {

constexpr const char* parts_variable = "RUDDER_PARTS";

/// The manifest has the checksum of every array, so its own is that of the data set.
std::string dataset_checksum(const fs::path& data) {
    const std::string manifest = graph::Dataset(data).folder().manifest().dump();
    return to_hex(hash_bytes(std::as_bytes(std::span(manifest))));
}

/// What a partition that training made says of itself; null: another made it.
Json cache_mark(const fs::path& parts) {
    const Json manifest = read_json(parts / "manifest.json");
    const Json made = manifest.is_object() ? manifest.value("made_by", Json()) : Json();
    if (!made.is_object() || made.value("verb", Json()) != "train") return {};
    return made.value("data_checksum", Json());
}

}  // namespace

bool is_whole_dataset(const fs::path& path) {
    return graph::ArrayFolder::is(path, graph::dataset_format);
}

fs::path cached_parts(const fs::path& data, PartId parts) {
    fs::path whole = data.lexically_normal();
    if (!whole.has_filename()) whole = whole.parent_path();
    return whole.parent_path() / fmt::format("{}.parts-{}", whole.filename().string(), parts);
}

CacheState cache_state(const fs::path& data, PartId parts) {
    const fs::path folder = cached_parts(data, parts);
    std::error_code code;
    if (fs::symlink_status(folder, code).type() == fs::file_type::not_found)
        return CacheState::absent;
    const bool known = graph::ArrayFolder::is(folder, partition::partition_format);
    const Json mark = known ? cache_mark(folder) : Json();
    if (!mark.is_string()) {
        throw usage_error("the place of the parts is taken by something else", folder.string(),
                          "train on the parts in that folder, or move them away");
    }
    return mark == dataset_checksum(data) ? CacheState::fresh : CacheState::stale;
}

void make_cached_parts(const fs::path& data, PartId parts, Progress& progress) {
    const Json made{{"verb", "train"},
                    {"options", {{"DATA", data.string()}, {"parts", parts}}},
                    {"data_checksum", dataset_checksum(data)}};
    partition::PartitionOptions options;
    options.parts = parts;
    options.provenance.made_by = made.dump();
    partition::partition_dataset(graph::Dataset(data), cached_parts(data, parts), options,
                                 Existing::replace, progress);
}

fs::path find_parts(const fs::path& data, PartId parts, std::string_view use, Progress& progress) {
    fs::path folder = cached_parts(data, parts);
    const CacheState state = cache_state(data, parts);
    if (state == CacheState::fresh) {
        log::info(fmt::format("{} {}, made of {} earlier", use, folder.string(), data.string()));
    } else {
        log::info(fmt::format(
            "partitioning {} into {} part{} in {}{}", data.string(), parts, parts == 1 ? "" : "s",
            folder.string(),
            state == CacheState::stale ? ", replacing the parts of its earlier state" : ""));
        make_cached_parts(data, parts, progress);
    }
    pass_parts_on(folder);
    return folder;
}

void pass_parts_on(const fs::path& parts) {
    parts.empty() ? ::unsetenv(parts_variable) : ::setenv(parts_variable, parts.c_str(), 1);
}

std::string passed_parts() {
    const char* value = is_launched_rank() ? std::getenv(parts_variable) : nullptr;
    return value == nullptr ? "" : value;
}

}  // namespace rudder::run
