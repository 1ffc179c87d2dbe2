#include "rudder/graph/dataset.hpp"

#include "core/json.hpp"

namespace rudder::graph {

Dataset::Dataset(const std::filesystem::path& folder)
    : folder_(folder, dataset_format, dataset_version),
      info_(dataset_info(folder_.manifest(), folder_.manifest_path())),
      topology_(open_topology(folder_, info_)),
      arrays_(VertexArrays::open(folder_, info_, info_.vertices)) {}

void Dataset::check() const {
    const std::string where = folder_.path().string();
    folder_.verify_checksums();
    check_topology(topology(), info_.vertices, where);
    arrays_.check(info_, info_.vertices, where);
    const TopologyCounts counts = count_irregular(topology());
    if (counts.self_loops != info_.self_loops || counts.duplicates != info_.duplicates) {
        throw input_error("self loops or duplicates are not as many as the manifest says", where,
                          "make the data set again");
    }
    if (info_.symmetric && !is_symmetric(topology())) {
        throw input_error("the graph is not symmetric, though the manifest says so", where,
                          "make the data set again");
    }
}

}  // namespace rudder::graph
