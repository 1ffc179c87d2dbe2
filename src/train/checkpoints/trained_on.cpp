#include "trained_on.hpp"

#include "core/json.hpp"
#include "rudder/core/error.hpp"

namespace rudder::train {

TrainedOn trained_on(TaskKind task, const graph::DatasetInfo& info) {
    return {.row_normalise = info.rows().row_normalise,
            .symmetric = info.symmetric,
            .class_names = task == TaskKind::edge ? info.edge_targets.names : info.targets.names};
}

Json to_json(const TrainedOn& data) {
    return json_object({{"row_normalise", data.row_normalise},
                        {"symmetric", data.symmetric},
                        {"class_names", data.class_names}});
}

TrainedOn trained_on_from_json(const Json& json, const std::string& where) {
    TrainedOn data;
    data.row_normalise = json_bool(json, "row_normalise", where);
    data.symmetric = json_bool(json, "symmetric", where);
    for (const Json& name : json_field(json, "class_names", where)) {
        if (!name.is_string())
            throw input_error("invalid class name: not a string", where, "use another checkpoint");
        data.class_names.push_back(name.get<std::string>());
    }
    return data;
}

}  // namespace rudder::train
