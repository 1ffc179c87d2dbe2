#include "checkpoint.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/fields_json.hpp"
#include "core/json.hpp"
#include "core/safetensors.hpp"
#include "core/staging.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"
#include "train/evaluation/pace.hpp"
#include "train/learned/learned_file.hpp"

#include "options_json.hpp"

namespace rudder::train {

Json to_json(const RunState& state) {
    Json json = fields_json(state);
    json["digest"] = to_hex(state.digest);
    return json;
}

RunState run_state_from_json(const Json& json, const std::string& where) {
    auto state = fields_from_json<RunState>(json, where);
    state.digest = from_hex(json_string(json, "digest", where), where);
    // Earlier versions did not keep it.
    if (!json_field(json, "counts", where).contains("received_total"))
        state.counts.received_total = state.counts.bytes.total();
    return state;
}

namespace fs = std::filesystem;

namespace {

constexpr const char* weights_file = "weights.safetensors";
constexpr const char* optimiser_file = "optimiser.safetensors";
constexpr const char* embeddings_file = "embeddings.safetensors";
constexpr const char* state_file = "state.json";
constexpr const char* best_file = "best.json";
constexpr const char* checkpoints_name = "checkpoints";
constexpr std::string_view folder_prefix = "step-";
constexpr std::string_view best_prefix = "best-";

std::string checksum_of(const fs::path& file) {
    const Region bytes = Region::map(file);
    return to_hex(array_checksum({bytes.data(), bytes.size()}));
}

/// The state's own checksum stands in its last line and is taken of its text with zeroes there, so
/// that no byte of a checkpoint goes unguarded.
constexpr std::string_view seal_key = "\"checksum\": \"";
constexpr std::string_view no_seal = "0000000000000000";

std::string sealed(Json state) {
    state["checksum"] = no_seal;
    std::string text = state.dump(1) + "\n";
    const std::string seal = to_hex(hash_bytes(std::as_bytes(std::span(text))));
    return text.replace(text.rfind(seal_key) + seal_key.size(), no_seal.size(), seal);
}

bool seal_holds(std::string text) {
    const std::size_t key = text.rfind(seal_key);
    if (key == std::string::npos || key + seal_key.size() + no_seal.size() > text.size())
        return false;
    const std::size_t at = key + seal_key.size();
    const std::string seal = text.substr(at, no_seal.size());
    text.replace(at, no_seal.size(), no_seal);
    return seal == to_hex(hash_bytes(std::as_bytes(std::span(text))));
}

/// "damaged: ...", with the way out.
Error damaged(const fs::path& folder, const std::string& what) {
    const auto all = list_checkpoints(folder.parent_path().parent_path());
    const auto here = std::ranges::find(all, folder);
    const bool before = here != all.end() && here != all.begin();
    return input_error(
        fmt::format("the checkpoint is damaged: {}", what), folder.string(),
        before ? fmt::format("remove that folder to resume from {}", (here - 1)->string())
               : "remove that folder to start again");
}

void write_tensors(const fs::path& folder, const Checkpoint& c) {
    std::vector<TensorToWrite> weights;
    for (const nn::Parameter& p : c.parameters) {
        weights.push_back({p.name, p.shape, std::span(c.weights).subspan(p.offset, p.size)});
    }
    write_safetensors(folder / weights_file, weights,
                      {{"format", "pt"}, {"model", c.identity.network.model}});
    std::vector<TensorToWrite> memory;
    const auto flat = [](const std::vector<float>& values) {
        return std::vector<std::int64_t>{static_cast<std::int64_t>(values.size())};
    };
    for (const NamedFloats& m : c.memory)
        memory.push_back({m.name, flat(m.values), m.values});
    if (!c.under_evaluation.empty()) {
        memory.push_back({"under_evaluation", flat(c.under_evaluation), c.under_evaluation});
    }
    write_safetensors(folder / optimiser_file, memory, {});
    if (!c.learned.values.empty()) write_learned(folder / embeddings_file, c.learned);
}

Json parameters_json(std::span<const nn::Parameter> parameters) {
    Json list = Json::array();
    for (const nn::Parameter& p : parameters)
        list.push_back(json_object({{"name", p.name}, {"shape", p.shape}, {"offset", p.offset}}));
    return list;
}

/// Checked before anything is allocated: the file may come from anywhere.
Error bad_parameters(const std::string& what, const std::string& where) {
    return input_error("invalid parameters: " + what, where, "use another checkpoint");
}

std::vector<nn::Parameter> parameters_from(const Json& json, const std::string& where) {
    if (!json.is_array()) throw bad_parameters("not a list", where);
    std::vector<nn::Parameter> parameters;
    for (const Json& entry : json) {
        nn::Parameter p;
        p.name = json_string(entry, "name", where);
        p.offset = json_u64(entry, "offset", where);
        p.size = 1;
        for (const Json& side : json_field(entry, "shape", where)) {
            if (!side.is_number_unsigned() || side.get<std::uint64_t>() >> 63U != 0)
                throw bad_parameters("invalid shape: not all whole numbers", where);
            p.shape.push_back(side.get<std::int64_t>());
            p.size = checked_mul(p.size, side.get<std::size_t>(), "parameter size");
        }
        parameters.push_back(std::move(p));
    }
    return parameters;
}

/// The flat weights, each parameter in its place.
std::vector<float> flat_weights(const Safetensors& file, std::span<const nn::Parameter> parameters,
                                std::uint64_t count, const std::string& where) {
    constexpr std::uint64_t most_between = 1024;  // floats between two parameters, for alignment
    std::uint64_t most = most_between;
    for (const nn::Parameter& p : parameters)
        most += file.tensor(p.name, p.shape).size() + most_between;
    if (count > most)
        throw bad_parameters(fmt::format("{} weights, the file has fewer", count), where);
    std::vector<float> weights(count);
    for (const nn::Parameter& p : parameters) {
        if (p.size > count || p.offset > count - p.size)
            throw bad_parameters("a weight out of bounds", where);
        std::ranges::copy(file.tensor(p.name, p.shape),
                          weights.begin() + static_cast<std::ptrdiff_t>(p.offset));
    }
    return weights;
}

/// state.json, verified.
Json read_state(const fs::path& folder) {
    const fs::path file = folder / state_file;
    // A run may come from anywhere: none of its files is chosen by a link that leads elsewhere.
    if (folder.parent_path().filename() == checkpoints_name)
        check_inside(folder.parent_path(), folder);
    for (const char* name : {state_file, weights_file, optimiser_file, embeddings_file})
        check_inside(folder, folder / name);
    Json state;
    std::string text;
    try {
        // It may hold as many class names as a manifest.
        text = read_text(file, std::uint64_t{64} << 20);
        state = parse_json(text, file.string());
    } catch (const Error& error) {
        throw damaged(folder, error.problem());
    }
    const std::string where = file.string();
    if (!state.is_object() || !state.contains("format") || state["format"] != checkpoint_format)
        throw damaged(folder, "state.json is of something else");
    const std::uint64_t version = json_u64(state, "version", where);
    if (version > checkpoint_version) {
        throw input_error(fmt::format("a checkpoint of version {}, newer than this program's {}",
                                      version, checkpoint_version),
                          folder.string(), "use the program that wrote it, or a newer one");
    }
    if (!seal_holds(text)) throw damaged(folder, "state.json does not match its checksum");
    return state;
}

void verify_files(const fs::path& folder, const Json& state) {
    const std::string where = (folder / state_file).string();
    for (const auto& [name, sum] : json_field(state, "files", where).items()) {
        if (fs::path(name).filename() != name || !sum.is_string())
            throw damaged(folder, "state.json names files that are not its own");
        check_inside(folder, folder / name);
        std::error_code code;
        if (!fs::exists(folder / name, code)) throw damaged(folder, name + " is missing");
        if (checksum_of(folder / name) != sum.get<std::string>())
            throw damaged(folder, name + " does not match its checksum in state.json");
    }
}

/// "batch: 1000, now 500".
std::vector<std::string> differences(const Json& saved, const Json& now) {
    std::vector<std::string> list;
    for (const auto& [key, value] : saved.items()) {
        if (!now.contains(key) || now.at(key) != value) {
            list.push_back(fmt::format("{}: {}, now {}", key, value.dump(),
                                       now.contains(key) ? now.at(key).dump() : "nothing"));
        }
    }
    return list;
}

void write_folder(const fs::path& output, const Checkpoint& c) {
    Staging staging = Staging::folder(output, Existing::replace);
    write_tensors(staging.path(), c);
    Json state = json_object(
        {{"format", checkpoint_format},
         {"version", checkpoint_version},
         {"network", network_json(c.identity.network)},
         {"training", training_json(c.identity.train)},
         {"data", c.identity.data},
         {"data_checksum", c.identity.data_checksum},
         {"weights", c.weights.size()},
         {"parameters", parameters_json(c.parameters)},
         {"optimiser_steps", c.optimiser_steps},
         {"state", to_json(c.state)},
         {"open_decisions", c.open_decisions},
         {"files", json_object({{weights_file, checksum_of(staging.path() / weights_file)},
                                {optimiser_file, checksum_of(staging.path() / optimiser_file)}})}});
    if (c.identity.trained_on) state["trained_on"] = to_json(*c.identity.trained_on);
    if (!c.learned.values.empty())
        state["files"][embeddings_file] = checksum_of(staging.path() / embeddings_file);
    write_text(staging.path() / state_file, sealed(std::move(state)));
    staging.commit();
}

std::vector<fs::path> list_folders(const fs::path& run, std::string_view prefix) {
    std::vector<fs::path> list;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(run / checkpoints_name, code)) {
        if (entry.path().filename().string().starts_with(prefix)) list.push_back(entry.path());
    }
    std::ranges::sort(list);
    return list;
}

}  // namespace

