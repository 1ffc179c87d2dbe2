// Feature tables as text, parsed on all threads, a batch of lines at a time.
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "feature_sources.hpp"
#include "text_input.hpp"

namespace rudder::graph {

namespace {

class TextFeatures final : public FeatureSource {
public:
    TextFeatures(std::filesystem::path file, VertexId rows) : file_(std::move(file)), rows_(rows) {
        TextInput text(file_);
        if (const auto line = text.peek_line()) {
            for (LineCursor cursor(*line); !cursor.done(); ++info_.width)
                static_cast<void>(cursor.word());
        }
        if (info_.width > max_feature_width) {
            throw text.error({"the row is too wide", 1, "check that this is the right file"});
        }
    }

    [[nodiscard]] FeatureInfo info() const override { return info_; }
    [[nodiscard]] VertexId rows() const override { return rows_; }
    [[nodiscard]] std::string where() const override { return file_.string(); }

    void walk(FunctionRef<void(std::span<const std::byte>)> block) const override {
        TextInput text(file_);
        std::vector<std::vector<float>> pieces;
        VertexId seen = 0;
        text.parse([&](std::size_t count) { pieces.assign(count, {}); },
                   [&](std::size_t piece, std::string_view line) {
                       if (!blank_or_comment(line)) parse_row(line, pieces[piece]);
                   },
                   [&] {
                       for (const auto& piece : pieces) {
                           seen += piece.size() / info_.width;
                           check_count(seen, seen > rows_);
                           if (!piece.empty()) block(std::as_bytes(std::span(piece)));
                       }
                   },
                   Progress::none());
        check_count(seen, seen != rows_);
    }

private:
    void parse_row(std::string_view line, std::vector<float>& values) const {
        LineCursor cursor(line);
        for (std::uint64_t c = 0; c < info_.width; ++c) {
            const auto value = static_cast<float>(cursor.number());
            if (!std::isfinite(value)) {
                throw cursor.fault("a feature is NaN or infinite", "replace the value");
            }
            values.push_back(value);
        }
        if (!cursor.done()) {
            throw cursor.fault(fmt::format("the row has more than {} columns", info_.width),
                               "give every row the same number of columns");
        }
    }
    void check_count(VertexId seen, bool bad) const {
        if (!bad) return;
        throw input_error(fmt::format("there are {} rows of features{} for {} vertices", seen,
                                      seen > rows_ ? " or more" : "", rows_),
                          file_.string(), "give one for each vertex");
    }

    std::filesystem::path file_;
    VertexId rows_;
    FeatureInfo info_;
};

}  // namespace

std::unique_ptr<FeatureSource> text_features(const std::filesystem::path& file, VertexId rows) {
    auto source = std::make_unique<TextFeatures>(file, rows);
    if (source->info().width == 0) return nullptr;
    return source;
}

}  // namespace rudder::graph
