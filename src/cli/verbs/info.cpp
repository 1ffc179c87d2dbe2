// rudder info PATH...
#include <fmt/format.h>

#include "rudder/cli/describe.hpp"
#include "rudder/cli/table.hpp"
#include "rudder/cli/verb.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/graph/dataset.hpp"

namespace rudder::cli {

namespace {

class InfoVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "info"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Say what a data set or partition is, with its sizes; --check verifies it";
    }
    [[nodiscard]] std::string_view example() const override { return "rudder info graph --check"; }

    void define(CLI::App& app) override {
        app.add_option("PATH", paths_, "Data sets or partitions; several give one table")
            ->required()
            ->expected(1, 1000);
        app.add_flag("--check", check_, "Verify every checksum and every invariant of the format");
    }

    int run(const Context& context) override;

private:
    std::vector<std::string> paths_;
    bool check_ = false;
};

int InfoVerb::run(const Context& context) {
    Json results = Json::array();
    for (const std::string& path : paths_) {
        const Dataset data(path);
        if (check_) data.check();
        results.push_back(dataset_json(data.info()));
        if (!context.json) print_text(key_values(dataset_lines(data.info())));
    }
    if (context.json) print_json(results.size() == 1 ? results[0] : results);
    return 0;
}

}  // namespace

std::unique_ptr<Verb> make_info_verb() {
    return std::make_unique<InfoVerb>();
}

}  // namespace rudder::cli