void copy_floats(std::span<const float> values, std::vector<float>& copy) {
    constexpr std::size_t floats_per_chunk = std::size_t{1} << 18;
    copy.resize(values.size());
    parallel_chunks(values.size(), floats_per_chunk, [&](const Chunk& chunk) {
        std::copy_n(values.data() + chunk.begin, chunk.end - chunk.begin,
                    copy.data() + chunk.begin);
    });
}

fs::path checkpoint_folder(const fs::path& run, std::uint64_t step) {
    return run / checkpoints_name / fmt::format("{}{:010}", folder_prefix, step);
}

fs::path best_folder(const fs::path& run, std::uint64_t step) {
    return run / checkpoints_name / fmt::format("{}{:010}", best_prefix, step);
}

std::optional<std::uint64_t> checkpoint_step(const fs::path& folder) {
    const std::string name = folder.filename().string();
    if (!name.starts_with(folder_prefix) && !name.starts_with(best_prefix)) return std::nullopt;
    return parse_u64(std::string_view(name).substr(folder_prefix.size()));
}

std::optional<std::uint64_t> best_step(const RunState& state) {
    if (!state.best_epoch || *state.best_epoch >= state.epochs.size()) return std::nullopt;
    const EpochRecord& epoch = state.epochs[*state.best_epoch];
    return (std::uint64_t{epoch.epoch} + 1) * epoch.steps;
}

