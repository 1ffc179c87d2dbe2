#include "comm/suite.hpp"

#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "comm/reduction.hpp"
#include "comm/service.hpp"

#include "support/all_sum.hpp"

namespace rudder::test {

namespace {

/// The values rank `from` sends to rank `to`: uneven, some of them none.
std::vector<std::uint64_t> letter(int from, int to) {
    const int count = (from * 7 + to * 3) % 5 == 0 ? 0 : (from + 1) * (to + 2) % 23;
    std::vector<std::uint64_t> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), static_cast<std::uint64_t>(from * 1000 + to));
    return values;
}

void barrier(const comm::Communicator& comm) {
    for (int i = 0; i < 20; ++i)
        comm.barrier();
}

void broadcast(const comm::Communicator& comm) {
    for (int root = 0; root < comm.size(); ++root) {
        for (const std::size_t size : {0U, 1U, 1000U}) {
            std::vector<int> values(size, comm.rank() == root ? root + 5 : -1);
            comm.broadcast(root, std::span(values));
            for (const int value : values)
                require(value == root + 5, "broadcast");
        }
    }
}

void gather(const comm::Communicator& comm) {
    for (int root = 0; root < comm.size(); ++root) {
        const auto mine = letter(comm.rank(), root);
        const auto all = comm.gather(root, std::span<const std::uint64_t>(mine));
        require(all.size() == (comm.rank() == root ? static_cast<std::size_t>(comm.size()) : 0),
                "gather's size");
        for (std::size_t r = 0; r < all.size(); ++r) {
            require(all[r] == letter(static_cast<int>(r), root), "gather");
        }
    }
}

void all_gather(const comm::Communicator& comm) {
    const std::vector<int> mine(static_cast<std::size_t>(comm.rank()), comm.rank());
    const auto all = comm.all_gather(std::span<const int>(mine));
    for (std::size_t r = 0; r < all.size(); ++r) {
        require(all[r] == std::vector<int>(r, static_cast<int>(r)), "all-gather");
    }
    require(all_sum(comm, comm.rank()) == comm.size() * (comm.size() - 1) / 2, "all_sum");
    require(comm.all_min(-comm.rank()) == 1 - comm.size(), "all_min");
    require(comm.all_max(comm.rank()) == comm.size() - 1, "all_max");
}

void all_to_all(const comm::Communicator& comm) {
    comm::PerRank<std::uint64_t> out;
    for (int to = 0; to < comm.size(); ++to)
        out.push_back(letter(comm.rank(), to));
    const auto in = comm.all_to_all(out, comm::Kind::topology);
    for (int from = 0; from < comm.size(); ++from) {
        require(in[static_cast<std::size_t>(from)] == letter(from, comm.rank()), "all-to-all");
    }
}

/// Everything to one: the others get nothing.
void all_to_one(const comm::Communicator& comm) {
    comm::PerRank<int> out(static_cast<std::size_t>(comm.size()));
    out[0].assign(100000, comm.rank());
    const auto in = comm.all_to_all(out);
    for (int from = 0; from < comm.size(); ++from) {
        const std::size_t expected = comm.rank() == 0 ? 100000 : 0;
        require(in[static_cast<std::size_t>(from)].size() == expected, "all to one");
    }
}

void known_sizes(const comm::Communicator& comm) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<std::vector<int>> out(ranks, std::vector<int>(50, comm.rank()));
    std::vector<std::vector<int>> in(ranks, std::vector<int>(50, -1));
    std::vector<std::span<const int>> from(out.begin(), out.end());
    std::vector<std::span<int>> to(in.begin(), in.end());
    comm.all_to_all(std::span<const std::span<const int>>(from),
                    std::span<const std::span<int>>(to));
    for (std::size_t r = 0; r < ranks; ++r) {
        require(in[r] == std::vector<int>(50, static_cast<int>(r)), "exchange of known sizes");
    }
}

