#include "asked_options.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "core/json.hpp"
#include "core/setting.hpp"
#include "rudder/core/error.hpp"
#include "run/partition_cache.hpp"
#include "train/option_table.hpp"

namespace rudder::python {

namespace {

void put_option(train::TrainOptions& options, const std::string& name, const Json& value) {
    const auto all = train::all_options();
    const auto found =
        std::ranges::find_if(all, [&](const auto& setting) { return setting.name == name; });
    if (found == all.end())
        throw usage_error("unknown option '" + name + "'", name, "see rudder train --help-all");
    try {
        const bool written = value.is_string();
        found->put(options, written ? parse_setting(*found, value.get<std::string>()) : value);
    } catch (const Json::exception&) {
        throw usage_error(fmt::format("invalid {}: {}", name, value.dump()), name,
                          "give a value of its type");
    }
}

}  // namespace

train::TrainOptions read_options(const std::string& text, std::uint32_t epochs) {
    train::TrainOptions options;
    options.epochs = epochs;
    const Json given = Json::parse(text);
    for (const auto& [name, value] : given.items()) {
        if (!value.is_null()) put_option(options, name, value);
    }
    return options;
}

std::filesystem::path parts_of(const comm::Communicator& comm, const std::string& path) {
    if (comm.all_max(run::is_whole_dataset(path) ? 1 : 0) == 0) return path;
    const auto parts = static_cast<PartId>(comm.size());
    comm::do_together(comm, [&] {
        if (comm.rank() == 0 && run::cache_state(path, parts) != run::CacheState::fresh)
            run::make_cached_parts(path, parts, Progress::none());
    });
    return run::cached_parts(path, parts);
}

}  // namespace rudder::python