fs::path write_checkpoint(const fs::path& run, const Checkpoint& c) {
    fs::path output = checkpoint_folder(run, c.state.step);
    write_folder(output, c);
    return output;
}

fs::path write_best(const fs::path& run, const Checkpoint& c) {
    fs::path output = best_folder(run, c.state.step);
    write_folder(output, c);
    return output;
}

std::vector<fs::path> list_checkpoints(const fs::path& run) {
    return list_folders(run, folder_prefix);
}

std::vector<fs::path> list_best(const fs::path& run) {
    return list_folders(run, best_prefix);
}

RunState read_run_state(const fs::path& folder) {
    const std::string where = (folder / state_file).string();
    return run_state_from_json(json_field(read_state(folder), "state", where), where);
}

Checkpoint read_checkpoint(const fs::path& folder) {
    const Json state = read_state(folder);
    verify_files(folder, state);
    const std::string where = (folder / state_file).string();
    Checkpoint c;
    c.identity.network = network_from_json(json_field(state, "network", where), where);
    c.identity.train = training_from_json(json_field(state, "training", where), where);
    check_trained_as(c.identity.network, c.identity.train, where);
    c.identity.data = json_string(state, "data", where);
    c.identity.data_checksum = json_string(state, "data_checksum", where);
    c.identity.version = json_u64(state, "version", where);
    if (state.contains("trained_on"))
        c.identity.trained_on = trained_on_from_json(state["trained_on"], where);
    c.parameters = parameters_from(json_field(state, "parameters", where), where);
    c.optimiser_steps = json_u64(state, "optimiser_steps", where);
    c.state = run_state_from_json(json_field(state, "state", where), where);
    // Earlier versions did not keep them.
    if (state.contains("open_decisions"))
        detail::read_member(state, "open_decisions", where, c.open_decisions);
    c.weights = flat_weights(Safetensors(folder / weights_file), c.parameters,
                             json_u64(state, "weights", where), where);
    if (json_field(state, "files", where).contains(embeddings_file))
        c.learned = read_learned(folder / embeddings_file);
    const Safetensors memory(folder / optimiser_file);
    for (const auto& [name, tensor] : memory.tensors()) {
        std::vector<float> values(tensor.values.begin(), tensor.values.end());
        if (name == "under_evaluation") {
            c.under_evaluation = std::move(values);
        } else {
            c.memory.push_back({name, std::move(values)});
        }
    }
    return c;
}

