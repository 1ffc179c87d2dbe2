#include "rudder/train/records.hpp"

#include "core/json.hpp"

namespace rudder::train {

StepSeconds& StepSeconds::operator+=(const StepSeconds& other) noexcept {
    step += other.step;
    sample += other.sample;
    fetch += other.fetch;
    stall += other.stall;
    compute += other.compute;
    reduce += other.reduce;
    return *this;
}

Json to_json(const buffer::RowCounts& rows) {
    return {{"needed", rows.needed},
            {"local", rows.local},
            {"hit", rows.hit},
            {"demand", rows.demand},
            {"replacement", rows.replacement},
            {"ahead", rows.ahead},
            {"wasted", rows.wasted},
            {"saved", rows.saved}};
}

Json to_json(const StepSeconds& seconds) {
    return {{"step", seconds.step},   {"sample", seconds.sample},   {"fetch", seconds.fetch},
            {"stall", seconds.stall}, {"compute", seconds.compute}, {"reduce", seconds.reduce}};
}

Json bytes_json(const std::array<std::uint64_t, comm::kind_count>& bytes) {
    Json json = Json::object();
    for (std::size_t k = 0; k < comm::kind_count; ++k)
        json[std::string(to_string(static_cast<comm::Kind>(k)))] = bytes[k];
    return json;
}

}  // namespace rudder::train
