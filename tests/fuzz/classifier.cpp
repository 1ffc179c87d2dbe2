// Files of classifiers: what was read is read again from what is written of it, and both answer
// alike. The checksum is set right before a second look, so that damage reaches what lies behind
// it.
#include "steer/classifiers/classifier.hpp"

#include <cstring>

#include "rudder/core/checksum.hpp"

#include "../steer/random_models.hpp"
#include "fuzz.hpp"

namespace rudder::fuzz {

namespace {

constexpr std::size_t before_header = 16;  // a magic word and the header's length

/// The bytes with the checksum of what is behind the header.
std::string resealed(std::string bytes) {
    const std::string key = "\"checksum\":\"";
    const std::size_t at = bytes.find(key);
    std::uint64_t length = 0;
    if (bytes.size() < before_header || at == std::string::npos) return bytes;
    std::memcpy(&length, bytes.data() + before_header - sizeof length, sizeof length);
    if (length > bytes.size() - before_header || at + key.size() + 16 > bytes.size()) return bytes;
    const auto payload = std::as_bytes(std::span(bytes)).subspan(before_header + length);
    return bytes.replace(at + key.size(), 16, to_hex(hash_bytes(payload)));
}

void check_classifier(const std::string& bytes) {
    const steer::Model model = steer::read_model(put("in.model", bytes));
    steer::write_model(model, scratch() / "again.model", true);
    const steer::Model again = steer::read_model(scratch() / "again.model");
    FUZZ_EXPECT(again.kind == model.kind && again.features == model.features);
    FUZZ_EXPECT(again.label == model.label && again.report == model.report);
    FUZZ_EXPECT(same_bits(again.mean, model.mean) && same_bits(again.spread, model.spread));
    FUZZ_EXPECT(again.arrays.size() == model.arrays.size());
    for (std::size_t i = 0; i < model.arrays.size(); ++i) {
        FUZZ_EXPECT(again.arrays[i].name == model.arrays[i].name);
        FUZZ_EXPECT(again.arrays[i].shape == model.arrays[i].shape);
        FUZZ_EXPECT(same_bits(again.arrays[i].values, model.arrays[i].values));
        FUZZ_EXPECT(same_bits(again.arrays[i].wholes, model.arrays[i].wholes));
    }
    const auto first = steer::make_classifier(model, "in.model");
    const auto second = steer::make_classifier(again, "again.model");
    std::vector<double> features(model.mean.size());
    std::vector<float> standardised(model.mean.size());
    for (const double scale : {0.0, 1.0, -1e9}) {
        for (std::size_t i = 0; i < features.size(); ++i)
            features[i] = scale * static_cast<double>(i);
        steer::standardise(model, features, standardised);
        const double said = first->probability(standardised);
        const double again_said = second->probability(standardised);
        FUZZ_EXPECT(std::memcmp(&said, &again_said, sizeof said) == 0);
    }
}

/// Two trees, of as many nodes as a file of a few kilobytes holds.
steer::Model small_trees(const std::string& kind) {
    steer::Model model;
    model.kind = kind;
    model.mean.assign(steer::feature_names(model.features).size(), 0.25F);
    model.spread.assign(model.mean.size(), 0.5F);
    for (const char* name : {"left", "right", "feature", "split", "roots"})
        model.arrays.push_back({name, {}, {}, {}});
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 3}), 7);
    for (int tree = 0; tree < 2; ++tree)
        test::grow(model, draws, 3);
    for (steer::ModelArray& array : model.arrays)
        array.shape = {std::max(array.values.size(), array.wholes.size())};
    model.arrays.push_back({"sum", {2}, {0.25F, 0.5F}, {}});
    return model;
}

}  // namespace

void check(std::string_view bytes) {
    try {
        check_classifier(std::string(bytes));
    } catch (const Error&) {
        check_classifier(resealed(std::string(bytes)));
    }
}

std::vector<std::string> seeds() {
    std::vector<std::string> made;
    for (const steer::Model& model :
         {test::random_model("lr", 1), test::random_model("svm", 2, steer::FeatureSet::faithful),
          small_trees("rf"), small_trees("xgb")}) {
        steer::write_model(model, scratch() / "made", true);
        made.push_back(bytes_of(scratch() / "made"));
    }
    return made;
}

}  // namespace rudder::fuzz
