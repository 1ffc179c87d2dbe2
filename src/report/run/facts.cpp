// JSON objects laid flat, read with more patience than files of ours usually get.
#include "core/json.hpp"
#include "report/run_data.hpp"

#include "read_parts.hpp"

namespace rudder::report {

namespace {

constexpr std::size_t most_facts = 20000;
constexpr std::uint64_t most_bytes = 4U << 20;

void flatten(const Json& value, const std::string& path, Facts& facts) {
    if (facts.numbers.size() + facts.texts.size() > most_facts) return;
    const auto below = [&](const std::string& key) {
        return path.empty() ? key : path + "." + key;
    };
    if (value.is_object()) {
        for (const auto& [key, field] : value.items())
            flatten(field, below(key), facts);
    } else if (value.is_array()) {
        for (std::size_t i = 0; i < value.size(); ++i)
            flatten(value[i], below(std::to_string(i)), facts);
    } else if (value.is_boolean()) {
        facts.numbers[path] = value.get<bool>() ? 1 : 0;
    } else if (value.is_number()) {
        facts.numbers[path] = value.get<double>();
    } else if (value.is_string()) {
        facts.texts[path] = value.get<std::string>();
    }
}

template <class Map>
auto list_of(const Map& all, const std::string& path) {
    std::vector<typename Map::mapped_type> list;
    for (std::size_t i = 0;; ++i) {
        const auto found = all.find(path + "." + std::to_string(i));
        if (found == all.end()) return list;
        list.push_back(found->second);
    }
}

}  // namespace

std::optional<double> Facts::number(std::string_view path) const {
    const auto found = numbers.find(path);
    if (found == numbers.end()) return std::nullopt;
    return found->second;
}

std::string Facts::text(std::string_view path) const {
    const auto found = texts.find(path);
    return found == texts.end() ? std::string() : found->second;
}

std::vector<std::string> Facts::list(const std::string& path) const {
    return list_of(texts, path);
}

std::vector<double> Facts::number_list(const std::string& path) const {
    return list_of(numbers, path);
}

Facts flat_facts(const Json& value) {
    Facts facts;
    flatten(value, "", facts);
    return facts;
}

Facts read_facts(const std::filesystem::path& file) {
    return flat_facts(read_json(file, most_bytes));
}

void add_partition(RunData& run, const std::string& json) {
    flatten(parse_json(json, "partition"), "partition", run.run);
}

}  // namespace rudder::report
