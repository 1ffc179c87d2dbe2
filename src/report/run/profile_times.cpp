// profile.json: which stage of making rows ready steps waited for, and what slowed computing.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "profile_text.hpp"
#include "read_parts.hpp"

namespace rudder::report {

namespace {

constexpr double microsecond = 1e-6;
/// A computing span is beside evaluation from this share of it on, and alone up to that one.
constexpr double beside_from = 0.5;
constexpr double alone_up_to = 0.1;

/// Microseconds of the profile.
struct Stretch {
    double start = 0;
    double end = 0;
    [[nodiscard]] double length() const noexcept { return end - start; }
};

/// Moments at which something went on, whichever thread did it.
class Activity {
public:
    void add(const Stretch& one) { all_.push_back(one); }
    /// To be called when all were added.
    void join() {
        std::ranges::sort(all_, {}, &Stretch::start);
        std::vector<Stretch> joined;
        for (const Stretch& one : all_) {
            if (!joined.empty() && one.start <= joined.back().end) {
                joined.back().end = std::max(joined.back().end, one.end);
            } else {
                joined.push_back(one);
            }
        }
        all_ = std::move(joined);
    }
    /// How much of it lies between two moments.
    [[nodiscard]] double within(const Stretch& stretch) const {
        double sum = 0;
        auto at = std::ranges::upper_bound(all_, stretch.start, {}, &Stretch::end);
        for (; at != all_.end() && at->start < stretch.end; ++at)
            sum += std::min(at->end, stretch.end) - std::max(at->start, stretch.start);
        return sum;
    }

private:
    std::vector<Stretch> all_;
};

struct Fetched {
    Stretch span;
    std::int64_t thread = 0;
};

/// Mean of what was added.
struct Mean {
    double sum = 0;
    double count = 0;
    void add(double value) {
        sum += value;
        ++count;
    }
    [[nodiscard]] double value() const noexcept { return count > 0 ? sum / count : 0; }
};

/// What one rank did, by step or by moment.
struct ProfiledRank {
    std::unordered_map<std::uint64_t, Stretch> steps;
    std::unordered_map<std::uint64_t, Stretch> stalls;
    std::unordered_map<std::uint64_t, Stretch> computed;
    std::unordered_map<std::uint64_t, Fetched> fetched;
    std::map<std::int64_t, Activity> waits;  ///< by thread
    Activity unsampled;                      ///< someone waited for a step to be sampled
    Activity policy;
    Activity evaluation;
    Mean sampling;
    Mean policy_turns;

    void note(const TraceEvent& event) {
        const Stretch span{event.start, event.start + event.length};
        if (event.category == "wait") {
            waits[event.thread].add(span);
            if (event.name == "wait: a sampled step" || event.name == "wait: steps sampled ahead")
                unsampled.add(span);
        } else if (event.name == "sample") {
            sampling.add(span.length());
        } else if (event.name == "buffer") {
            policy.add(span);
            policy_turns.add(span.length());
        } else if (event.name == "evaluate") {
            evaluation.add(span);
        } else if (event.step) {
            if (event.name == "step") steps[*event.step] = span;
            if (event.name == "stall") stalls[*event.step] = span;
            if (event.name == "compute") computed[*event.step] = span;
            if (event.name == "fetch") fetched[*event.step] = {span, event.thread};
        }
    }

    void join() {
        for (auto& [thread, activity] : waits)
            activity.join();
        for (Activity* activity : {&unsampled, &policy, &evaluation})
            activity->join();
    }
};

/// Sums over steps and ranks.
struct ProfileSums {
    Mean step, stall, unsampled, policy, network, assembling;
    Mean sampling, policy_turns, own_fetching;
    Mean alone, beside;

    /// Steps whose making is in the profile: the first of an epoch were made before it began.
    void add_stalls(const ProfiledRank& rank) {
        for (const auto& [number, wait] : rank.stalls) {
            const auto whole = rank.steps.find(number);
            const auto fetch = rank.fetched.find(number);
            if (whole == rank.steps.end() || fetch == rank.fetched.end()) continue;
            const Stretch& made = fetch->second.span;
            const auto found = rank.waits.find(fetch->second.thread);
            const auto waiting = [&](const Stretch& within) {
                return found == rank.waits.end() ? 0.0 : found->second.within(within);
            };
            step.add(whole->second.length());
            stall.add(wait.length());
            // Until its fetching began, something before that was late.
            const Stretch before{wait.start, std::clamp(made.start, wait.start, wait.end)};
            const double late = rank.unsampled.within(before);
            unsampled.add(late);
            policy.add(std::min(rank.policy.within(before), before.length() - late));
            const Stretch during{before.end, std::clamp(made.end, before.end, wait.end)};
            const double waited = waiting(during);
            network.add(waited);
            assembling.add(during.length() - waited);
            own_fetching.add(made.length() - waiting(made));
        }
    }

    void add_computing(const ProfiledRank& rank) {
        for (const auto& [number, span] : rank.computed) {
            const double shared = rank.evaluation.within(span);
            if (shared >= beside_from * span.length()) beside.add(span.length());
            if (shared <= alone_up_to * span.length()) alone.add(span.length());
        }
    }
};

}  // namespace

std::optional<ProfileTimes> read_profile_times(const std::filesystem::path& file) {
    ProfileText text(file);
    std::map<std::int64_t, ProfiledRank> ranks;
    text.for_each([&](const TraceEvent& event) {
        if (event.phase == 'X' && event.length > 0) ranks[event.process].note(event);
    });
    ProfileSums sums;
    for (auto& [process, rank] : ranks) {
        rank.join();
        sums.add_stalls(rank);
        sums.add_computing(rank);
        sums.sampling.sum += rank.sampling.sum;
        sums.sampling.count += rank.sampling.count;
        sums.policy_turns.sum += rank.policy_turns.sum;
        sums.policy_turns.count += rank.policy_turns.count;
    }
    if (sums.step.count == 0) return std::nullopt;
    const auto seconds = [](const Mean& mean) { return mean.value() * microsecond; };
    const double computed = sums.alone.count + sums.beside.count;
    return ProfileTimes{
        .steps = sums.step.count / static_cast<double>(ranks.size()),
        .step = seconds(sums.step),
        .stall = seconds(sums.stall),
        .sampling = {seconds(sums.unsampled), seconds(sums.sampling)},
        .policy = {seconds(sums.policy), seconds(sums.policy_turns)},
        .assembling = {seconds(sums.assembling), seconds(sums.own_fetching)},
        .network = seconds(sums.network),
        .compute_alone = seconds(sums.alone),
        .compute_beside = seconds(sums.beside),
        .beside = computed > 0 ? sums.beside.count / computed : 0,
    };
}

std::optional<ProfileTimes> profile_of_run(const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / "profile.json";
    std::error_code code;
    if (folder.empty() || !std::filesystem::is_regular_file(file, code)) return std::nullopt;
    try {
        return read_profile_times(file);
    } catch (const Error&) {
        return std::nullopt;  // whoever looks at the folder is told
    }
}

}  // namespace rudder::report
