// rudder bench: what this machine and its network can do, and what limits a run on them.
#include <array>
#include <chrono>
#include <filesystem>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/bind_options.hpp"
#include "cli/describe.hpp"
#include "cli/train_settings.hpp"
#include "cli/verb.hpp"
#include "comm/launcher.hpp"
#include "comm/network_bench.hpp"
#include "core/json.hpp"
#include "core/staging.hpp"
#include "core/system.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/version.hpp"
#include "rudder/run/ranks.hpp"
#include "run/compute_bench.hpp"

#include "bench_text.hpp"

namespace rudder::cli {

namespace {

constexpr double whole_seconds = 60;
constexpr double quick_seconds = 10;
constexpr VertexId whole_vertices = 100'000;
constexpr VertexId quick_vertices = 10'000;

/// What bench has of its own.
struct BenchForm {
    std::string out;
    bool force = false;
    bool quick = false;
    std::optional<double> seconds{};
    std::string profile;
    std::string parts;
    run::PlannedRun planned;
};

std::span<const Setting<BenchForm>> bench_table() {
    using O = BenchForm;
    static const std::array table{
        setting<O, &O::out>("out", "Write the machine profile to this TOML file").in("FILE"),
        setting<O, &O::force>("force", "Replace that file"),
        setting<O, &O::quick>("quick", "A smaller graph, and ten seconds instead of a minute"),
        setting<O, &O::seconds>("seconds", "Time to measure in, about (60; quick: 10)")
            .limit(0, 3600)
            .above(0)
            .in("SECONDS"),
        setting<O, &O::profile>("profile",
                                "Measure nothing: read a profile, or built-in:NAME\n"
                                "(ethernet-1g, ethernet-10g, ethernet-25g, infiniband-100g)")
            .in("FILE"),
        setting<O, &O::parts>("for", "Say what limits a run on this partition, a rank per part")
            .in("PARTS")
            .offering([] { return std::vector{any_folder}; }),
    };
    return table;
}

/// Options of the run that --for plans.
std::span<const Setting<BenchForm>> plan_table() {
    using O = BenchForm;
    using P = run::PlannedRun;
    constexpr double most_width = 65536;
    constexpr double most_batch = 4294967295;
    constexpr double most_buffer = 1e6;
    static const std::array table{
        setting<O, &O::planned, &P::fanout>(
            "fanout", "Neighbours per layer, input side first (10,25)", Marks::derived)
            .limit(1, most_width),
        setting<O, &O::planned, &P::batch>("batch", "Batch size (about 20 steps per epoch)",
                                           Marks::derived)
            .limit(1, most_batch),
        setting<O, &O::planned, &P::hidden>("hidden", "Width of hidden layers")
            .limit(1, most_width),
        setting<O, &O::planned, &P::buffer>("buffer", "Buffer size as a fraction of the halo")
            .limit(0, most_buffer),
        setting<O, &O::planned, &P::window>("window", "Look-ahead in steps").limit(1, most_buffer),
        setting<O, &O::planned, &P::precision>("precision", "Precision of feature rows")
            .among({"native", "float32", "bfloat16", "int8", "int4"}),
    };
    return table;
}

std::string host_name() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

/// What carries messages between the ranks.
std::string carrier_name() {
    return comm::launched_with() == comm::Carrier::sockets ? "sockets" : "MPI";
}

std::string now_in_utc() {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

class BenchVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "bench"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Measure this machine and its network; say what limits a run on them";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder bench --quick --ranks 2 --out here.toml";
    }
    void define(CLI::App& app) override {
        app_ = &app;
        bind_options(app, bench_table(), form_);
        bind_options(app, plan_table(), form_);
        bind_ranks(app, ranks_, HelpListing::all);
    }
    void settle() override {
        if (form_.parts.empty()) {
            for (const Setting<BenchForm>& each : plan_table()) {
                if (!given(*app_, fmt::format("--{}", each.name))) continue;
                throw usage_error(fmt::format("--{} requires --for", each.name),
                                  std::string(each.name), "name a partition with --for");
            }
        }
        if (form_.profile.empty()) return;
        for (const std::string_view measuring : {"quick", "seconds", "ranks", "link"}) {
            if (!given(*app_, fmt::format("--{}", measuring))) continue;
            throw usage_error(fmt::format("--profile and --{} exclude each other", measuring),
                              "profile", "leave one of them out: a profile is read, not measured");
        }
    }
    int run(const Context& context) override {
        ranks_.arguments = context.arguments;
        if (!form_.out.empty() && !form_.force && std::filesystem::exists(form_.out)) {
            throw usage_error("the output exists already", form_.out,
                              "choose another name, or give --force to replace it");
        }
        // What is wrong with them should not be found after a minute of measuring.
        std::optional<MachineProfile> read;
        if (!form_.profile.empty()) read = read_machine_profile(form_.profile);
        std::optional<partition::PartitionedDataset> data;
        if (!form_.parts.empty()) data.emplace(form_.parts);
        return run::run_ranked(ranks_, {{"verb", "bench"}}, [&](const comm::Communicator& comm) {
            const MachineProfile profile = read ? *read : measure(comm, context);
            if (comm.rank() == 0) finish(profile, data, context);
            comm.barrier();
            return 0;
        });
    }

private:
    [[nodiscard]] MachineProfile measure(const comm::Communicator& comm,
                                         const Context& context) const {
        run::share_cores(comm, context.threads);
        const double seconds = form_.seconds.value_or(form_.quick ? quick_seconds : whole_seconds);
        const bool several = comm.size() > 1;
        MachineProfile profile;
        profile.machine = {.name = host_name(),
                           .processor = cpu_info().model,
                           .cores = static_cast<std::uint64_t>(usable_cores()),
                           .memory = memory_info().total,
                           .measured = now_in_utc(),
                           .program = std::string(version())};
        profile.compute =
            run::measure_compute(comm, {.seconds = several ? seconds / 2 : seconds,
                                        .vertices = form_.quick ? quick_vertices : whole_vertices});
        if (several) {
            profile.network = comm::measure_network(comm, seconds / 2);
            profile.network->carrier = carrier_name();
            profile.network->link = ranks_.link;
        }
        return profile;
    }
    /// Writes, plans and prints, on one rank.
    void finish(const MachineProfile& profile,
                const std::optional<partition::PartitionedDataset>& data,
                const Context& context) const {
        if (!form_.out.empty()) {
            Staging staging =
                Staging::file(form_.out, form_.force ? Existing::replace : Existing::refuse);
            write_text(staging.path(), machine_profile_toml(profile));
            staging.commit();
        }
        std::optional<BenchPlan> plan;
        if (data) plan = planned(profile, *data, context);
        if (context.json) {
            Json answer = {{"profile", profile_json(profile)}};
            answer["for"] = plan ? bench_plan_json(*plan) : Json(nullptr);
            context.answer(answer);
        } else {
            print_text(profile_text(profile) + (plan ? bench_plan_text(*plan) : ""));
        }
    }
    [[nodiscard]] BenchPlan planned(const MachineProfile& profile,
                                    const partition::PartitionedDataset& data,
                                    const Context& context) const {
        run::PlannedRun run = form_.planned;
        // As many ranks on a host as were said, else as were measured.
        const std::uint64_t measured = profile.network ? profile.network->ranks.front() : 1;
        run.ranks_per_host = ranks_.ranks_per_host > 0
                                 ? static_cast<std::uint64_t>(ranks_.ranks_per_host)
                                 : measured;
        BenchPlan plan{.parts = form_.parts,
                       .threads = context.threads > 0 ? static_cast<std::uint64_t>(context.threads)
                                                      : profile.compute.back().threads,
                       .work = run::step_work(data, run),
                       .estimate = {},
                       .advice = {}};
        plan.estimate = run::estimate_step(plan.work, profile, plan.threads);
        plan.advice = run::advise(plan.work, run, data.info().features, profile, plan.threads);
        return plan;
    }

    CLI::App* app_ = nullptr;
    BenchForm form_;
    run::RankOptions ranks_;
};

}  // namespace

std::unique_ptr<Verb> make_bench_verb() {
    return std::make_unique<BenchVerb>();
}

}  // namespace rudder::cli
