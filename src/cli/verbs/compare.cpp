// rudder compare PATH
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/llm_models.hpp"
#include "cli/summary_text.hpp"
#include "cli/table.hpp"
#include "cli/train_settings.hpp"
#include "cli/train_view.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "core/staging.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/train/trainer.hpp"
#include "run/run_card.hpp"
#include "run/run_recorder.hpp"
#include "run/train_observers.hpp"
#include "train/prediction/inference.hpp"
#include "train/summary.hpp"

namespace rudder::cli {

namespace {

/// One policy and what it came to; rows and times on rank 0 alone.
struct Contender {
    train::TrainOptions options;
    train::TrainResult result;
    Json summary;  ///< of its folder, where it has one
    std::filesystem::path folder{};

    bool steered = false;  ///< agents are compared, too

    /// As it is called in the table.
    [[nodiscard]] std::string policy() const {
        const std::string policy = result.policy.value_or(train::policy_of(options)).text();
        return steered ? policy + " + " + train::agent_of(options).text() : policy;
    }
    [[nodiscard]] std::uint64_t fetched() const {
        return result.rows.demand + result.rows.replacement + result.rows.ahead;
    }
    /// Per step and rank.
    [[nodiscard]] double milliseconds(double seconds, int ranks) const {
        const auto steps = static_cast<double>(std::max<std::uint64_t>(result.steps, 1));
        return seconds / steps / ranks * 1e3;
    }
};

class CompareVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "compare"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Train with several policies or agents in turn and compare what they cost";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder compare parts --ranks 2 --epochs 2 --policy none --policy window:16";
    }
    [[nodiscard]] std::string notes() const override { return policy_notes(); }
    void define(CLI::App& app) override;
    void settle() override { cli::settle(settings_, *app_); }
    int run(const Context& context) override;

private:
    int train(const comm::Communicator& comm, const train::TrainOptions& options,
              const Context& context);
    void train_one(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                   Contender& one, TrainView& view, const Context& context) const;
    void add_floor(std::span<const Contender> all) const;
    void show(std::span<const Contender> all, const comm::Communicator& comm,
              const partition::PartitionedDataset& data, const Context& context) const;

    /// All pairs of a policy and an agent; a policy with an agent of its own (POLICY+AGENT) is one.
    [[nodiscard]] std::vector<train::TrainOptions> contenders(
        const train::TrainOptions& options) const;

    CLI::App* app_ = nullptr;
    TrainSettings settings_;
    std::vector<std::string> policies_;
    std::vector<std::string> agents_;
    std::vector<std::string> models_;  ///< of agent llm
};

void CompareVerb::define(CLI::App& app) {
    using Group = train::OptionGroup;
    app_ = &app;
    app.add_option("PATH", settings_.data, "Partitioned data set")->required();
    app.add_option("--policy", policies_,
                   "NAME[:VALUE]{,KEY:VALUE}[+AGENT]; may be repeated\n(default: five kinds)")
        ->allow_extra_args(false);
    app.add_option("--agent", agents_,
                   "Agent to pair with every policy; may be repeated; see agent list")
        ->allow_extra_args(false);
    app.add_option("--llm-model", models_,
                   "Model of agent llm; may be repeated (default: the server's first)")
        ->allow_extra_args(false)
        ->group(std::string(further_options));
    bind_train(app,
               {Group::model, Group::sampling, Group::training, Group::seed, Group::evaluation,
                Group::buffer, Group::storage, Group::limits, Group::steering, Group::guard,
                Group::slowness, Group::llm},
               settings_.train);
    bind_ranks(app, settings_.ranks);
    bind_run(app, {RunGroup::output, RunGroup::metrics}, settings_);
    offer_specs(app);
    app.get_option("--out")->description("Folder for the run folders, one per row");
}

std::vector<train::TrainOptions> CompareVerb::contenders(const train::TrainOptions& options) const {
    std::vector<train::TrainOptions> all;
    const std::vector<std::string> nobody{"never"};
    for (const std::string& policy : policies_) {
        const std::size_t plus = policy.find('+');
        const bool pair = plus != std::string::npos;
        const std::vector<std::string> named{pair ? policy.substr(plus + 1) : ""};
        for (const std::string& agent : pair ? named : agents_.empty() ? nobody : agents_) {
            train::TrainOptions& one = all.emplace_back(options);
            one.policy = policy.substr(0, plus);
            one.steer.agent = agent;
        }
    }
    return all;
}