void check_same_run(const RunIdentity& saved, const RunIdentity& now, const std::string& where) {
    if (saved.version != now.version) {
        throw input_error(
            fmt::format("a checkpoint of version {}: steps had other seeds before version {}",
                        saved.version, now.version),
            where, "resume it with the program that wrote it, or train anew with another --out");
    }
    if (saved.data_checksum != now.data_checksum) {
        throw input_error(
            fmt::format("the run was trained on other data: {} (checksum {}), now {} (checksum {})",
                        saved.data, saved.data_checksum, now.data, now.data_checksum),
            where, "give the data set it was trained on, or another --out");
    }
    Json before = training_json(saved.train);
    Json after = training_json(now.train);
    // More epochs are the same training as long as the learning rate does not depend on the end.
    const std::string& schedule = saved.train.lr_schedule;
    const bool to_the_end = schedule.starts_with("cosine") || schedule.starts_with("linear");
    if (!to_the_end && now.train.epochs >= saved.train.epochs) {
        before.erase("epochs");
        after.erase("epochs");
    }
    // Unless something waits for scores, how often they are computed changes nothing.
    if (!awaits_scores(saved.train)) {
        before.erase("eval-every");
        after.erase("eval-every");
    }
    std::vector<std::string> all = differences(before, after);
    if (all.empty()) all = differences(network_json(saved.network), network_json(now.network));
    if (all.empty()) return;
    std::string list;
    for (const std::string& each : all)
        list += (list.empty() ? "" : "; ") + each;
    throw usage_error(fmt::format("the run was started with other options: {}", list), where,
                      "resume with the options of its config.toml, or choose another --out");
}

void mark_best(const fs::path& run, const fs::path& checkpoint) {
    Staging staging = Staging::file(run / checkpoints_name / best_file, Existing::replace);
    write_text(staging.path(),
               json_object({{"checkpoint", checkpoint.filename().string()}}).dump() + "\n");
    staging.commit();
}

