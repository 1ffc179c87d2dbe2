// Safetensors: any tensors there and back, read by a second and simpler reader, cut and damaged.
#include "core/safetensors.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/random.hpp"

#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;

/// Tensors with their values.
struct Owned {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> values;
};

std::vector<Owned> random_tensors(std::uint64_t seed) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = seed}), 0);
    std::vector<Owned> tensors(draws.below(6));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        Owned& tensor = tensors[i];
        tensor.name =
            "layers." + std::to_string(i) + (i % 2 == 0 ? ".weight" : " \"bias\" \xc3\xbc");
        std::size_t count = 1;
        for (std::uint64_t k = draws.below(4); k > 0; --k) {
            tensor.shape.push_back(static_cast<std::int64_t>(draws.below(6)));  // 0: no values
            count *= static_cast<std::size_t>(tensor.shape.back());
        }
        tensor.values.resize(count);
        for (float& value : tensor.values)
            value = static_cast<float>(draws.uniform() - 0.5);
        if (count > 2) {
            tensor.values[0] = std::nanf("");
            tensor.values[1] = -0.0F;
        }
    }
    return tensors;
}

void write_owned(const std::filesystem::path& file, const std::vector<Owned>& tensors,
                 const std::map<std::string, std::string>& notes) {
    std::vector<TensorToWrite> given;
    for (const Owned& tensor : tensors)
        given.push_back({tensor.name, tensor.shape, tensor.values});
    write_safetensors(file, given, notes);
}

std::string bytes_of_file(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

bool same_floats(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

TEST(SafetensorFiles, ComeBackBitForBit) {
    const TempDir folder;
    const auto file = folder / "t.safetensors";
    std::size_t values = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const auto tensors = random_tensors(seed);
        write_owned(file, tensors, {{"format", "pt"}, {"seed", std::to_string(seed)}});
        const Safetensors back(file);
        ASSERT_EQ(back.tensors().size(), tensors.size());
        EXPECT_EQ(back.notes().at("seed"), std::to_string(seed));
        for (const Owned& tensor : tensors) {
            EXPECT_TRUE(same_floats(back.tensor(tensor.name, tensor.shape), tensor.values));
            EXPECT_EQ(back.tensors().at(tensor.name).shape, tensor.shape);
            values += tensor.values.size();
        }
    }
    EXPECT_GT(values, 500U);
}

// As Python's reader does it: eight bytes of length, JSON, and offsets behind it.
TEST(SafetensorFiles, ASecondReaderFindsTheSame) {
    const TempDir folder;
    const auto file = folder / "t.safetensors";
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const auto tensors = random_tensors(seed);
        write_owned(file, tensors, {});
        const std::string bytes = bytes_of_file(file);
        std::uint64_t length = 0;
        std::memcpy(&length, bytes.data(), sizeof(length));
        EXPECT_EQ((8 + length) % 64, 0U) << "tensors begin aligned";
        const Json header = parse_json(std::string_view(bytes).substr(8, length), "header");
        EXPECT_FALSE(header.contains("__metadata__"));
        std::uint64_t end = 0;
        for (const Owned& tensor : tensors) {
            const Json& entry = header.at(tensor.name);
            EXPECT_EQ(entry.at("dtype"), "F32");
            EXPECT_EQ(entry.at("shape").get<std::vector<std::int64_t>>(), tensor.shape);
            EXPECT_EQ(entry.at("data_offsets").at(0), end) << "one after the other";
            end = entry.at("data_offsets").at(1);
            const std::size_t size = tensor.values.size() * sizeof(float);
            if (size == 0) continue;
            const char* found = bytes.data() + 8 + length + end - size;
            EXPECT_EQ(std::memcmp(found, tensor.values.data(), size), 0) << tensor.name;
        }
        EXPECT_EQ(bytes.size(), 8 + length + end);
    }
}

class DamagedSafetensors : public testing::Test {
protected:
    void SetUp() override {
        write_owned(file_, {{"a", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"b", {1}, {7}}}, {{"x", "y"}});
        good_ = bytes_of_file(file_);
        std::uint64_t length = 0;
        std::memcpy(&length, good_.data(), sizeof(length));
        header_ = parse_json(std::string_view(good_).substr(8, length), "header");
        data_ = good_.substr(8 + length);
    }
    /// Writes these bytes, which must be refused as bad input that names the file.
    Refusal refused(const std::string& bytes) {
        std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
        const Refusal refusal = refusal_of([&] { const Safetensors read(file_); });
        EXPECT_EQ(refusal.kind, ErrorKind::input) << refusal.problem;
        EXPECT_THAT(refusal.where, HasSubstr(file_.string()));
        return refusal;
    }
    /// The file with another header.
    [[nodiscard]] std::string with(const Json& header) const {
        const std::string text = header.dump();
        const std::uint64_t length = text.size();
        return std::string(reinterpret_cast<const char*>(&length), 8) + text + data_;
    }

