// What a model of this process makes of collected decisions (rudder agent collect --for llm): which
// of the replies it chooses, and what that would have cost.
//
//     bench_steer_decisions [--file MODEL] [--yes-no] [--permute SEED] DECISIONS.jsonl ...
//
// It chooses among the actions of each line. --yes-no: between keeping and replacing all, on the
// lines that have both; the label is whether replacing fetches fewer rows. --permute: names of
// policies change places, in the prompt and in the replies, so that they mean something else than
// the model may know them for. Prints one JSON object.
#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"
#include "rudder/core/text.hpp"
#include "steer/llm/local/built_in_model.hpp"
#include "steer/llm/local/local_model.hpp"

namespace {

using namespace rudder;

constexpr std::array<std::string_view, 8> names{
    "lru", "lfu", "clock", "window", "scored", "static-degree", "static-vip", "static-random"};

/// Puts other names in the place of these, wherever they stand as a word.
class Renaming {
public:
    explicit Renaming(std::optional<std::uint64_t> seed) {
        std::iota(to_.begin(), to_.end(), std::size_t{0});
        if (!seed) return;
        Draws draws(RandomStream({Purpose::test, *seed}), 0);
        for (std::size_t i = to_.size() - 1; i > 0; --i)
            std::swap(to_[i], to_[draws.below(i + 1)]);
    }
    [[nodiscard]] std::string operator()(const std::string& text) const {
        const auto of_word = [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
        };
        std::string all;
        for (std::size_t at = 0; at < text.size();) {
            std::size_t end = at;
            while (end < text.size() && of_word(text[end]))
                ++end;
            const std::string_view word = std::string_view(text).substr(at, end - at);
            const auto known = std::ranges::find(names, word);
            all += known == names.end()
                       ? word
                       : names[to_[static_cast<std::size_t>(known - names.begin())]];
            if (end < text.size()) all += text[end++];
            at = end;
        }
        return all;
    }
    /// What stands for what.
    [[nodiscard]] Json json() const {
        Json out;
        for (std::size_t i = 0; i < names.size(); ++i)
            out[std::string(names[i])] = std::string(names[to_[i]]);
        return out;
    }

private:
    std::array<std::size_t, names.size()> to_{};
};

struct Priced {
    std::string reply;
    double rows = 0;
    bool keeps = false;
    bool replaces_all = false;
};

std::vector<Priced> actions_of(const Json& line, const Renaming& renamed) {
    std::vector<Priced> all;
    for (const Json& one : line.at("actions")) {
        const Json& reply = one.at("reply");
        const std::string kind = reply.at("action");
        all.push_back({.reply = renamed(reply.dump()),
                       .rows = one.at("rows"),
                       .keeps = kind == "keep",
                       .replaces_all = kind == "replace" && reply.value("fraction", 1.0) == 1.0});
    }
    return all;
}

/// What was chosen so far.
struct Chosen {
    std::uint64_t decisions = 0;
    std::uint64_t no_worse = 0;  ///< than keeping
    std::uint64_t telling = 0;   ///< one action is better than keeping by over 2 %
    std::uint64_t best = 0;      ///< of these: the best was chosen, or one as good
    double rows = 0;
    double best_rows = 0;
    double keep_rows = 0;
    std::array<std::array<std::uint64_t, 2>, 2> yes_no{};  ///< by label, then answer

    void add(const Priced& taken, const std::vector<Priced>& actions, bool yes) {
        const double least = std::ranges::min(actions, {}, &Priced::rows).rows;
        const auto keep = std::ranges::find_if(actions, &Priced::keeps);
        ++decisions;
        no_worse += taken.rows <= keep->rows ? 1U : 0U;
        rows += taken.rows;
        best_rows += least;
        keep_rows += keep->rows;
        if (least < 0.98 * keep->rows) {
            ++telling;
            best += taken.rows == least ? 1U : 0U;
        }
        if (yes) ++yes_no[least < keep->rows ? 1 : 0][taken.keeps ? 0 : 1];
    }
    [[nodiscard]] Json json(bool yes) const {
        const auto share = [](double part, double all) {
            return all == 0 ? Json() : Json(part / all);
        };
        const auto count = [](std::uint64_t n) { return static_cast<double>(n); };
        Json out{{"decisions", decisions},
                 {"no_worse", share(count(no_worse), count(decisions))},
                 {"over_the_best", share(rows, best_rows)},
                 {"keep_over_the_best", share(keep_rows, best_rows)},
                 {"telling", telling},
                 {"best_chosen", share(count(best), count(telling))}};
        if (!yes) return out;
        const Json no = share(count(yes_no[0][0]), count(yes_no[0][0] + yes_no[0][1]));
        const Json right = share(count(yes_no[1][1]), count(yes_no[1][0] + yes_no[1][1]));
        out["labels"] = {{"no", yes_no[0][0] + yes_no[0][1]}, {"yes", yes_no[1][0] + yes_no[1][1]}};
        out["balanced"] = no.is_null() || right.is_null()
                              ? Json()
                              : Json((no.get<double>() + right.get<double>()) / 2);
        return out;
    }
};

struct Options {
    std::vector<std::string> files;
    std::string model;
    bool yes_no = false;
    std::optional<std::uint64_t> permuted;
};

Options options_of(const std::vector<std::string>& words) {
    Options options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--yes-no") {
            options.yes_no = true;
        } else if (words[i] == "--file") {
            options.model = words.at(++i);
        } else if (words[i] == "--permute") {
            options.permuted = parse_u64(words.at(++i)).value();
        } else {
            options.files.push_back(words[i]);
        }
    }
    if (options.files.empty())
        throw usage_error("no decisions", "bench_steer_decisions", "give files of agent collect");
    return options;
}

int bench_decisions(const Options& options) {
    steer::LocalModel model(options.model.empty()
                                ? steer::built_in_model()
                                : steer::read_steering_model(std::filesystem::path(options.model)),
                            0, 256);
    const Renaming renamed(options.permuted);
    Chosen chosen;
    for (const std::string& file : options.files) {
        std::ifstream in(file);
        if (!in) throw input_error("no such file", file, "give files of agent collect");
        for (std::string text; std::getline(in, text);) {
            const Json line = parse_json(text, file);
            std::vector<Priced> actions = actions_of(line, renamed);
            if (options.yes_no) {
                std::erase_if(actions,
                              [](const Priced& one) { return !one.keeps && !one.replaces_all; });
                if (actions.size() != 2) continue;
            }
            Json schema{{"anyOf", Json::array()}};
            for (const Priced& one : actions)
                schema["anyOf"].push_back({{"const", parse_json(one.reply, file)}});
            const std::array messages{
                steer::ChatMessage{steer::ChatRole::system, renamed(line.at("system"))},
                steer::ChatMessage{steer::ChatRole::user, renamed(line.at("user"))}};
            const std::string reply =
                model.chat(messages, schema, steer::LocalModel::Clock::time_point::max());
            const auto taken = std::ranges::find(actions, reply, &Priced::reply);
            if (taken == actions.end())
                throw Error(ErrorKind::failed, "another reply than one of the list", file, reply);
            chosen.add(*taken, actions, options.yes_no);
        }
    }
    Json out = chosen.json(options.yes_no);
    if (options.permuted) out["names"] = renamed.json();
    fmt::print("{}\n", out.dump());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return bench_decisions(options_of({argv + 1, argv + argc}));
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
