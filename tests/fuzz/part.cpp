// Partitioned data sets: in one that passes every check, local and global ids are each other's
// inverse and halos are what a slow walk over the rows finds.
#include <set>

#include "core/json.hpp"
#include "partition/partition.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/partition/partitioned_dataset.hpp"

#include "graphs.hpp"

namespace rudder::fuzz {

namespace {

/// Makes the checksums of a partition's manifest those of its parts' manifests.
void seal_parts(const std::filesystem::path& folder) {
    Json manifest;
    try {
        manifest = parse_json(bytes_of(folder / "manifest.json"), "manifest");
    } catch (const Error&) {
        return;
    }
    if (!manifest.is_object() || !manifest.contains("part_manifests")) return;
    PartId part = 0;
    for (Json& sum : manifest["part_manifests"]) {
        const auto below = folder / partition::part_folder(part++);
        seal_arrays(below);
        const std::string text = bytes_of(below / "manifest.json");
        sum = to_hex(hash_bytes(std::as_bytes(std::span(text))));
    }
    put("parts/manifest.json", manifest.dump());
}

void check_part(const partition::Part& part) {
    std::set<VertexId> halo;
    for (VertexId v = 0; v < part.own(); ++v) {
        for (const LocalId local : part.row(static_cast<LocalId>(v))) {
            const VertexId global = part.global(local);
            FUZZ_EXPECT(part.local(global) == local);
            if (!part.range().contains(global)) halo.insert(global);
        }
    }
    FUZZ_EXPECT(std::vector<VertexId>(halo.begin(), halo.end()) ==
                std::vector<VertexId>(part.halo().begin(), part.halo().end()));
}

}  // namespace

void check(std::string_view bytes) {
    const auto folder = unbundle(bytes, "parts");
    seal_parts(folder);
    const partition::PartitionedDataset data(folder);
    if (data.parts() > 8) return;
    const auto parts = data.all_parts();
    data.check();
    for (const partition::Part& part : parts)
        check_part(part);
}

std::vector<std::string> seeds() {
    std::vector<std::string> all;
    for (const PartId parts : {1U, 2U}) {
        partition::PartitionOptions options;
        options.parts = parts;
        options.method = "ldg";
        options.cluster_size = 4;
        const graph::Dataset data(make_dataset("whole"));
        partition_dataset(data, scratch() / "cut", options, Existing::replace);
        all.push_back(bundle(scratch() / "cut"));
    }
    return all;
}

}  // namespace rudder::fuzz