/// Messages of one channel keep their order, whatever arrives first.
void keeps_order(const comm::Communicator& comm) {
    const int to = (comm.rank() + 1) % comm.size();
    const int from = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<std::vector<int>> sent;
    std::vector<comm::Request> sends;
    for (int i = 0; i < 60; ++i) {
        sent.emplace_back(static_cast<std::size_t>(i % 3 == 0 ? 20000 : i % 5), i);
    }
    for (const auto& values : sent) {
        sends.push_back(
            comm.send(to, comm::user_channels, comm::Kind::features, std::span(values)));
    }
    for (int i = 0; i < 60; ++i) {
        const comm::Message message = comm.receive_message(from, comm::user_channels).take();
        const auto values = message.as<int>();
        require(values.size() == sent[static_cast<std::size_t>(i)].size(), "order of messages");
        require(values.empty() || values.front() == i, "order of messages");
    }
    comm::wait_all(sends);
}

/// A server that answers whoever asks: requests from any rank.
void any_source_server(const comm::Communicator& comm) {
    constexpr comm::Channel asks = comm::user_channels + 1;
    constexpr comm::Channel answers = comm::user_channels + 2;
    std::vector<comm::Request> sends;
    const int me = comm.rank();
    for (int r = 0; r < comm.size(); ++r) {
        sends.push_back(comm.send(r, asks, comm::Kind::requests, std::span<const int>(&me, 1)));
    }
    std::vector<std::vector<int>> replies(static_cast<std::size_t>(comm.size()));
    for (auto& reply : replies) {
        const comm::Message message = comm.receive_message(comm::any_source, asks).take();
        require(message.as<int>().front() == message.source, "the source of a message");
        reply.assign(10, message.source * 100 + comm.rank());
        sends.push_back(
            comm.send(message.source, answers, comm::Kind::features, std::span<const int>(reply)));
    }
    for (int r = 0; r < comm.size(); ++r) {
        std::vector<int> answer(10);
        comm.receive(r, answers, std::span(answer)).wait();
        require(answer.front() == comm.rank() * 100 + r, "answer of a server");
    }
    comm::wait_all(sends);
}

void host_window(const comm::Communicator& comm) {
    const comm::Communicator host = comm.host();
    const auto window = comm.share<std::uint64_t>(static_cast<std::size_t>(host.size()) * 4);
    require(window->size() == static_cast<std::size_t>(host.size()) * 4, "size of a window");
    for (const std::uint64_t value : *window)
        require(value == 0, "a window begins with zeroes");
    host.barrier();
    (*window)[static_cast<std::size_t>(host.rank()) * 4] =
        static_cast<std::uint64_t>(comm.rank()) + 1;
    host.barrier();
    for (int r = 0; r < host.size(); ++r) {
        require((*window)[static_cast<std::size_t>(r) * 4] ==
                    static_cast<std::uint64_t>(host.global_rank(r)) + 1,
                "a window is shared");
    }
    host.barrier();
}

void reductions(const comm::Communicator& comm) {
    for (const std::uint32_t count : {0U, 1U, 4U, 7U}) {
        for (const std::size_t size : {0U, 1U, 3U, 1000U, 100000U}) {
            check_reduction(comm, count * 31 + size, count, size);
            check_reduction(comm, count * 31 + size, count, size, comm::SumPrecision::bfloat16);
        }
    }
}

