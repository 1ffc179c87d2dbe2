// Model files: there and back, in both types, and refused by field and by byte.
#include "steer/llm/local/steering_model.hpp"

#include <bit>
#include <cstring>
#include <iterator>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "random_model.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

bool same_model(steer::SteeringModel& a, steer::SteeringModel& b) {
    if (!(a.shape == b.shape) || a.pieces != b.pieces) return false;
    return std::ranges::all_of(steer::model_tensors(a.shape), [&](const steer::ModelTensor& t) {
        const auto& x = t.of(a);
        const auto& y = t.of(b);
        return x.size() == y.size() &&
               std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
    });
}

std::string file_bytes(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

class ModelFiles : public testing::Test {
protected:
    ModelFiles() {
        write_model(file_, model_);
        good_ = file_bytes(file_);
        std::memcpy(&length_, good_.data(), sizeof length_);
        header_ = parse_json(std::string_view(good_).substr(8, length_), "header");
    }
    /// Puts bytes into the file, which must then be refused as bad input that names it.
    Refusal refused(const std::string& bytes) {
        put(bytes);
        const Refusal refusal = refusal_of([&] { (void)steer::read_steering_model(file_); });
        EXPECT_EQ(refusal.kind, ErrorKind::input) << refusal.problem;
        EXPECT_THAT(refusal.where, HasSubstr(file_.string()));
        return refusal;
    }
    void put(const std::string& bytes) {
        std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
    }
    /// The file with another header, and other data where given.
    [[nodiscard]] std::string with(const Json& header, std::optional<std::string> data = {}) const {
        const std::string text = header.dump();
        const std::uint64_t length = text.size();
        return std::string(reinterpret_cast<const char*>(&length), 8) + text +
               data.value_or(good_.substr(8 + length_));
    }
    /// What is said of a file with other notes.
    std::string with_notes(const std::function<void(Json& notes)>& change) {
        Json header = header_;
        header["__metadata__"].erase("header_checksum");
        change(header["__metadata__"]);
        return refused(with(header)).problem;
    }
    std::string with_config(const char* key, const Json& value) {
        return with_notes([&](Json& notes) {
            Json config = Json::parse(notes["config"].get<std::string>());
            config[key] = value;
            notes["config"] = config.dump();
        });
    }

    TempDir folder_;
    std::filesystem::path file_ = folder_ / "model.safetensors";
    steer::SteeringModel model_ =
        random_model({.layers = 1,
                      .width = 4,
                      .heads = 2,
                      .kv_heads = 1,
                      .hidden = 3,
                      .context = 32,
                      .rope_base = 10000,
                      .norm_eps = 1e-5},
                     pieces_with({"ab", "\xE2\x96\x81t", "a", "\"", "\n"}), 3);
    std::string good_;
    std::uint64_t length_ = 0;
    Json header_;
};

TEST_F(ModelFiles, ComeBackBitForBit) {
    steer::SteeringModel back = steer::read_steering_model(file_);
    EXPECT_TRUE(same_model(back, model_));
    EXPECT_EQ(back.name, "model.safetensors");
    // 268 * 4 + 4, and 4 + 16 + 8 + 8 + 16 + 4 + 12 + 12 + 12.
    EXPECT_EQ(back.parameters(), 1076U + 92U);
}

TEST_F(ModelFiles, HalvesAreWidened) {
    std::string data;
    Json header{{"__metadata__", header_["__metadata__"]}};
    for (const steer::ModelTensor& tensor : steer::model_tensors(model_.shape)) {
        const std::size_t begin = data.size();
        for (float& value : tensor.of(model_)) {
            const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & 0xFFFF0000U;
            value = std::bit_cast<float>(bits);
            data += {static_cast<char>(bits >> 16U & 0xFFU), static_cast<char>(bits >> 24U)};
        }
        header[tensor.name] = {
            {"dtype", "BF16"}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
    }
    header["__metadata__"]["checksum"] = to_hex(array_checksum(std::as_bytes(std::span(data))));
    put(with(header, data));
    steer::SteeringModel back = steer::read_steering_model(file_);
    EXPECT_TRUE(same_model(back, model_));
}

TEST_F(ModelFiles, EveryFieldThatDiffersIsNamed) {
    for (const char* key : {"format", "version", "config", "tokens", "checksum"}) {
        EXPECT_THAT(with_notes([&](Json& notes) { notes.erase(key); }),
                    HasSubstr(std::string("lacks '") + key + "'"));
    }
    EXPECT_THAT(with_notes([](Json& notes) { notes["format"] = "gguf"; }),
                HasSubstr("format is 'gguf', not 'rudder-steering-model'"));
    EXPECT_THAT(with_notes([](Json& notes) { notes["version"] = "2"; }),
                HasSubstr("version is '2', not '1'"));
    EXPECT_THAT(with_notes([](Json& notes) { notes["checksum"] = "0123456789abcdef"; }),
                HasSubstr("checksum is 0123456789abcdef, of its weights "));
    EXPECT_THAT(with_notes([](Json& notes) { notes["config"] = "[]"; }), HasSubstr("config"));
    EXPECT_THAT(with_notes([](Json& notes) { notes["tokens"] = "{}"; }), HasSubstr("tokens"));
    EXPECT_THAT(with_notes([](Json& notes) { notes["tokens"] = "[1]"; }), HasSubstr("token 0"));
    EXPECT_THAT(with_notes([](Json& notes) { notes["tokens"] = "[\"<unk>\"]"; }),
                HasSubstr("1 tokens, and a vocabulary of 268"));
    EXPECT_THAT(with_notes([](Json& notes) { notes["header_checksum"] = "0123456789abcdef"; }),
                HasSubstr("header_checksum"));
    for (const char* key :
         {"layers", "width", "heads", "kv_heads", "hidden", "context", "vocabulary"}) {
        EXPECT_THAT(with_config(key, 0), AllOf(HasSubstr(key), HasSubstr("is 0")));
        EXPECT_THAT(with_config(key, 1U << 30U), AllOf(HasSubstr(key), HasSubstr("1073741824")));
        EXPECT_THAT(with_config(key, "4"), HasSubstr(key));
        EXPECT_THAT(with_config(key, nullptr), HasSubstr(key));
    }
    EXPECT_THAT(with_config("rope_base", 1), HasSubstr("rope_base"));
    EXPECT_THAT(with_config("norm_eps", -1), HasSubstr("norm_eps"));
    EXPECT_THAT(with_config("heads", 4), HasSubstr("even multiple of heads"));
    EXPECT_THAT(with_config("layers", 2), HasSubstr("no tensor 'blk.1.attn_norm.weight'"));
    EXPECT_THAT(with_config("hidden", 4),
                HasSubstr("tensor 'blk.0.ffn_gate.weight' is of shape [3, 4], not [4, 4]"));
    EXPECT_THAT(with_config("kv_heads", 2), HasSubstr("'blk.0.attn_k.weight'"));
}

TEST_F(ModelFiles, OtherTensorsAreRefused) {
    const auto problem = [&](const std::function<void(Json&)>& change) {
        Json header = header_;
        change(header);
        return refused(with(header)).problem;
    };
    EXPECT_THAT(problem([](Json& h) { h["output.weight"] = h["output_norm.weight"]; }),
                HasSubstr("unknown tensor 'output.weight'"));
    EXPECT_THAT(problem([](Json& h) { h.erase("output_norm.weight"); }),
                HasSubstr("no tensor 'output_norm.weight'"));
    EXPECT_THAT(problem([](Json& h) { h["output_norm.weight"]["dtype"] = "F16"; }),
                HasSubstr("output_norm.weight is not F32 or BF16"));
    EXPECT_THAT(problem([](Json& h) {
                    h["output_norm.weight"]["shape"] = {2, 2};
                }),
                HasSubstr("of shape [2, 2], not [4]"));
    model_.output_norm[1] = std::numeric_limits<float>::quiet_NaN();
    write_model(file_, model_);
    EXPECT_THAT(refused(file_bytes(file_)).problem,
                HasSubstr("'output_norm.weight' holds NaN or infinity"));
}

TEST_F(ModelFiles, EveryCutIsRefused) {
    for (std::size_t size = 0; size < good_.size(); size += size < 40 ? 1 : 37)
        static_cast<void>(refused(good_.substr(0, size)));
    static_cast<void>(refused(good_ + "1234"));
}

// Weights are covered by `checksum`, sizes and words by `header_checksum`. Where the latter's own
// name is hit, or the room behind the header's end, nothing else is.
TEST_F(ModelFiles, EveryByteThatIsFlippedIsNoticed) {
    const std::string name = "header_checksum";
    const std::size_t named = good_.find(name);
    const std::size_t end = good_.find_last_not_of(' ', 7 + length_);
    for (std::size_t at = 0; at < good_.size(); ++at) {
        std::string bytes = good_;
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
        put(bytes);
        try {
            steer::SteeringModel read = steer::read_steering_model(file_);
            ASSERT_TRUE(same_model(read, model_)) << at;
            ASSERT_TRUE((at >= named && at < named + name.size()) || (at > end && at < 8 + length_))
                << at;
        } catch (const Error& error) {
            ASSERT_EQ(error.kind(), ErrorKind::input) << at << ": " << error.what();
        }
    }
}

}  // namespace
}  // namespace rudder::test