    TempDir folder_;
    std::filesystem::path file_ = folder_ / "t.safetensors";
    std::string good_;
    Json header_;
    std::string data_;
};

TEST_F(DamagedSafetensors, EveryCutIsNoticed) {
    for (std::size_t size = 0; size < good_.size(); ++size)
        static_cast<void>(refused(good_.substr(0, size)));
}

TEST_F(DamagedSafetensors, LengthsThatNoHeaderHas) {
    for (const std::uint64_t length :
         {~std::uint64_t{0}, std::uint64_t{1} << 62U, std::uint64_t{good_.size()}, std::uint64_t{0},
          std::uint64_t{1}}) {
        std::string bytes = good_;
        std::memcpy(bytes.data(), &length, sizeof(length));
        static_cast<void>(refused(bytes));
    }
}

TEST_F(DamagedSafetensors, HeadersThatLie) {
    const auto changed = [&](auto change) {
        Json header = header_;
        change(header);
        return with(header);
    };
    EXPECT_THAT(refused(with(Json::array({1}))).problem, HasSubstr("object"));
    EXPECT_THAT(refused(changed([](Json& h) { h["a"]["dtype"] = "F16"; })).problem,
                HasSubstr("F32"));
    for (const char* key : {"dtype", "shape", "data_offsets"}) {
        EXPECT_THAT(refused(changed([&](Json& h) { h["a"].erase(key); })).problem, HasSubstr(key));
    }
    for (const Json& shape : {Json({2, 4}), Json({-2, 3}), Json({2.0, 3}), Json({"2", 3}),
                              Json({1U << 31U, 1U << 31U})})
        static_cast<void>(refused(changed([&](Json& h) { h["a"]["shape"] = shape; })));
    for (const Json& offsets :
         {Json({0, 28}), Json({4, 24}), Json({24, 0}), Json({1, 25}), Json({0}), Json({0, 12, 24}),
          Json("0"), Json({-4, 20}), Json({1000, 1024}), Json({0.0, 24.0})})
        static_cast<void>(refused(changed([&](Json& h) { h["a"]["data_offsets"] = offsets; })));
    EXPECT_THAT(refused(with(header_) + "x").problem, HasSubstr("multiple of 4"));
}

TEST_F(DamagedSafetensors, HalvesAreTakenWhereTheRulesSaySo) {
    Json header = header_;
    header["a"] = {{"dtype", "BF16"}, {"shape", {3}}, {"data_offsets", {24, 30}}};
    header["b"]["data_offsets"] = {20, 24};
    std::string bytes = with(header);
    // 1, -2.5 and the smallest number, as the upper halves of floats.
    bytes.resize(bytes.size() - 4);
    for (const int half : {0x3F80, 0xC020, 0x0001})
        bytes += {static_cast<char>(half & 0xFF), static_cast<char>(half >> 8)};
    EXPECT_THAT(refused(bytes).problem, HasSubstr("multiple of 4"));
    const Safetensors read(file_, {.bfloat16 = true});
    const std::vector<std::int64_t> shape{3};
    EXPECT_EQ(read.widened("a", shape),
              (std::vector<float>{1, -2.5F, std::bit_cast<float>(0x00010000U)}));
    EXPECT_EQ(read.widened("b", std::vector<std::int64_t>{1}), (std::vector<float>{6}));
    EXPECT_EQ(read.data().size(), 30U);
    EXPECT_THAT(refusal_of([&] { (void)read.tensor("a", shape); }).problem, HasSubstr("not F32"));
    EXPECT_THAT(refusal_of([&] {
                    const Safetensors large(file_, {.bfloat16 = true, .most_bytes = 40});
                }).problem,
                HasSubstr("more than 40"));
}

TEST_F(DamagedSafetensors, OtherTensorsThanTheModelsAreNamed) {
    const Safetensors read(file_);
    const std::vector<std::int64_t> shape{2, 3};
    EXPECT_EQ(read.tensor("a", shape).size(), 6U);
    for (const std::vector<std::int64_t>& other :
         {std::vector<std::int64_t>{3, 2}, std::vector<std::int64_t>{6},
          std::vector<std::int64_t>{2, 3, 1}, std::vector<std::int64_t>{}}) {
        const Refusal refusal = refusal_of([&] { (void)read.tensor("a", other); });
        EXPECT_THAT(refusal.problem, HasSubstr("'a' has another shape"));
        EXPECT_EQ(refusal.where, file_.string());
    }
    EXPECT_THAT(refusal_of([&] { (void)read.tensor("c", shape); }).problem, HasSubstr("'c'"));
}

}  // namespace
}  // namespace rudder::test
