// A verb of the command line: its options, and what it does.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "rudder/core/json_fwd.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/graph/provenance.hpp"

#include "in_process.hpp"

namespace rudder::cli {

/// What every verb is given: the common options, resolved, and where its words go.
struct Context {
    bool json = false;
    bool quiet = false;
    int threads = 0;                     ///< as typed; 0: not
    Progress* progress = nullptr;        ///< a bar on a terminal, silent otherwise
    graph::Provenance provenance;        ///< verb and options as resolved, for what is made
    std::vector<std::string> arguments;  ///< the command line: verb and all that follows
    RankRunner run_ranks = run::run_ranked;
    train::TrainObserver* observer = nullptr;  ///< also watches what is trained; may be null
    Json* result = nullptr;  ///< where the answer of --json goes; null: standard output

    /// Gives the answer of --json.
    void answer(const Json& value) const;
};

/// The group of options that --help leaves to --help-all.
inline constexpr std::string_view further_options = "Further options";

/// One verb. A variant is one file in src/cli/verbs.
class Verb {
public:
    virtual ~Verb() = default;
    /// One word, or two: verbs that share their first word belong together ("agent list").
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// One line for the list of verbs.
    [[nodiscard]] virtual std::string_view summary() const = 0;
    /// An example that works, shown at the end of its help.
    [[nodiscard]] virtual std::string_view example() const = 0;
    /// What --help-all adds before the example; lines end with a new line.
    [[nodiscard]] virtual std::string notes() const { return {}; }
    /// Adds its options to `app`, bound to this object.
    virtual void define(CLI::App& app) = 0;
    /// What follows from its options once they are parsed; a usage Error where they contradict each
    /// other. Its errors name options without their dashes.
    virtual void settle() {}
    /// Does it; errors are thrown. The result is the exit code.
    virtual int run(const Context& context) = 0;
};

/// All verbs, in the order of the help.
[[nodiscard]] std::vector<std::unique_ptr<Verb>> all_verbs();

[[nodiscard]] std::unique_ptr<Verb> make_agent_collect_verb();
[[nodiscard]] std::unique_ptr<Verb> make_agent_train_verb();
[[nodiscard]] std::unique_ptr<Verb> make_agent_list_verb();
[[nodiscard]] std::unique_ptr<Verb> make_agent_score_verb();
[[nodiscard]] std::unique_ptr<Verb> make_bench_verb();
[[nodiscard]] std::unique_ptr<Verb> make_compare_verb();
[[nodiscard]] std::unique_ptr<Verb> make_completion_verb();
[[nodiscard]] std::unique_ptr<Verb> make_doctor_verb();
[[nodiscard]] std::unique_ptr<Verb> make_evaluate_verb();
[[nodiscard]] std::unique_ptr<Verb> make_explain_verb();
[[nodiscard]] std::unique_ptr<Verb> make_export_verb();
[[nodiscard]] std::unique_ptr<Verb> make_generate_verb();
[[nodiscard]] std::unique_ptr<Verb> make_help_verb();
[[nodiscard]] std::unique_ptr<Verb> make_import_verb();
[[nodiscard]] std::unique_ptr<Verb> make_import_dgl_verb();
[[nodiscard]] std::unique_ptr<Verb> make_info_verb();
[[nodiscard]] std::unique_ptr<Verb> make_partition_verb();
[[nodiscard]] std::unique_ptr<Verb> make_predict_verb();
[[nodiscard]] std::unique_ptr<Verb> make_report_verb();
[[nodiscard]] std::unique_ptr<Verb> make_simulate_verb();
[[nodiscard]] std::unique_ptr<Verb> make_top_verb();
[[nodiscard]] std::unique_ptr<Verb> make_train_verb();
[[nodiscard]] std::unique_ptr<Verb> make_replay_verb();

}  // namespace rudder::cli
