// Folders of runs that never were, for tests of reports: plausible numbers by seed.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/json.hpp"

namespace rudder::test {

struct FakeRun {
    std::uint64_t steps = 12;
    std::uint64_t ranks = 3;
    std::uint64_t steps_per_epoch = 4;
    std::uint64_t seed = 0;
    std::string name = "parts";  ///< of the data
};

inline void write_file(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
}

/// A line of metrics.jsonl.
inline Json fake_step(const FakeRun& run, std::uint64_t step, std::uint64_t rank) {
    std::uint64_t state = run.seed * 1000003 + step * 101 + rank;
    const auto draw = [&](std::uint64_t below) {
        state += 0x9E3779B97F4A7C15;
        std::uint64_t z = state;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9;
        return (z ^ (z >> 27U)) % below;
    };
    const std::uint64_t local = draw(2000);
    const std::uint64_t hit = draw(1000);
    const std::uint64_t demand = draw(800);
    const double compute = 0.001 * static_cast<double>(draw(50));
    const double stall = 0.001 * static_cast<double>(draw(20));
    const double reduce = 0.001 * static_cast<double>(draw(10));
    Json owners = Json::array();
    for (std::uint64_t o = 0; o < run.ranks; ++o)
        owners.push_back(o == rank ? 0 : draw(90000));
    return {{"step", step},
            {"epoch", step / run.steps_per_epoch},
            {"rank", rank},
            {"loss", 3.0 / static_cast<double>(step + 1)},
            {"seconds",
             {{"step", compute + stall + reduce + 0.001},
              {"sample", 0.0001},
              {"fetch", 0.002},
              {"stall", stall},
              {"compute", compute},
              {"reduce", reduce},
              {"wait_rows", stall},
              {"wait_gradients", reduce / 4},
              {"wait_ranks", reduce - reduce / 4},
              {"wait_agent", 0.0},
              {"rest", 0.001}}},
            {"rows",
             {{"needed", local + hit + demand},
              {"local", local},
              {"hit", hit},
              {"demand", demand},
              {"replacement", draw(50)},
              {"ahead", draw(30)},
              {"wasted", 0},
              {"saved", draw(5)}}},
            {"bytes",
             {{"features", draw(1U << 20U)},
              {"requests", 100},
              {"topology", 0},
              {"gradients", 5000},
              {"evaluation", 0},
              {"control", 10}}},
            {"bytes_by_owner", owners},
            {"learned", demand % 7},
            {"edges", draw(10000)},
            {"knobs",
             {{"policy", step < run.steps / 2 ? "lru" : "window:16"},
              {"window", 16},
              {"capacity", 500},
              {"bulk", 0},
              {"sample_threads", 1},
              {"fetch_threads", 1},
              {"demand_first", 1},
              {"in_flight", 2},
              {"buckets", 0}}}};
}

inline std::string fake_metrics(const FakeRun& run) {
    std::string text;
    for (std::uint64_t step = 0; step < run.steps; ++step) {
        for (std::uint64_t rank = 0; rank < run.ranks; ++rank)
            text += fake_step(run, step, rank).dump() + "\n";
    }
    return text;
}

/// A line of decisions.jsonl.
inline Json fake_decision(std::uint64_t step, std::uint64_t rank, const std::string& action,
                          const Json& correct) {
    Json line{{"step", step},
              {"rank", rank},
              {"agent", "bandit"},
              {"observation", {{"rows", {{"hit", 3}}}, {"history", Json::array()}}},
              {"action", {{"action", action}}},
              {"effective_step", step + 1},
              {"reason", "shadow_better"},
              {"latency", 0.001},
              {"status", "applied"},
              {"outcome", nullptr},
              {"alternatives", Json::array()},
              {"note", "tried something: took it"},
              {"run", "x"}};
    if (action == "set") line["action"]["knobs"] = {{"window", 32}, {"policy", "window:32"}};
    if (!correct.is_null()) {
        line["outcome"] = {{"steps", 8},
                           {"rows", correct == true ? 80.0 : 100.0},
                           {"hit_rate", 0.5},
                           {"seconds", 0.0},
                           {"correct", correct}};
        line["alternatives"] = {{{"action", {{"action", "keep"}}}, {"rows", 90.0}}};
    }
    return line;
}

inline std::string fake_decisions() {
    return fake_decision(2, 0, "keep", nullptr).dump() + "\n" +
           fake_decision(4, 0, "set", true).dump() + "\n" +
           fake_decision(6, 1, "replace", false).dump() + "\n";
}

inline Json fake_summary(const FakeRun& run) {
    return {{"schema", 1},
            {"version", "0.1.0"},
            {"data", run.name},
            {"model", "sage"},
            {"policy", "lru"},
            {"ranks", run.ranks},
            {"hosts", run.ranks},
            {"epochs", run.steps / run.steps_per_epoch},
            {"steps", run.steps},
            {"steps_per_epoch", run.steps_per_epoch},
            {"interrupted", false},
            {"best_epoch", 2},
            {"accuracy", {{"train", 0.95}, {"valid", 0.9125}, {"test", 0.8875}}},
            {"loss", {{"first", 3.0}, {"last", 0.25}, {"digest", "0123"}}},
            {"seconds",
             {{"total", 12.5}, {"step", 10.0}, {"compute", 6.0}, {"stall", 2.0}, {"reduce", 1.0}}},
            {"rows",
             {{"needed", 10000},
              {"local", 4000},
              {"hit", 4500},
              {"demand", 1500},
              {"replacement", 100},
              {"ahead", 50},
              {"floor", 1320}}},
            {"agent",
             {{"name", "bandit"},
              {"decisions", 3},
              {"applied", 2},
              {"judged", 2},
              {"correct", 0.5},
              {"regret", -0.125}}}};
}

inline Json fake_run_json(const FakeRun& run) {
    return {{"schema", 1},
            {"version", "0.1.0"},
            {"command", {"rudder", "train", run.name, "--out", "my run"}},
            {"started", "2026-11-15T12:00:00Z"},
            {"ended", "2026-11-15T12:00:13Z"},
            {"host", "here"},
            {"pid", 1},
            {"ranks", run.ranks},
            {"data", run.name},
            {"partition",
             {{"kind", "partition"},
              {"vertices", 1000},
              {"edges", 5000},
              {"parts", run.ranks},
              {"method", "metis"},
              {"cut", 0.25},
              {"balance", 1.01},
              {"train_balance", 1.02},
              {"edge_balance", 1.03},
              {"halo", {10, 20, 30}}}},
            {"epochs", run.steps / run.steps_per_epoch},
            {"steps_per_epoch", run.steps_per_epoch},
            {"policy", "lru"},
            {"agent", "bandit"},
            {"state", "finished"}};
}

inline std::string fake_epochs(const FakeRun& run) {
    std::string text;
    for (std::uint64_t e = 0; e < run.steps / run.steps_per_epoch; ++e) {
        const double grown = 0.8875 - 0.1 / static_cast<double>(e + 1);
        text += Json{{"epoch", e},
                     {"steps", run.steps_per_epoch},
                     {"loss", 1.0 / static_cast<double>(e + 1)},
                     {"seconds", 4.0},
                     {"evaluation_seconds", 0.5},
                     {"accuracy", {{"train", grown}, {"valid", grown}, {"test", grown}}}}
                    .dump() +
                "\n";
    }
    return text;
}

/// All files of a run that went well.
inline void write_fake_run(const std::filesystem::path& folder, const FakeRun& run = {}) {
    std::filesystem::create_directories(folder);
    write_file(folder / "metrics.jsonl", fake_metrics(run));
    write_file(folder / "decisions.jsonl", fake_decisions());
    write_file(folder / "epochs.jsonl", fake_epochs(run));
    write_file(folder / "summary.json", fake_summary(run).dump(2));
    write_file(folder / "run.json", fake_run_json(run).dump(2));
    write_file(folder / "config.toml", "seed = 0\n");
}

}  // namespace rudder::test
