// What one decision of a language model costs here: CPU of the task that asks, without the model.
#include <algorithm>
#include <ctime>
#include <vector>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/log.hpp"
#include "steer/llm/fake_server.hpp"
#include "steer/llm/seen.hpp"

namespace {

using namespace rudder;
using namespace rudder::test;

double thread_cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Microseconds of CPU per decision: median and 99th percentile.
void measure(const char* name, bool speaks_ollama, const std::string& keys, const char* reply) {
    const auto chat = [&](const FakeRequest&) {
        return FakeReply::of(200, speaks_ollama ? ollama_envelope(reply) : openai_envelope(reply));
    };
    FakeServer server(speaks_ollama ? ollama(chat) : openai(chat));
    const auto agent = llm_agent(server.url(), keys);
    steer::Observation o = seen(1600);
    for (std::uint64_t step = 16; step <= 1584; step += 16)
        o.history.push_back(past(step));
    constexpr std::size_t decisions = 1000;
    std::vector<double> spent;
    for (std::size_t i = 0; i < decisions; ++i) {
        const double before = thread_cpu_seconds();
        static_cast<void>(agent->decide(o));
        spent.push_back(1e6 * (thread_cpu_seconds() - before));
    }
    std::sort(spent.begin(), spent.end());
    fmt::print("{:<28} {:8.1f} us median, {:8.1f} us 99 %  (target: 1000)  body {} bytes\n", name,
               spent[decisions / 2], spent[decisions * 99 / 100],
               server.requests().back().body.size());
}

}  // namespace

int main() {
    const char* keep = R"({"action": "keep", "expected_impact":
                           {"hit_rate": "stagnant", "rows": "stagnant"}})";
    const char* no = R"({"decision": "no", "explanation": "Nothing changes.", "expected_impact":
                         {"hitrate": "stagnant", "comm_volume": "stagnant"}})";
    for (int repeat = 0; repeat < 5; ++repeat) {
        measure("llm, openai", false, "", keep);
        measure("llm, ollama", true, "", keep);
        measure("llm, 100 past decisions", false, ",history:100,context:16384", keep);
        measure("llm,faithful", true, ",faithful", no);
    }
}