int CompareVerb::run(const Context& context) {
    agents_ = with_models(agents_, models_);
    if (policies_.empty() && !agents_.empty()) {
        // One that every agent named can do something about.
        const bool decide = std::ranges::any_of(agents_, [](const std::string& text) {
            return steer::AgentSpec::parse(text).decides();
        });
        policies_ = {decide ? "scored" : "window"};
    }
    if (policies_.empty()) {
        policies_ = {"none", "static-degree", "scored-faithful,every:4", "periodic", "window"};
    }
    const train::TrainOptions options = settings_.train;
    for (const train::TrainOptions& one : contenders(options))
        check_options(one);
    if (!settings_.out.empty()) run::RunFolder::check(settings_.out, settings_.existing());
    const partition::PartitionedDataset data(settings_.data);
    run::RankOptions& ranks = settings_.ranks;
    ranks.arguments = context.arguments;
    ranks.parts = data.parts();
    if (ranks.ranks > 0) pass_terminal_on();
    const comm::Fingerprint fingerprint{{"command", context.provenance.made_by},
                                        {"data", train::data_checksum(data)}};
    return run::run_ranked(ranks, fingerprint, [&](const comm::Communicator& comm) {
        return train(comm, options, context);
    });
}

/// As a folder may be called: the row's number keeps the order of the table.
std::string folder_name(std::size_t row, std::size_t rows, const std::string& text) {
    constexpr std::size_t longest = 80;
    std::string name = fmt::format("{:0{}}-", row + 1, std::to_string(rows).size());
    for (const char c : text.substr(0, longest)) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
        if (plain || name.back() != '-') name += plain ? c : '-';
    }
    while (name.back() == '-')
        name.pop_back();
    return name;
}

/// All policies one after the other, in the same ranks.
int CompareVerb::train(const comm::Communicator& comm, const train::TrainOptions& options,
                       const Context& context) {
    run::share_cores(comm, context.threads);
    const partition::PartitionedDataset data(settings_.data);
    const std::filesystem::path out = settings_.out;
    if (comm.rank() == 0 && !out.empty()) Staging::folder(out, settings_.existing()).commit();
    std::vector<Contender> all;
    bool floor_known = false;
    const auto asked = contenders(options);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        Contender& one = all.emplace_back();
        one.options = asked[i];
        one.steered = !agents_.empty() || one.options.steer.agent != "never";
        if (comm.rank() == 0) warn_of_idle_agent(one.options);
        one.options.verify = options.verify && i == 0;
        // All see the same steps with the same buffer, so one of them finds the floor for all;
        // not the one without a buffer, if it can be helped.
        const bool last = i + 1 == asked.size();
        one.options.floor =
            !floor_known && (last || train::policy_of(one.options).name() != "none");
        floor_known = floor_known || one.options.floor;
        if (!out.empty()) one.folder = out / folder_name(i, asked.size(), one.policy());
        const bool first = comm.rank() == 0;
        TrainView view({.live = first && !context.quiet && live_terminal(),
                        .lines = first && !context.json,
                        .title = fmt::format("{} ({} of {})", one.policy(), i + 1, asked.size()),
                        .epochs = one.options.epochs,
                        .ranks = comm.size()});
        train_one(comm, data, one, view, context);
        if (one.result.interrupted) return static_cast<int>(ErrorKind::interrupted);
        if (one.result.digest != all.front().result.digest) {
            throw Error(ErrorKind::failed,
                        fmt::format("{} and {} trained differently (digests {} and {})",
                                    one.policy(), all.front().policy(), to_hex(one.result.digest),
                                    to_hex(all.front().result.digest)),
                        settings_.data, "a buffer must not change a result: report this");
        }
    }
    if (comm.rank() != 0) return 0;
    if (!out.empty()) add_floor(all);
    show(all, comm, data, context);
    return 0;
}

void CompareVerb::train_one(const comm::Communicator& comm,
                            const partition::PartitionedDataset& data, Contender& one,
                            TrainView& view, const Context& context) const {
    train::Trainer trainer(comm, data, one.options);
    run::TrainObservers observers;
    const train::RunFacts known = run_facts_of(comm, data, settings_);
    std::optional<run::RunRecorder> recorder;
    if (comm.rank() == 0 && (!one.folder.empty() || settings_.sinks.port)) {
        std::optional<run::RunFolder> folder;
        if (!one.folder.empty())
            folder.emplace(one.folder, Existing::refuse, context.provenance.config);
        Json card =
            run::run_facts(comm, data, settings_.data, one.options, settings_.ranks, trainer);
        card["title"] = one.policy();
        recorder.emplace(std::move(folder), card, settings_.sinks, run::RunPosition(),
                         known.regression);
    }
    run::RunRecorder* const records = recorder ? &*recorder : nullptr;
    if (records != nullptr) observers.add(*records);
    observers.add(view);
    one.result = run::recorded(records, [&] { return trainer.run(observers); });
    if (records == nullptr) return;
    one.summary = train::summary_json(one.result, one.options, known);
    one.summary["sinks"] = records->close(one.result.cpu_seconds);
    one.result.interrupted ? records->interrupt() : records->finish(one.summary);
}