/// Several reductions under way at once, ended in another order.
void many_reductions(const comm::Communicator& comm) {
    const std::uint32_t mine = static_cast<std::uint32_t>(comm.rank());
    comm::OrderedReducer reducer(comm, std::span(&mine, 1));
    const auto ranks = static_cast<std::uint32_t>(comm.size());
    constexpr std::size_t rounds = 20;
    std::vector<std::vector<float>> in;
    std::vector<std::vector<float>> out;
    std::vector<comm::Request> requests;
    for (std::size_t i = 0; i < rounds; ++i) {
        in.push_back(contribution(i, mine, 500 * i));
        out.emplace_back(500 * i);
    }
    for (std::size_t i = 0; i < rounds; ++i) {
        requests.push_back(reducer.reduce({in[i]}, out[i]));
    }
    for (std::size_t i = rounds; i-- > 0;) {
        requests[i].wait();
        const auto expected = ordered_sum(i, ranks, 500 * i);
        require(out[i].empty() ||
                    std::memcmp(out[i].data(), expected.data(), out[i].size() * sizeof(float)) == 0,
                "one of several reductions");
    }
}

/// Over all ranks, what was sent is what was received, in sum and by kind.
void accounts_close(const comm::Communicator& comm) {
    comm.barrier();
    all_to_all(comm);
    many_reductions(comm);
    const comm::AccountTotals before = comm.accounts();
    std::vector<std::int64_t> sent;
    std::vector<std::int64_t> received;
    for (std::size_t k = 0; k + 1 < comm::kind_count;
         ++k) {  // control still flows in the sums below
        sent.push_back(all_sum(comm, static_cast<std::int64_t>(before.sent[k])));
        received.push_back(all_sum(comm, static_cast<std::int64_t>(before.received[k])));
    }
    require(sent == received, "sent and received differ");
    std::uint64_t kinds = 0;
    const comm::AccountTotals now = comm.accounts();
    for (const std::uint64_t bytes : now.received)
        kinds += bytes;
    require(kinds == now.received_total, "the kinds do not sum to the total");
    require(std::accumulate(now.received_from.begin(), now.received_from.end(), std::uint64_t{0}) ==
                now.received_total,
            "the peers do not sum to the total");
    require(now.received_from[static_cast<std::size_t>(comm.rank())] == 0, "own messages count");
}

void paranoid_passes(const comm::Communicator& comm) {
    comm.set_paranoid(true);
    barrier(comm);
    broadcast(comm);
    all_to_all(comm);
    check_reduction(comm, 3, 5, 100);
    comm.set_paranoid(false);
    comm.barrier();
}

void random_programs(const comm::Communicator& comm) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        require(random_exchange(comm, seed) != 0, "random exchange");
    }
}

/// Several tasks of every rank ask every other, in both kinds and both ways; answers are checked.
void service_answers(const comm::Communicator& comm) {
    comm::Service service(
        comm, comm::user_channels + 8,
        [](int from, std::span<const std::byte> question, comm::Service::Answer& answer) {
            answer.assign(question.rbegin(), question.rend());
            answer.push_back(static_cast<std::byte>(from));
        });
    const auto ask_around = [&](comm::Kind kind, bool known_size) {
        for (std::size_t round = 0; round < 12; ++round) {
            for (int to = 0; to < comm.size(); ++to) {
                if (to == comm.rank()) continue;
                std::vector<std::byte> question(round * round * 97 + 1, std::byte{7});
                question.back() = static_cast<std::byte>(round);
                std::vector<std::byte> expected(question.rbegin(), question.rend());
                expected.push_back(static_cast<std::byte>(comm.rank()));
                std::vector<std::byte> answer(expected.size());
                if (known_size) {
                    service.ask(to, kind, question, answer).wait();
                } else {
                    answer = service.ask(to, kind, question).take().bytes;
                }
                require(answer == expected, "an answer of a service");
            }
        }
    };
    std::vector<Task> tasks;
    tasks.push_back(
        Executor::current().spawn("a", [&] { ask_around(comm::Kind::requests, true); }));
    tasks.push_back(
        Executor::current().spawn("b", [&] { ask_around(comm::Kind::evaluation, true); }));
    tasks.push_back(
        Executor::current().spawn("c", [&] { ask_around(comm::Kind::requests, true); }));
    for (Task& task : tasks)
        task.join();
    ask_around(comm::Kind::topology, false);
    comm.barrier();
    service.stop();
}

