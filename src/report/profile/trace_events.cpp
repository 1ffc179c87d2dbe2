#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/staging.hpp"
#include "report/profile.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/version.hpp"

#include "flows.hpp"

namespace rudder::report {

namespace {

std::string json_text(std::string_view text) {
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Writes one rank.
class RankWriter {
public:
    RankWriter(const RankProfile& profile, std::size_t rank, std::int64_t zero, std::string& out)
        : profile_(profile), rank_(rank), zero_(zero), out_(out) {
        for (const std::string& text : profile.names) {
            spans_.push_back(phase_name(text, ProfileEvent::Kind::span));
            waits_.push_back(phase_name(text, ProfileEvent::Kind::wait));
        }
        sort_rows();
    }

    void write() {
        metadata("process_name", 0,
                 fmt::format("\"name\":{}",
                             json_text(fmt::format("rank {} on {}", rank_, profile_.host))));
        metadata("process_sort_index", 0, fmt::format("\"sort_index\":{}", rank_));
        for (std::size_t t = 0; t < profile_.threads.size(); ++t) {
            metadata("thread_name", t,
                     fmt::format("\"name\":{}", json_text(profile_.threads[t].name)));
            metadata("thread_sort_index", t, fmt::format("\"sort_index\":{}", row_[t]));
            for (const ProfileEvent& event : by_start(profile_.threads[t].events))
                span(event, t);
        }
        for (const Flow& flow : flows_of(profile_))
            arrow(flow);
    }

private:
    [[nodiscard]] const PhaseName& phase(const ProfileEvent& event) const {
        return (event.kind == ProfileEvent::Kind::wait ? waits_ : spans_)[event.name];
    }

    /// Threads stand by what they do, the one that trains first; events are of the first kind in
    /// the order of categories that it has.
    void sort_rows() {
        std::vector<int> order;
        for (const ThreadProfile& thread : profile_.threads) {
            int first = std::numeric_limits<int>::max();
            for (const ProfileEvent& event : thread.events)
                first = std::min(first, category_order(phase(event).category));
            order.push_back(first);
        }
        std::vector<std::size_t> threads(order.size());
        std::iota(threads.begin(), threads.end(), 0U);
        std::ranges::stable_sort(threads, {}, [&](std::size_t t) {
            return std::pair(order[t], std::string_view(profile_.threads[t].name));
        });
        row_.resize(threads.size());
        for (std::size_t i = 0; i < threads.size(); ++i)
            row_[threads[i]] = i;
    }

    /// Outer spans first: they begin no later, and end no earlier.
    static std::vector<ProfileEvent> by_start(std::vector<ProfileEvent> events) {
        std::erase_if(events, [](const ProfileEvent& event) {
            return event.kind == ProfileEvent::Kind::use;
        });
        std::ranges::stable_sort(events, [](const ProfileEvent& a, const ProfileEvent& b) {
            return a.start != b.start ? a.start < b.start : a.end > b.end;
        });
        return events;
    }

    /// Microseconds, on rank 0's clock.
    [[nodiscard]] std::string at(std::uint64_t time) const {
        const std::int64_t ns = static_cast<std::int64_t>(time) - profile_.clock_ahead - zero_;
        return fmt::format("{:.3f}", static_cast<double>(ns) * 1e-3);
    }
    /// Viewers take process 0 for the idle one.
    [[nodiscard]] std::size_t process() const { return rank_ + 1; }
    [[nodiscard]] std::size_t row(std::size_t thread) const { return row_[thread] + 1; }

    void metadata(std::string_view name, std::size_t thread, std::string_view arguments) {
        const std::size_t of = profile_.threads.empty() ? 0 : row(thread);
        out_ +=
            fmt::format("{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"args\":{{{}}}}},\n",
                        name, process(), of, arguments);
    }

    void span(const ProfileEvent& event, std::size_t thread) {
        const PhaseName& of = phase(event);
        out_ += fmt::format(
            "{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"pid\":{},\"tid\":{},"
            "\"ts\":{},\"dur\":{:.3f}",
            json_text(of.name), of.category, process(), row(thread), at(event.start),
            static_cast<double>(event.end - event.start) * 1e-3);
        if (event.step != no_step) {
            out_ += fmt::format(",\"args\":{{\"step\":{}", event.step);
            if (!of.part.empty()) out_ += fmt::format(",\"part\":\"{}\"", of.part);
            out_ += "}";
        }
        out_ += "},\n";
    }

    void arrow(const Flow& flow) {
        const std::string id = fmt::format("\"{}.{}\"", rank_, flows_++);
        const auto end = [&](std::string_view phase, const FlowEnd& place, std::string_view bind) {
            out_ += fmt::format(
                "{{\"ph\":\"{}\",\"name\":\"{}\",\"cat\":\"flow\",\"id\":{},\"pid\":{},\"tid\":{},"
                "\"ts\":{}{}}},\n",
                phase, flow.name, id, process(), row(place.thread), at(place.time), bind);
        };
        end("s", flow.from, "");
        end("f", flow.to, ",\"bp\":\"e\"");
    }

    const RankProfile& profile_;
    std::size_t rank_;
    std::int64_t zero_;
    std::string& out_;
    std::vector<PhaseName> spans_;  ///< by name
    std::vector<PhaseName> waits_;
    std::vector<std::size_t> row_;  ///< by thread
    std::size_t flows_ = 0;
};

std::string other_data(const RunProfile& profile) {
    std::uint64_t dropped = 0;
    Json clocks = Json::array();
    for (const RankProfile& rank : profile.ranks) {
        dropped += rank.dropped;
        clocks.push_back(static_cast<double>(rank.clock_ahead) * 1e-3);
    }
    const Json data{{"made_by", "rudder " + std::string(version())},
                    {"epoch", profile.epoch + 1},
                    {"ranks", profile.ranks.size()},
                    {"dropped_events", dropped},
                    {"clock_ahead_us", std::move(clocks)}};
    return data.dump();
}

}  // namespace

std::string trace_events(const RunProfile& profile) {
    std::int64_t zero = std::numeric_limits<std::int64_t>::max();
    for (const RankProfile& rank : profile.ranks)
        zero = std::min(zero, static_cast<std::int64_t>(rank.begin) - rank.clock_ahead);
    std::string out =
        "{\"displayTimeUnit\":\"ms\",\"otherData\":" + other_data(profile) + ",\"traceEvents\":[\n";
    for (std::size_t r = 0; r < profile.ranks.size(); ++r)
        RankWriter(profile.ranks[r], r, zero, out).write();
    if (out.ends_with(",\n")) out.erase(out.size() - 2);
    return out + "\n]}\n";
}

void write_profile(const RunProfile& profile, const std::filesystem::path& file) {
    Staging staging = Staging::file(file, Existing::replace);
    write_text(staging.path(), trace_events(profile));
    staging.commit();
}

}  // namespace rudder::report
