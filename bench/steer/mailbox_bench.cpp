// What posting and polling cost training, with an agent that waits on another thread.
#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "core/executor/thread_executor.hpp"
#include "steer/helm/mailbox.hpp"

using namespace rudder;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::uint64_t rounds = 2000;

double nanoseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

void print(const char* what, std::vector<double> times) {
    std::sort(times.begin(), times.end());
    double sum = 0;
    for (const double time : times)
        sum += time;
    fmt::print("{:<44} median {:6.0f} ns  99 % {:6.0f} ns  mean {:6.0f} ns  (limit 1000 ns)\n",
               what, times[times.size() / 2], times[times.size() * 99 / 100],
               sum / static_cast<double>(times.size()));
}

}  // namespace

int main() {
    ThreadExecutor executor;
    executor
        .spawn("training",
               [&] {
                   steer::Mailbox box;
                   Task agent = executor.spawn("agent", [&box] {
                       while (const auto question = box.take())
                           box.reply({.sequence = question->sequence});
                   });
                   std::vector<double> asks;
                   std::vector<double> empties;
                   std::vector<double> polls;
                   for (std::uint64_t i = 1; i <= rounds; ++i) {
                       auto question = std::make_shared<steer::Observation>();
                       question->sequence = i;
                       executor.sleep_for(std::chrono::microseconds(200));  // a step
                       auto start = Clock::now();
                       box.ask(std::move(question), executor.now() + std::chrono::seconds(1));
                       asks.push_back(nanoseconds_since(start));
                       start = Clock::now();
                       std::optional<steer::Reply> reply = box.poll();
                       if (!reply) empties.push_back(nanoseconds_since(start));
                       while (!reply) {
                           executor.sleep_for(std::chrono::microseconds(50));
                           start = Clock::now();
                           reply = box.poll();
                           if (reply) polls.push_back(nanoseconds_since(start));
                       }
                   }
                   const steer::MailCounts counts = box.counts();
                   box.close();
                   agent.join();
                   print("ask, the agent asleep", std::move(asks));
                   print("poll, nothing there", std::move(empties));
                   print("poll, an answer", std::move(polls));
                   fmt::print("counted by the mailbox: {:.0f} ns per question, answered {}\n",
                              counts.spent * 1e9 / static_cast<double>(rounds), counts.answered);
               })
        .join();
}
