// Rows asked of other ranks, by themselves: any runs and pieces give what the owner would write,
// and a rank that asks for what is not there is named.
#include "store/remote_fetch.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"

#include "support/slow_packed_ids.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

/// The row of a vertex as its owner writes it.
std::vector<std::byte> row_of(VertexId v, std::size_t bytes) {
    std::vector<std::byte> row(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        row[i] = static_cast<std::byte>(v * 31 + i);
    return row;
}

store::RowExchange exchange(const comm::Communicator& comm, std::vector<VertexId> starts,
                            std::size_t bytes) {
    return {comm, comm::user_channels, store::RowExchange::Layout{std::move(starts), bytes},
            [bytes](std::span<const VertexId> vertices, std::byte* out) {
                for (std::size_t i = 0; i < vertices.size(); ++i) {
                    const auto row = row_of(vertices[i], bytes);
                    std::memcpy(out + i * bytes, row.data(), bytes);
                }
            }};
}

TEST(RowExchange, AnyRunsInAnyPieces) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const int ranks = 2 + static_cast<int>(seed % 3);
        const std::size_t bytes = 1 + seed * 5;
        std::vector<VertexId> starts{0};
        for (int r = 0; r < ranks; ++r)
            starts.push_back(starts.back() + 20 + static_cast<VertexId>(r));
        comm::SimulatedCluster cluster({.ranks = ranks, .seed = seed, .jitter = 1ms});
        cluster.run([&](const comm::Communicator& comm) {
            auto rows = exchange(comm, starts, bytes);
            const RandomStream stream({.purpose = Purpose::test, .seed = seed});
            Draws draws(stream, static_cast<std::uint64_t>(comm.rank()));
            std::vector<std::vector<VertexId>> vertices;
            std::vector<std::vector<std::byte>> places;
            std::vector<store::FetchRun> runs;
            for (int owner = 0; owner < ranks; ++owner) {
                if (owner == comm.rank()) continue;
                const auto o = static_cast<std::size_t>(owner);
                auto& run = vertices.emplace_back(draws.below(40));
                for (VertexId& v : run)
                    v = starts[o] + draws.below(starts[o + 1] - starts[o]);
                places.emplace_back(run.size() * bytes);
            }
            std::size_t next = 0;
            for (int owner = 0; owner < ranks; ++owner) {
                if (owner == comm.rank()) continue;
                runs.push_back({owner, vertices[next], places[next]});
                ++next;
            }
            auto fetch = rows.fetch(runs, comm::Kind::requests, seed % 7);
            std::vector<std::size_t> asked(runs.size());
            for (const auto& piece : fetch.pieces()) {
                ASSERT_EQ(piece.first, asked[piece.run]) << "pieces follow each other";
                ASSERT_TRUE(seed % 7 == 0 || piece.count <= seed % 7);
                asked[piece.run] += piece.count;
            }
            fetch.wait();
            ASSERT_TRUE(fetch.done());
            for (std::size_t r = 0; r < runs.size(); ++r) {
                ASSERT_EQ(asked[r], vertices[r].size());
                for (std::size_t i = 0; i < vertices[r].size(); ++i) {
                    const auto expected = row_of(vertices[r][i], bytes);
                    ASSERT_EQ(std::memcmp(places[r].data() + i * bytes, expected.data(), bytes), 0);
                }
            }
            comm.barrier();
            rows.stop();
        });
    }
}

/// Questions are as long as the slow version says, in any order and from ranges of more than 32
/// bits.
TEST(RowExchange, QuestionsTravelPacked) {
    constexpr VertexId many = VertexId{1} << 40;
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        auto rows = exchange(comm, {0, many, 2 * many}, 2);
        std::vector<VertexId> ids;
        for (VertexId i = 0; i < 700; ++i)
            ids.push_back(many + (i < 300 ? i * 5 : i < 500 ? many - i : i * i * 1'000'003));
        std::vector<std::byte> place(ids.size() * 2);
        std::uint64_t expected = 0;
        if (comm.rank() == 0) {
            const std::array<store::FetchRun, 1> runs{{{1, ids, place}}};
            rows.fetch(runs, comm::Kind::requests, 256).wait();
            for (const std::size_t at : {0U, 256U, 512U})
                expected += slow_packed_ids(std::span(ids).subspan(at).first(
                                                std::min<std::size_t>(256, ids.size() - at)),
                                            many)
                                .size();
            for (std::size_t i = 0; i < ids.size(); ++i)
                ASSERT_EQ(std::memcmp(place.data() + i * 2, row_of(ids[i], 2).data(), 2), 0) << i;
        }
        comm.barrier();
        EXPECT_EQ(comm.accounts().sent[static_cast<std::size_t>(comm::Kind::requests)], expected);
        rows.stop();
    });
}

/// Rank 1 ends with this, and names rank 0.
void expect_refusal(const comm::Communicator& comm, store::RowExchange& rows, const char* problem) {
    Executor::current().sleep_for(1ms);
    try {
        rows.stop();
        EXPECT_EQ(comm.rank(), 0);
    } catch (const Error& error) {
        EXPECT_EQ(comm.rank(), 1);
        EXPECT_EQ(error.kind(), ErrorKind::rank);
        EXPECT_EQ(error.rank(), 0);
        EXPECT_EQ(error.where(), "rank 0");
        EXPECT_EQ(error.problem(), problem);
    }
}

