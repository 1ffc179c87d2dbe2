#include "run_state.hpp"

#include "core/json.hpp"
#include "rudder/core/checksum.hpp"

namespace rudder::train {

namespace {

Json score_json(const Score& score) {
    return {{"correct", score.correct}, {"answers", score.answers}, {"loss", score.loss}};
}

Score score_from(const Json& json, const std::string& where) {
    return {json_u64(json, "correct", where), json_u64(json, "answers", where),
            json_number(json, "loss", where)};
}

Json epoch_json(const EpochRecord& e) {
    return {{"epoch", e.epoch},
            {"steps", e.steps},
            {"loss", e.loss},
            {"seconds", e.seconds},
            {"evaluation_seconds", e.evaluation_seconds},
            {"evaluated", e.scores.evaluated},
            {"train", score_json(e.scores.train)},
            {"valid", score_json(e.scores.valid)},
            {"test", score_json(e.scores.test)}};
}

EpochRecord epoch_from(const Json& json, const std::string& where) {
    EpochRecord e;
    e.epoch = static_cast<std::uint32_t>(json_u64(json, "epoch", where));
    e.steps = json_u64(json, "steps", where);
    e.loss = json_number(json, "loss", where);
    e.seconds = json_number(json, "seconds", where);
    e.evaluation_seconds = json_number(json, "evaluation_seconds", where);
    e.scores.evaluated = json_bool(json, "evaluated", where);
    e.scores.train = score_from(json_field(json, "train", where), where);
    e.scores.valid = score_from(json_field(json, "valid", where), where);
    e.scores.test = score_from(json_field(json, "test", where), where);
    return e;
}

Json counts_json(const RunCounts& c) {
    return {{"rows", to_json(c.rows)},
            {"seconds", to_json(c.seconds)},
            {"edges", c.edges},
            {"bytes", bytes_json(c.bytes)},
            {"wall_seconds", c.wall_seconds},
            {"cpu_seconds", c.cpu_seconds}};
}

RunCounts counts_from(const Json& json, const std::string& where) {
    RunCounts c;
    const Json& rows = json_field(json, "rows", where);
    const auto row = [&](const char* key) { return json_u64(rows, key, where); };
    c.rows = {row("needed"),      row("local"), row("hit"),    row("demand"),
              row("replacement"), row("ahead"), row("wasted"), row("saved")};
    const Json& seconds = json_field(json, "seconds", where);
    const auto second = [&](const char* key) { return json_number(seconds, key, where); };
    c.seconds = {second("step"),  second("sample"),  second("fetch"),
                 second("stall"), second("compute"), second("reduce")};
    c.edges = json_u64(json, "edges", where);
    const Json& bytes = json_field(json, "bytes", where);
    for (std::size_t k = 0; k < comm::kind_count; ++k)
        c.bytes[k] =
            json_u64(bytes, std::string(to_string(static_cast<comm::Kind>(k))).c_str(), where);
    c.wall_seconds = json_number(json, "wall_seconds", where);
    c.cpu_seconds = json_number(json, "cpu_seconds", where);
    return c;
}

}  // namespace

Json to_json(const RunState& state) {
    Json epochs = Json::array();
    for (const EpochRecord& epoch : state.epochs)
        epochs.push_back(epoch_json(epoch));
    return {{"step", state.step},
            {"digest", to_hex(state.digest)},
            {"first_loss", state.first_loss},
            {"last_loss", state.last_loss},
            {"epochs", std::move(epochs)},
            {"best_epoch", state.best_epoch ? Json(*state.best_epoch) : Json(nullptr)},
            {"rate_factor", state.rate_factor},
            {"plateau_begin", state.plateau_begin},
            {"stopped_early", state.stopped_early},
            {"epoch_loss", state.epoch_loss},
            {"epoch_seconds", state.epoch_seconds},
            {"epoch_score", score_json(state.epoch_score)},
            {"counts", counts_json(state.counts)},
            {"metrics_bytes", state.metrics_bytes}};
}

RunState run_state_from_json(const Json& json, const std::string& where) {
    RunState s;
    s.step = json_u64(json, "step", where);
    s.digest = from_hex(json_string(json, "digest", where), where);
    s.first_loss = static_cast<float>(json_number(json, "first_loss", where));
    s.last_loss = static_cast<float>(json_number(json, "last_loss", where));
    for (const Json& epoch : json_field(json, "epochs", where))
        s.epochs.push_back(epoch_from(epoch, where));
    if (!json_field(json, "best_epoch", where).is_null())
        s.best_epoch = static_cast<std::uint32_t>(json_u64(json, "best_epoch", where));
    s.rate_factor = json_number(json, "rate_factor", where);
    s.plateau_begin = static_cast<std::uint32_t>(json_u64(json, "plateau_begin", where));
    s.stopped_early = json_bool(json, "stopped_early", where);
    s.epoch_loss = json_number(json, "epoch_loss", where);
    s.epoch_seconds = json_number(json, "epoch_seconds", where);
    s.epoch_score = score_from(json_field(json, "epoch_score", where), where);
    s.counts = counts_from(json_field(json, "counts", where), where);
    s.metrics_bytes = json_u64(json, "metrics_bytes", where);
    return s;
}

}  // namespace rudder::train