std::optional<fs::path> best_checkpoint(const fs::path& run) {
    const fs::path file = run / checkpoints_name / best_file;
    std::error_code code;
    if (!fs::exists(file, code)) return std::nullopt;
    check_inside(file.parent_path(), file);
    const std::string name = json_string(read_json(file), "checkpoint", file.string());
    const fs::path folder = run / checkpoints_name / name;
    if (!checkpoint_step(folder) || fs::path(name).filename() != name) {
        throw input_error(fmt::format("invalid checkpoint name: '{}'", name), file.string(),
                          "remove the file: the last checkpoint is taken then");
    }
    if (!fs::exists(folder, code)) return std::nullopt;
    return folder;
}

void settle_best(const fs::path& run, std::uint64_t step, std::optional<std::uint64_t> best) {
    const auto marked = best_checkpoint(run);
    const auto marked_step = marked ? checkpoint_step(*marked) : std::nullopt;
    if (marked_step && *marked_step <= step) return;
    std::error_code code;
    for (const fs::path& folder :
         {checkpoint_folder(run, best.value_or(0)), best_folder(run, best.value_or(0))}) {
        if (best && fs::exists(folder, code)) return mark_best(run, folder);
    }
    fs::remove(run / checkpoints_name / best_file, code);
}

namespace {

/// The checkpoint to use now.
fs::path choose_checkpoint(const fs::path& run) {
    if (auto best = best_checkpoint(run)) return *best;
    const auto all = list_checkpoints(run);
    if (!all.empty()) return all.back();
    throw input_error("the run has no checkpoint", run.string(),
                      "wait for its first one if it is still running, or train with --out and "
                      "--checkpoint-every 1 (the default)");
}

/// A run that is being written removes old checkpoints: whoever was reading one takes the next.
Checkpoint read_chosen(const fs::path& run, fs::path& folder) {
    for (;;) {
        folder = choose_checkpoint(run);
        try {
            return read_checkpoint(folder);
        } catch (const Error&) {
            if (choose_checkpoint(run) == folder) throw;
        }
    }
}

/// The best epoch's step that the last checkpoint knows of, where it is later than that of the
/// weights that are used: its own were not kept.
std::optional<std::uint64_t> lost_best(const fs::path& run, std::uint64_t used) {
    const auto all = list_checkpoints(run);
    if (all.empty()) return std::nullopt;
    try {
        const auto best = best_step(read_run_state(all.back()));
        const bool lost = best && (best_checkpoint(run) ? *best > used : *best != used);
        return lost ? best : std::nullopt;
    } catch (const Error&) {
        return std::nullopt;  // one that is being removed tells nothing
    }
}

/// What of a checkpoint is needed to use its network.
SavedNetwork usable(Checkpoint c, fs::path folder) {
    SavedNetwork saved;
    saved.options = c.identity.network;
    saved.weights = std::move(c.weights);
    saved.rows = std::move(c.learned.values);
    saved.step = c.state.step;
    saved.epoch = static_cast<std::uint32_t>(c.state.epochs.size());
    saved.checkpoint = std::move(folder);
    saved.data = c.identity.data;
    saved.data_checksum = c.identity.data_checksum;
    saved.train = c.identity.train;
    saved.trained_on = std::move(c.identity.trained_on);
    return saved;
}

}  // namespace

SavedNetwork load_network(const fs::path& folder) {
    std::error_code code;
    if (!fs::is_directory(folder, code)) {
        throw input_error("run not found", folder.string(),
                          "give the folder that 'rudder train --out' made");
    }
    if (fs::exists(folder / state_file, code)) return usable(read_checkpoint(folder), folder);
    fs::path chosen;
    Checkpoint c = read_chosen(folder, chosen);
    const auto lost = lost_best(folder, c.state.step);
    SavedNetwork saved = usable(std::move(c), std::move(chosen));
    saved.lost_best = lost;
    return saved;
}

}  // namespace rudder::train