/// The floor is found by one run and holds for all.
void CompareVerb::add_floor(std::span<const Contender> all) const {
    const auto found = std::ranges::find_if(
        all, [](const Contender& one) { return one.result.floor.has_value(); });
    if (found == all.end()) return;
    for (const Contender& one : all) {
        Json summary = one.summary;
        summary["rows"]["floor"] = *found->result.floor;
        Staging staging = Staging::file(one.folder / "summary.json", Existing::replace);
        write_text(staging.path(), summary.dump(2) + "\n");
        staging.commit();
    }
}

double ratio(std::uint64_t a, std::uint64_t b) {
    return b == 0 ? (a == 0 ? 1 : 0) : static_cast<double>(a) / static_cast<double>(b);
}

std::string table_text(std::span<const Contender> all, std::uint64_t floor, int ranks) {
    std::vector<std::string> header{"policy",   "fetched", "demand", "replacement",
                                    "ahead",    "wasted",  "hits",   "bytes",
                                    "stall ms", "step ms", "test",   "of floor"};
    const bool steered = std::ranges::any_of(all, &Contender::steered);
    if (steered) header.insert(header.end(), {"excess", "regret"});
    Table table(header);
    for (const Contender& one : all) {
        const train::TrainResult& r = one.result;
        const train::Score score =
            r.best_epoch ? r.epochs[*r.best_epoch].scores.test : train::Score{};
        std::vector<std::string> cells{
            one.policy(),
            format_count(one.fetched()),
            format_count(r.rows.demand),
            format_count(r.rows.replacement),
            format_count(r.rows.ahead),
            format_count(r.rows.wasted),
            format_count(r.rows.hit),
            format_bytes(r.bytes.features),
            fmt::format("{:.2f}", one.milliseconds(r.step_seconds.stall, ranks)),
            fmt::format("{:.2f}", one.milliseconds(r.step_seconds.step, ranks)),
            score.answers == 0 ? "-" : fmt::format("{:.2f} %", score.share() * 100),
            floor == 0 ? "-" : fmt::format("{:.3f}", ratio(one.fetched(), floor))};
        if (steered) {
            const train::SummaryAgent agent = train::agent_summary(r, one.options);
            cells.push_back(agent.excess ? fmt::format("{:+.1f} %", *agent.excess * 100) : "-");
            cells.push_back(regret_text(agent));
        }
        table.add(std::move(cells));
    }
    return table.text();
}

/// What follows for the user, in one sentence.
std::string advice(std::span<const Contender> all, std::uint64_t floor, int ranks) {
    const auto step = [ranks](const Contender& one) {
        return one.milliseconds(one.result.step_seconds.step, ranks);
    };
    const auto& fewest = *std::ranges::min_element(all, {}, &Contender::fetched);
    const auto& fastest = *std::ranges::min_element(all, {}, step);
    const auto& most = *std::ranges::max_element(all, {}, &Contender::fetched);
    if (most.fetched() == 0) {
        return "No remote rows were needed: no policy can gain anything here.";
    }
    std::string text = fmt::format(
        "{} fetched the fewest rows: {:.2f} times those of {}, {:.3f} times the fewest possible",
        fewest.policy(), ratio(fewest.fetched(), most.fetched()), most.policy(),
        ratio(fewest.fetched(), floor));
    if (&fastest == &fewest) {
        text += fmt::format(", and its steps were the fastest ({:.2f} ms, {}: {:.2f} ms).",
                            step(fewest), most.policy(), step(most));
    } else {
        text += fmt::format(", while the steps of {} were the fastest ({:.2f} ms, {}: {:.2f} ms).",
                            fastest.policy(), step(fastest), fewest.policy(), step(fewest));
    }
    return text;
}

void CompareVerb::show(std::span<const Contender> all, const comm::Communicator& comm,
                       const partition::PartitionedDataset& data, const Context& context) const {
    std::uint64_t floor = 0;
    for (const Contender& one : all)
        floor = one.result.floor.value_or(floor);
    if (!context.json) {
        const bool live = !context.quiet && live_terminal();
        print_below_view(table_text(all, floor, comm.size()), live);
        print_below_view(
            fmt::format("\nAll digests are equal ({}). {}\n", to_hex(all.front().result.digest),
                        advice(all, floor, comm.size())),
            live);
        return;
    }
    const train::RunFacts known = run_facts_of(comm, data, settings_);
    Json list = Json::array();
    for (const Contender& one : all) {
        train::TrainResult result = one.result;
        result.floor = floor;
        list.push_back(train::summary_json(result, one.options, known));
        list.back()["of_floor"] = floor == 0 ? Json(nullptr) : Json(ratio(one.fetched(), floor));
    }
    print_json(list);
}

}  // namespace

std::unique_ptr<Verb> make_compare_verb() {
    return std::make_unique<CompareVerb>();
}

}  // namespace rudder::cli
