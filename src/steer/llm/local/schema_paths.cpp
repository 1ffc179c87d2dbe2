#include "schema_paths.hpp"

#include <algorithm>
#include <array>
#include <bitset>

#include "core/json.hpp"
#include "rudder/core/check.hpp"

namespace rudder::steer {

namespace {

/// Characters that a string may have, and how many of them.
struct CharacterRule {
    std::bitset<128> taken;
    std::uint64_t least = 0;
    std::uint64_t most = 0;
};

/// Reads ^[...]{a,b}$, the one form of pattern that our schemas have.
CharacterRule rule_of(std::string_view pattern) {
    CharacterRule rule;
    const std::size_t close = pattern.rfind(']');
    const std::size_t comma = pattern.rfind(',');
    RUDDER_CHECK(pattern.starts_with("^[") && pattern.ends_with("}$") &&
                 close != std::string_view::npos && comma != std::string_view::npos &&
                 close < comma && pattern[close + 1] == '{');
    const std::string_view set = pattern.substr(2, close - 2);
    for (std::size_t i = 0; i < set.size(); ++i) {
        const bool range = i + 2 < set.size() && set[i + 1] == '-';
        const char last = range ? set[i + 2] : set[i];
        for (char c = set[i]; c <= last; ++c) {
            RUDDER_CHECK(c >= ' ' && c != '"' && c != '\\');
            rule.taken.set(static_cast<std::size_t>(c));
        }
        if (range) i += 2;
    }
    rule.least = std::stoull(std::string(pattern.substr(close + 2, comma - close - 2)));
    rule.most = std::stoull(std::string(pattern.substr(comma + 1)));
    return rule;
}

bool is_required(const Json& schema, const std::string& key) {
    const auto required = schema.find("required");
    return required != schema.end() && std::ranges::find(*required, Json(key)) != required->end();
}

}  // namespace

SchemaPaths::SchemaPaths(const Json& schema) {
    const Node from = spot();
    end_ = value(from, schema);
}

SchemaPaths::Node SchemaPaths::spot() {
    spots_.emplace_back();
    return static_cast<Node>(spots_.size() - 1);
}

void SchemaPaths::join(Node from, Node to) {
    spots_[from].free.push_back(to);
}

SchemaPaths::Node SchemaPaths::text(Node from, std::string_view bytes) {
    for (const char byte : bytes) {
        const Node to = spot();
        spots_[from].steps.push_back({static_cast<std::uint8_t>(byte), to});
        from = to;
    }
    return from;
}

SchemaPaths::Node SchemaPaths::value(Node from, const Json& schema) {
    if (const auto variants = schema.find("anyOf"); variants != schema.end()) {
        const Node to = spot();
        for (const Json& variant : *variants)
            join(value(from, variant), to);
        return to;
    }
    if (const auto only = schema.find("const"); only != schema.end()) {
        return text(from, only->dump());
    }
    if (const auto list = schema.find("enum"); list != schema.end()) return words(from, *list);
    const std::string type = schema.value("type", "");
    if (type == "object") return object(from, schema);
    if (type == "string") return characters(from, schema);
    RUDDER_CHECK(type == "integer");
    return whole(from, schema.at("minimum").get<std::int64_t>(),
                 schema.at("maximum").get<std::int64_t>());
}

SchemaPaths::Node SchemaPaths::words(Node from, const Json& list) {
    const Node to = spot();
    for (const Json& word : list)
        join(text(from, word.dump()), to);
    return to;
}

SchemaPaths::Node SchemaPaths::object(Node from, const Json& schema) {
    RUDDER_CHECK(!schema.value("additionalProperties", true));
    // Where keys so far were left out, the next one has no comma.
    Node none = text(from, "{");
    Node some = spot();
    for (const auto& [key, property] : schema.at("properties").items()) {
        const std::string name = Json(key).dump() + ":";
        const Node written = spot();
        join(text(none, name), written);
        join(text(some, "," + name), written);
        const Node behind = value(written, property);
        const Node next_none = spot();
        const Node next_some = spot();
        join(behind, next_some);
        if (!is_required(schema, key)) {
            join(none, next_none);
            join(some, next_some);
        }
        none = next_none;
        some = next_some;
    }
    const Node last = spot();
    join(some, last);
    if (schema.value("minProperties", 0) == 0) join(none, last);
    return text(last, "}");
}

SchemaPaths::Node SchemaPaths::whole(Node from, std::int64_t least, std::int64_t most) {
    const Node to = spot();
    const auto size_of = [](std::int64_t value) {
        return value < 0 ? 0 - static_cast<std::uint64_t>(value)
                         : static_cast<std::uint64_t>(value);
    };
    if (most >= 0) magnitudes(from, to, size_of(std::max<std::int64_t>(least, 0)), size_of(most));
    if (least < 0) {
        const Node minus = text(from, "-");
        magnitudes(minus, to, size_of(std::min<std::int64_t>(most, -1)), size_of(least));
    }
    return to;
}

void SchemaPaths::magnitudes(Node from, Node to, std::uint64_t least, std::uint64_t most) {
    if (least > most) return;
    const std::string low = std::to_string(least);
    const std::string high = std::to_string(most);
    for (std::size_t length = low.size(); length <= high.size(); ++length) {
        const std::string first = length == low.size() ? low : "1" + std::string(length - 1, '0');
        digits(from, to, first, length == high.size() ? high : std::string(length, '9'));
    }
}

void SchemaPaths::digits(Node from, Node to, const std::string& least, const std::string& most) {
    // Places by what the digits so far were: equal to both bounds, to one of them, or between.
    struct Place {
        bool low, high;
    };
    constexpr std::array places{Place{true, true}, Place{true, false}, Place{false, true},
                                Place{false, false}};
    const auto index = [](bool low, bool high) {
        return static_cast<std::size_t>(low ? (high ? 0 : 1) : (high ? 2 : 3));
    };
    constexpr Node absent = ~Node{0};
    std::array<Node, 4> here{from, absent, absent, absent};
    for (std::size_t i = 0; i < least.size(); ++i) {
        std::array<Node, 4> there{absent, absent, absent, absent};
        for (std::size_t p = 0; p < places.size(); ++p) {
            if (here[p] == absent) continue;
            const char first = places[p].low ? least[i] : '0';
            const char last = places[p].high ? most[i] : '9';
            for (char digit = first; digit <= last; ++digit) {
                Node& next = there[index(places[p].low && digit == least[i],
                                         places[p].high && digit == most[i])];
                if (next == absent) next = i + 1 == least.size() ? to : spot();
                spots_[here[p]].steps.push_back({static_cast<std::uint8_t>(digit), next});
            }
        }
        here = there;
    }
}

SchemaPaths::Node SchemaPaths::characters(Node from, const Json& schema) {
    const CharacterRule rule = rule_of(schema.at("pattern").get<std::string>());
    RUDDER_CHECK(rule.most <= schema.value("maxLength", rule.most));
    const Node to = spot();
    Node here = text(from, "\"");
    for (std::uint64_t count = 0; count <= rule.most; ++count) {
        if (count >= rule.least) spots_[here].steps.push_back({'"', to});
        if (count == rule.most) break;
        const Node next = spot();
        for (std::size_t c = 0; c < rule.taken.size(); ++c) {
            if (rule.taken[c]) spots_[here].steps.push_back({static_cast<std::uint8_t>(c), next});
        }
        here = next;
    }
    return to;
}

}  // namespace rudder::steer
