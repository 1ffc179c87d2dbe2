// Coded messages: what comes out is what went in, what does not shrink stays plain, what is
// malformed is refused with its sender named; and when coding is judged to pay.
#include "comm/message_coder.hpp"

#include <cstring>

#include <gmock/gmock.h>

#include "comm/reduction.hpp"
#include "comm/simulated_cluster.hpp"
#include "core/byte_planes.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;
using comm::CodingJudge;
using comm::CodingMode;
using Coded = comm::MessageCoder::Bytes;

constexpr comm::CodingTerms always{CodingMode::always, 0, false};

/// Floats whose exponents repeat, as those of features and gradients do.
std::vector<std::byte> some_floats(std::uint64_t seed, std::size_t count) {
    const RandomStream stream({Purpose::test, seed, 12});
    Draws draws(stream, 0);
    std::vector<float> values(count);
    for (float& value : values)
        value = static_cast<float>(draws.uniform() - 0.5);
    std::vector<std::byte> bytes(count * sizeof(float));
    if (count > 0) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

std::vector<std::byte> noise(std::uint64_t seed, std::size_t count) {
    const RandomStream stream({Purpose::test, seed, 13});
    Draws draws(stream, 0);
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(draws.below(256));
    return bytes;
}

comm::Message received(const Coded& bytes) {
    return {.source = 3,
            .kind = comm::Kind::features_ahead,
            .bytes = std::vector<std::byte>(bytes.begin(), bytes.end())};
}

TEST(CodedMessages, BytePlanesKeepEveryByte) {
    for (const std::size_t width : {1U, 2U, 3U, 4U, 8U}) {
        for (const std::size_t count : {0U, 1U, 3U, 64U, 255U, 256U, 257U, 1000U, 70'001U}) {
            for (const auto& plain : {some_floats(count, count / 4 + 1), noise(count, count),
                                      std::vector<std::byte>(count)}) {
                Coded coded{std::byte{7}};
                static_cast<void>(encode_planes(plain, width, all_planes, coded));
                ASSERT_EQ(coded.front(), std::byte{7}) << "appended";
                const auto body = std::span<const std::byte>(coded).subspan(1);
                ASSERT_EQ(planes_size(body), plain.size());
                std::vector<std::byte> back(plain.size(), std::byte{1});
                ASSERT_TRUE(decode_planes(body, back));
                ASSERT_EQ(back, plain) << width << " bytes wide, " << count;
            }
        }
    }
}

TEST(CodedMessages, OnlyPlanesThatRepeatAreCompressed) {
    const auto plain = some_floats(1, 20'000);
    Coded all;
    EXPECT_EQ(encode_planes(plain, 4, all_planes, all), 0b1000U) << "the exponents";
    EXPECT_LT(all.size(), plain.size() * 9 / 10);
    Coded none;
    EXPECT_EQ(encode_planes(plain, 4, 0b0111, none), 0U) << "what is not tried is stored";
    EXPECT_GT(none.size(), plain.size());
    Coded zeros;
    EXPECT_EQ(encode_planes(std::vector<std::byte>(80'000), 4, all_planes, zeros), 0b1111U);
    EXPECT_LT(zeros.size(), 200U);
}

TEST(CodedMessages, ComeOutAsTheyWentIn) {
    comm::MessageCoder coder(always);
    for (const std::size_t count : {0U, 1U, 63U, 64U, 65U, 1000U, 65'536U}) {
        const auto plain = some_floats(count, count);
        const Coded message = coder.encoded(plain, 4);
        ASSERT_LE(message.size(), plain.size() + 1);
        std::vector<std::byte> back(plain.size());
        coder.decode(received(message), 3, back);
        ASSERT_EQ(back, plain) << count;
        const Coded any_size = coder.decoded(received(message), 3);
        ASSERT_TRUE(std::ranges::equal(any_size, plain)) << count;
        Coded in_place(plain.size() + 1);
        std::ranges::copy(plain, in_place.begin() + 1);
        coder.encode(in_place, 4);
        ASSERT_EQ(in_place, message) << count;
    }
    const comm::CodingTotals totals = coder.totals();
    EXPECT_EQ(totals.features.messages, 14U) << "ahead counts as features";
    EXPECT_GE(totals.features.coded, 2U * 2) << "the long ones";
    EXPECT_LT(totals.features.travelled, totals.features.plain);
    EXPECT_EQ(totals.gradients.messages, 0U);
}

TEST(CodedMessages, WhatDoesNotShrinkTravelsPlain) {
    comm::MessageCoder coder(always);
    const auto plain = noise(1, 100'000);
    const Coded message = coder.encoded(plain, 4);
    EXPECT_EQ(message.size(), plain.size() + 1);
    EXPECT_EQ(message.front(), static_cast<std::byte>(comm::MessageForm::plain));
    static_cast<void>(coder.decoded(received(message), 0));
    EXPECT_EQ(coder.totals().features.coded, 0U);
    EXPECT_EQ(coder.totals().features.travelled, plain.size() + 1);
}

std::string refusal_of(const Coded& message, std::size_t size) {
    comm::MessageCoder coder(always);
    std::vector<std::byte> place(size);
    try {
        coder.decode(received(message), 5, place);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::rank);
        EXPECT_EQ(error.rank(), 5);
        EXPECT_EQ(error.where(), "rank 5");
        return error.problem();
    }
    return "taken";
}

TEST(CodedMessages, MalformedOnesAreRefusedWithTheirSender) {
    comm::MessageCoder coder(always);
    const auto plain = some_floats(4, 1000);
    const Coded good = coder.encoded(plain, 4);
    ASSERT_EQ(good.front(), static_cast<std::byte>(comm::MessageForm::planes));
    EXPECT_EQ(refusal_of(good, 4000), "taken");
    EXPECT_EQ(refusal_of({}, 4000), "invalid message: it is empty");
    EXPECT_EQ(refusal_of({std::byte{2}, std::byte{0}}, 1),
              "invalid message: it is written in a way that is not known here");
    EXPECT_EQ(refusal_of({std::byte{0}, std::byte{0}}, 4),
              "invalid message: it has not the size that was asked for");
    const std::string broken = "invalid message: it cannot be decoded to what was asked for";
    EXPECT_EQ(refusal_of(good, 3999), broken) << "another size";
    for (const std::size_t cut : {1U, 3U, 6U, 7U, 100U, 2000U}) {
        EXPECT_EQ(
            refusal_of(Coded(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(cut)), 4000),
            broken)
            << cut;
    }
    Coded longer = good;
    longer.push_back(std::byte{0});
    EXPECT_EQ(refusal_of(longer, 4000), broken) << "a byte too many";
    Coded width = good;
    width[1] = std::byte{9};
    EXPECT_EQ(refusal_of(width, 4000), broken) << "planes that no element has";
    Coded form = good;
    form[6] = std::byte{2};
    EXPECT_EQ(refusal_of(form, 4000), broken) << "a plane in an unknown form";
    Coded brief;
    EXPECT_EQ(encode_planes(std::vector<std::byte>(80), 1, all_planes, brief), 1U);
    std::vector<std::byte> place(100);
    EXPECT_TRUE(decode_planes(brief, std::span(place).first(80)));
    brief[1] = std::byte{100};
    EXPECT_FALSE(decode_planes(brief, place)) << "a plane of fewer bytes than it should have";
    EXPECT_THROW(static_cast<void>(comm::MessageCoder(always).decoded(received({std::byte{1}}), 5)),
                 Error);
}

/// Any change of any byte is refused or gives other bytes, in bounds (the sanitizers see).
TEST(CodedMessages, NothingIsReadOutOfBounds) {
    comm::MessageCoder coder(always);
    const Coded good = coder.encoded(some_floats(4, 300), 4);
    const RandomStream stream({Purpose::test, 9, 3});
    Draws draws(stream, 0);
    for (int round = 0; round < 2000; ++round) {
        Coded bad = good;
        bad[draws.below(bad.size())] = static_cast<std::byte>(draws.below(256));
        bad.resize(draws.below(4) == 0 ? draws.below(bad.size() + 1) : bad.size());
        std::vector<std::byte> place(1200);
        try {
            coder.decode(received(bad), 1, place);
        } catch (const Error& error) {
            ASSERT_EQ(error.rank(), 1);
        }
    }
}

// ---- whether it pays ----------------------------------------------------------------------------

/// The verdicts on so many messages that all save `saved` of 1000 bytes in `seconds`.
std::vector<bool> verdicts(CodingJudge& judge, int messages, std::size_t saved, double seconds) {
    std::vector<bool> all;
    for (int i = 0; i < messages; ++i) {
        const CodingJudge::Verdict verdict = judge.next();
        all.push_back(verdict.code);
        if (verdict.trial) judge.tell({1000, 1000 - saved, seconds, 0b1000});
    }
    return all;
}

TEST(CodingJudge, HoldsTheTimeAgainstTheBytesSaved) {
    // At 1 MB/s 100 bytes take 100 us.
    for (const auto& [seconds, pays] : {std::pair{99e-6, true}, std::pair{101e-6, false}}) {
        CodingJudge judge({CodingMode::automatic, 1e6, true});
        const auto all = verdicts(judge, 20, 100, seconds);
        for (std::size_t i = 0; i < all.size(); ++i)
            EXPECT_EQ(all[i], i < CodingJudge::messages_tried || pays) << i;
        EXPECT_EQ(judge.coding(), pays);
        EXPECT_EQ(judge.next().planes, 0b1000U) << "only planes that shrank are tried";
    }
}

TEST(CodingJudge, LooksAgainNowAndThen) {
    CodingJudge judge({CodingMode::automatic, 1e6, true});
    constexpr int round = CodingJudge::messages_tried + CodingJudge::messages_between;
    EXPECT_THAT(verdicts(judge, round, 100, 1e-6), testing::Each(true));
    EXPECT_EQ(verdicts(judge, round, 0, 1e-6).back(), false) << "nothing is saved any more";
    EXPECT_EQ(verdicts(judge, round, 100, 1e-6).back(), true) << "something is";
    EXPECT_EQ(verdicts(judge, round, 100, 1).back(), false) << "it takes too long";
}

TEST(CodingJudge, NothingPaysOnALinkWithoutARate) {
    CodingJudge judge({CodingMode::automatic, 0, true});
    EXPECT_FALSE(verdicts(judge, 10, 999, 0).back());
}

// ---- terms --------------------------------------------------------------------------------------

TEST(CodingTerms, HaveTheModelledRateAndNoneWithinAHost) {
    const auto terms = [](const comm::SimulationOptions& options) {
        comm::SimulatedCluster cluster(options);
        comm::CodingTerms found;
        cluster.run([&](const comm::Communicator& comm) {
            found = comm::coding_terms(comm, CodingMode::automatic);
        });
        return found;
    };
    const auto slow = terms({.ranks = 2, .seed = 1, .link = comm::parse_link("1ms,8mbit")});
    EXPECT_EQ(slow.mode, CodingMode::automatic);
    EXPECT_EQ(slow.bytes_per_second, 1e6);
    EXPECT_FALSE(slow.timed);
    EXPECT_EQ(terms({.ranks = 2, .ranks_per_host = 2, .seed = 1}).mode, CodingMode::off);
    // Without a rate it is measured: simulated messages take the delay alone.
    const auto delayed = terms({.ranks = 3, .seed = 1, .link = {.delay = 1ms}});
    EXPECT_LE(delayed.bytes_per_second, 262'144 / 1e-3);
    EXPECT_GE(delayed.bytes_per_second, 262'144 / 5e-3);
}

// ---- reductions ---------------------------------------------------------------------------------

TEST(CodedReduction, GivesTheSameBitsAndAClosedAccount) {
    for (const comm::SumPrecision precision :
         {comm::SumPrecision::float32, comm::SumPrecision::bfloat16}) {
        for (const std::size_t size : {1U, 100U, 5'000U, 150'000U}) {
            comm::SimulatedCluster cluster({.ranks = 3, .seed = size});
            cluster.run([&](const comm::Communicator& comm) {
                const auto mine = static_cast<std::uint32_t>(comm.rank());
                auto coder = std::make_shared<comm::MessageCoder>(always);
                std::vector<float> in(size);
                const auto bytes = some_floats(mine, size);
                std::memcpy(in.data(), bytes.data(), bytes.size());
                std::vector<float> plain(size);
                std::vector<float> coded(size);
                comm::OrderedReducer plainly(comm, std::span(&mine, 1));
                plainly.reduce({in}, plain, comm::Kind::gradients, precision).wait();
                comm.barrier();
                const auto before = comm.accounts().received[3];
                comm::OrderedReducer shortly(comm, std::span(&mine, 1), coder);
                shortly.reduce({in}, coded, comm::Kind::gradients, precision).wait();
                comm.barrier();
                EXPECT_EQ(std::memcmp(plain.data(), coded.data(), size * sizeof(float)), 0);
                const comm::CodedBytes of = coder->totals().gradients;
                EXPECT_EQ(of.plain, before) << "as many as without";
                EXPECT_EQ(of.travelled, comm.accounts().received[3] - before);
                if (size >= 5'000) {
                    EXPECT_LT(of.travelled, of.plain);
                }
            });
        }
    }
}

}  // namespace
}  // namespace rudder::test
