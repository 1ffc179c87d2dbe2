// Event files: known sums, known bytes, and what a file holds.
#include <bit>
#include <fstream>
#include <map>

#include <gmock/gmock.h>

#include "report/sinks/event_bytes.hpp"
#include "report/tensorboard_sink.hpp"
#include "rudder/core/random.hpp"

#include "frames.hpp"
#include "sinks/event_bytes.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

TEST(Crc32c, KnownSums) {
    // RFC 3720, appendix B.4, and the customary check.
    EXPECT_EQ(report::crc32c(std::string(32, '\0')), 0x8A9136AAU);
    EXPECT_EQ(report::crc32c(std::string(32, '\xff')), 0x62A8AB43U);
    std::string rising;
    for (char c = 0; c < 32; ++c)
        rising += c;
    EXPECT_EQ(report::crc32c(rising), 0x46DD794EU);
    EXPECT_EQ(report::crc32c("123456789"), 0xE3069283U);
    EXPECT_EQ(report::crc32c(""), 0U);
    EXPECT_EQ(report::masked_crc32c(""), 0xA282EAD8U);
}

TEST(Crc32c, AsBitByBit) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 5}), 0);
    for (std::size_t size = 0; size < 100; ++size) {
        std::string bytes;
        for (std::size_t i = 0; i < size; ++i)
            bytes += static_cast<char>(draws.below(256));
        std::uint32_t sum = ~0U;
        for (const char c : bytes) {
            sum ^= static_cast<std::uint8_t>(c);
            for (int bit = 0; bit < 8; ++bit)
                sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? 0x82F63B78U : 0U);
        }
        EXPECT_EQ(report::crc32c(bytes), ~sum) << size;
    }
}

TEST(EventBytes, AsTensorFlowWritesThem) {
    std::string out;
    report::EventBytes event;
    event.begin(1.5, 0);
    event.file_version();
    event.end(out);
    // wall_time 1.5, step 0, file_version.
    const std::string known(
        "\x09\x00\x00\x00\x00\x00\x00\xf8\x3f\x10\x00\x1a\x0d"
        "brain.Event:2",
        26);
    ASSERT_EQ(out.size(), 8 + 4 + known.size() + 4);
    EXPECT_EQ(out.substr(0, 8), std::string("\x1a\0\0\0\0\0\0\0", 8));
    EXPECT_EQ(out.substr(12, known.size()), known);
    out.clear();
    event.begin(0, 300);
    event.value("a/b", 1);
    event.value("c", -2);
    event.end(out);
    EXPECT_EQ(out.substr(12, out.size() - 16),
              std::string("\x09\0\0\0\0\0\0\0\0\x10\xac\x02\x2a\x16"
                          "\x0a\x0a\x0a\x03"
                          "a/b\x15\x00\x00\x80\x3f"
                          "\x0a\x08\x0a\x01"
                          "c\x15\x00\x00\x00\xc0",
                          36));
    out.clear();
    event.begin(0, 7);
    event.session_start();
    event.end(out);
    EXPECT_EQ(out.substr(12, out.size() - 16),
              std::string("\x09\0\0\0\0\0\0\0\0\x10\x07\x3a\x02\x08\x01", 15));
}

/// Reads what our files may hold, checking the sums; nothing else.
class Records {
public:
    explicit Records(const fs::path& file) {
        std::ifstream in(file, std::ios::binary);
        bytes_.assign(std::istreambuf_iterator<char>(in), {});
    }
    /// The next event, or an empty text at the end.
    std::string next() {
        if (at_ == bytes_.size()) return {};
        const auto size = static_cast<std::size_t>(fixed(at_, 8));
        EXPECT_EQ(fixed(at_ + 8, 4), report::masked_crc32c(view(at_, 8)));
        const std::string event(view(at_ + 12, size));
        EXPECT_EQ(fixed(at_ + 12 + size, 4), report::masked_crc32c(event));
        at_ += 16 + size;
        return event;
    }

private:
    [[nodiscard]] std::string_view view(std::size_t at, std::size_t size) const {
        return std::string_view(bytes_).substr(at, size);
    }
    [[nodiscard]] std::uint64_t fixed(std::size_t at, std::size_t size) const {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < size; ++i)
            value |= std::uint64_t{static_cast<std::uint8_t>(bytes_.at(at + i))} << (8 * i);
        return value;
    }
    std::string bytes_;
    std::size_t at_ = 0;
};

/// The value of a tag in an event.
float value_of(const std::string& event, const std::string& tag) {
    const auto at = event.find(std::string("\x0a") + static_cast<char>(tag.size()) + tag);
    if (at == std::string::npos) return -1;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i)
        bits |= std::uint32_t{static_cast<std::uint8_t>(event.at(at + 3 + tag.size() + i))}
                << (8 * i);
    return std::bit_cast<float>(bits);
}

TEST(TensorBoardSink, AnEventPerStepWithSumsAndMeansOverRanks) {
    const TempDir folder;
    report::TensorBoardSink sink(folder.path(), 0);
    sink.steps(some_steps(0, 3, 2));
    sink.epoch(some_epoch(0, 3));
    sink.close();
    Records records(sink.file());
    EXPECT_THAT(records.next(), testing::HasSubstr("brain.Event:2"));
    for (int step = 0; step < 3; ++step) {
        const std::string event = records.next();
        EXPECT_EQ(event[10], step);
        EXPECT_EQ(value_of(event, "loss"), 1000.0F * static_cast<float>(step) + 5);
        EXPECT_EQ(value_of(event, "rows/hit"), 2000.0F * static_cast<float>(step) + 38);
    }
    const std::string epoch = records.next();
    EXPECT_EQ(epoch[10], 2);
    EXPECT_EQ(value_of(epoch, "accuracy/valid"), 0.25F);
    EXPECT_EQ(value_of(epoch, "accuracy/test"), -1);
    EXPECT_EQ(value_of(epoch, "epoch/loss"), 0.5F);
    EXPECT_EQ(records.next(), "");
}

TEST(TensorBoardSink, ARunThatGoesOnHasAFileBehindTheOthers) {
    const TempDir folder;
    fs::path last;
    for (std::uint64_t i = 0; i < 3; ++i) {
        report::TensorBoardSink sink(folder.path(), i * 10);
        EXPECT_GT(sink.file(), last);
        EXPECT_THAT(sink.file().filename().string(), testing::StartsWith("events.out.tfevents."));
        last = sink.file();
        sink.close();
        Records records(sink.file());
        static_cast<void>(records.next());
        const std::string second = records.next();
        EXPECT_EQ(second.empty(), i == 0);
        if (i != 0) {
            EXPECT_EQ(second[10], static_cast<char>(i * 10));
        }
    }
}

}  // namespace
}  // namespace rudder::test