/// Answers of many times what may be under way at once, all asked for before the first is awaited.
void service_with_large_answers(const comm::Communicator& comm) {
    constexpr std::size_t size = std::size_t{200} << 10;
    constexpr std::size_t rounds = 12;
    comm::Service service(comm, comm::user_channels + 8,
                          [](int, std::span<const std::byte> question,
                             comm::Service::Answer& answer) { answer.assign(size, question[0]); });
    std::vector<std::vector<std::byte>> answers;
    std::vector<comm::Request> requests;
    for (std::size_t round = 0; round < rounds; ++round) {
        for (int to = 0; to < comm.size(); ++to) {
            if (to == comm.rank()) continue;
            answers.emplace_back(size);
            requests.push_back(service.ask(to, comm::Kind::requests,
                                           {static_cast<std::byte>(round)}, answers.back()));
        }
    }
    comm::wait_all(requests);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto round = i / static_cast<std::size_t>(comm.size() - 1);
        require(answers[i] == std::vector<std::byte>(size, static_cast<std::byte>(round)),
                "a large answer of a service");
    }
    comm.barrier();
    service.stop();
}

/// Collectives of several tasks at once, each on a duplicate of its own, in orders that differ from
/// rank to rank; the ranks of a host besides.
void duplicates(const comm::Communicator& comm) {
    const auto around = [](const comm::Communicator& line, int salt) {
        for (int round = 0; round < 12; ++round) {
            const int mine = line.rank() * 100 + salt + round;
            const auto all = line.all_gather(std::span<const int>(&mine, 1));
            for (std::size_t r = 0; r < all.size(); ++r) {
                require(all[r].front() == static_cast<int>(r) * 100 + salt + round,
                        "all-gather on a duplicate");
            }
            const int root = round % line.size();
            std::vector<int> values(50, line.rank() == root ? salt : -1);
            line.broadcast(root, std::span(values));
            require(values == std::vector<int>(50, salt), "broadcast on a duplicate");
            line.barrier();
        }
    };
    std::vector<comm::Communicator> lines{comm, comm.duplicate()};
    lines.push_back(lines.back().duplicate());
    for (std::size_t i = 0; i < 3; ++i)
        lines.push_back(lines[i].host());
    lines.push_back(comm.host().duplicate());
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        // Each rank begins with another one.
        const std::size_t at = (i + static_cast<std::size_t>(comm.rank())) % lines.size();
        tasks.push_back(Executor::current().spawn(
            "line", [&, at] { around(lines[at], static_cast<int>(at) * 10000); }));
    }
    for (Task& task : tasks)
        task.join();
    const auto index = static_cast<std::uint32_t>(comm.rank());
    comm::OrderedReducer reducer(lines[1], std::span(&index, 1));
    const std::vector<float> one(10, 1.0F);
    std::vector<float> sum(10);
    reducer.reduce({one}, sum).wait();
    require(sum.front() == static_cast<float>(comm.size()), "a reduction on a duplicate");
}

}  // namespace

const std::vector<RankProgram>& rank_programs() {
    static const std::vector<RankProgram> programs{
        {"Barrier", barrier},
        {"Broadcast", broadcast},
        {"Gather", gather},
        {"AllGather", all_gather},
        {"AllToAll", all_to_all},
        {"AllToOne", all_to_one},
        {"KnownSizes", known_sizes},
        {"KeepsOrder", keeps_order},
        {"AnySourceServer", any_source_server},
        {"HostWindow", host_window},
        {"Duplicates", duplicates},
        {"ServiceAnswers", service_answers},
        {"ServiceWithLargeAnswers", service_with_large_answers},
        {"Reductions", reductions},
        {"ManyReductions", many_reductions},
        {"AccountsClose", accounts_close},
        {"ParanoidPasses", paranoid_passes},
        {"RandomPrograms", random_programs},
    };
    return programs;
}

}  // namespace rudder::test
