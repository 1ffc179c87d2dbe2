#include "epoch_profile.hpp"

#include <algorithm>
#include <array>

#include <unistd.h>

#include "comm/clocks.hpp"
#include "core/executor/executor.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"

namespace rudder::train {

namespace {

std::string host_name() {
    std::array<char, 256> name{};
    static_cast<void>(::gethostname(name.data(), name.size() - 1));
    return name.data();
}

/// A profile but for its events.
std::string frame_of(const RankProfile& profile) {
    Json threads = Json::array();
    for (const ThreadProfile& thread : profile.threads)
        threads.push_back(json_object({{"name", thread.name}, {"events", thread.events.size()}}));
    const Json frame = json_object({{"host", host_name()},
                                    {"begin", profile.begin},
                                    {"end", profile.end},
                                    {"dropped", profile.dropped},
                                    {"names", profile.names},
                                    {"threads", std::move(threads)}});
    return frame.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RankProfile put_together(const std::vector<char>& text, std::span<const ProfileEvent> events) {
    const Json frame = parse_json(std::string(text.begin(), text.end()), "a rank's profile");
    RankProfile profile;
    profile.host = frame.at("host");
    profile.begin = frame.at("begin");
    profile.end = frame.at("end");
    profile.dropped = frame.at("dropped");
    profile.names = frame.at("names").get<std::vector<std::string>>();
    for (const Json& thread : frame.at("threads")) {
        const auto own = events.first(thread.at("events").get<std::size_t>());
        events = events.subspan(own.size());
        profile.threads.push_back({thread.at("name"), {own.begin(), own.end()}});
    }
    return profile;
}

}  // namespace

EpochProfile::EpochProfile(const comm::Communicator& comm, const TrainOptions& options,
                           std::uint32_t first)
    : comm_(comm) {
    if (!options.profile) return;
    if (Executor::current().simulated()) {
        throw usage_error("a profile shows the threads of real ranks", "--profile",
                          "leave it out where time is simulated");
    }
    // The first epoch of a run also warms up.
    wanted_ = options.profile_epoch != 0 ? options.profile_epoch - 1
                                         : std::min(first + 1, std::max(1U, options.epochs) - 1);
}

EpochProfile::~EpochProfile() {
    if (recording_) static_cast<void>(Profiler::stop());
}

void EpochProfile::begin(std::uint32_t epoch) {
    if (wanted_ != epoch) return;
    recording_ = true;
    recorded_ = true;
    Profiler::start();
}

std::optional<RunProfile> EpochProfile::finish() {
    if (!recording_) return std::nullopt;
    recording_ = false;
    const RankProfile own = Profiler::stop();
    const auto clocks = comm::compare_clocks(comm_, [] { return Profiler::now(); });
    std::vector<ProfileEvent> events;
    for (const ThreadProfile& thread : own.threads)
        events.insert(events.end(), thread.events.begin(), thread.events.end());
    const std::string frame = frame_of(own);
    const auto frames = comm_.gather(0, std::span<const char>(frame));
    const auto all_events = comm_.gather(0, std::span<const ProfileEvent>(events));
    if (comm_.rank() != 0) return std::nullopt;
    RunProfile profile;
    profile.epoch = *wanted_;
    for (std::size_t r = 0; r < frames.size(); ++r) {
        profile.ranks.push_back(put_together(frames[r], all_events[r]));
        profile.ranks.back().clock_ahead = clocks[r].ahead;
    }
    return profile;
}

std::optional<std::uint32_t> EpochProfile::missing() const {
    if (!wanted_ || recorded_) return std::nullopt;
    return *wanted_ + 1;
}

}  // namespace rudder::train