/// Ranks that see the partition differently: the one that is asked names the one that asks.
TEST(RowExchange, RowsThatTheOwnerDoesNotHaveAreRefused) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        // Rank 0 takes rank 1 to have 20 rows; it has 10.
        auto rows = exchange(comm, {0, 10, comm.rank() == 0 ? 30U : 20U}, 4);
        const std::vector<VertexId> wanted{25};
        auto place = std::make_shared<std::vector<std::byte>>(4);
        const std::array<store::FetchRun, 1> runs{{{1, wanted, *place}}};
        if (comm.rank() == 0) rows.fetch(runs, comm::Kind::requests).keep(place);
        expect_refusal(comm, rows, "invalid request: row 15 of a rank that has 10 rows");
    });
}

/// Sends rank 1 a question or an answer that nobody of ours would; what the exchange there ends
/// with.
TEST(RowExchange, QuestionsThatCannotBeReadAreRefused) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        auto rows = exchange(comm, {0, 10, 20}, 4);
        if (comm.rank() == 0) {
            static_cast<void>(comm.send_owned(1, comm::user_channels, comm::Kind::requests,
                                              {std::byte{3}, std::byte{0}, std::byte{9}}));
        }
        expect_refusal(comm, rows, "invalid request: a list of rows that cannot be read");
    });
}

/// An owner that sends other bytes than its rows: who asked names it.
TEST(RowExchange, CodedAnswersThatCannotBeReadAreRefused) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        const std::vector<VertexId> wanted{12, 15};
        std::vector<std::byte> place(8);
        if (comm.rank() == 1) {
            // Stands in for the exchange of rank 1.
            static_cast<void>(comm.receive_message(0, comm::user_channels).take());
            comm.send_owned(0, comm::user_channels + 1, comm::Kind::features,
                            {std::byte{1}, std::byte{4}, std::byte{8}})
                .wait();
            return;
        }
        store::RowExchange rows(
            comm, comm::user_channels, store::RowExchange::Layout{{0, 10, 20}, 4, 4},
            [](std::span<const VertexId>, std::byte*) {},
            std::make_shared<comm::MessageCoder>(
                comm::CodingTerms{comm::CodingMode::always, 0, false}));
        const std::array<store::FetchRun, 1> runs{{{1, wanted, place}}};
        try {
            rows.fetch(runs, comm::Kind::requests).wait();
            ADD_FAILURE() << "taken";
        } catch (const Error& error) {
            EXPECT_EQ(error.rank(), 1);
            EXPECT_EQ(error.problem(),
                      "invalid message: it cannot be decoded to what was asked for");
        }
        rows.stop();
    });
}

/// Rows of 10 bytes whose first says how many of them count, at most `most`.
store::RowExchange ragged(const comm::Communicator& comm, std::size_t most) {
    store::RowExchange::Layout layout{{0, 10, 20}, 10};
    layout.used = [most](std::span<const std::byte> rows) -> std::optional<std::size_t> {
        if (rows.empty()) return std::nullopt;
        const auto used = std::to_integer<std::size_t>(rows.front());
        return used == 0 || used > most || used > rows.size() ? std::nullopt : std::optional(used);
    };
    return {comm, comm::user_channels, layout,
            [](std::span<const VertexId> vertices, std::byte* out) {
                for (const VertexId v : vertices) {
                    std::fill_n(out, 10, std::byte{0});
                    std::fill_n(out, v % 10 + 1, static_cast<std::byte>(v % 10 + 1));
                    out += 10;
                }
            }};
}

TEST(RowExchange, WhatFillsRowsUpDoesNotTravel) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        auto rows = ragged(comm, 10);
        const std::vector<VertexId> wanted{12, 19, 10};
        std::vector<std::byte> place(30, std::byte{77});
        if (comm.rank() == 0) {
            const std::array<store::FetchRun, 1> runs{{{1, wanted, place}}};
            rows.fetch(runs, comm::Kind::requests).wait();
            std::vector<std::byte> expected(30);
            std::fill_n(expected.begin(), 3, std::byte{3});
            std::fill_n(expected.begin() + 10, 10, std::byte{10});
            expected[20] = std::byte{1};
            EXPECT_EQ(place, expected);
            EXPECT_EQ(comm.accounts().received[static_cast<std::size_t>(comm::Kind::features)],
                      3U + 10 + 1);
        }
        comm.barrier();
        rows.stop();
    });
}

/// Ranks that see rows differently: who asked names the one that answered.
TEST(RowExchange, RowsLongerThanAnyAreRefused) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        auto rows = ragged(comm, comm.rank() == 0 ? 5 : 10);
        const std::vector<VertexId> wanted{12, 19};
        std::vector<std::byte> place(20);
        if (comm.rank() == 0) {
            const std::array<store::FetchRun, 1> runs{{{1, wanted, place}}};
            try {
                rows.fetch(runs, comm::Kind::requests).wait();
                ADD_FAILURE() << "taken";
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), ErrorKind::rank);
                EXPECT_EQ(error.rank(), 1);
                EXPECT_EQ(error.problem(),
                          "invalid message: not the sparse rows that were asked for");
            }
        }
        comm.barrier();
        rows.stop();
    });
}

}  // namespace
}  // namespace rudder::test
