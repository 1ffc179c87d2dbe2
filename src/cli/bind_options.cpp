#include "bind_options.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rudder/core/text.hpp"

#include "verb.hpp"

namespace rudder::cli {

namespace {

/// "Network: sage, gcn or gat"
std::string description(const SettingInfo& info) {
    if (info.words == nullptr) return std::string(info.help);
    auto words = info.words();
    const std::string_view last = words.back();
    words.pop_back();
    return fmt::format("{}: {} or {}", info.help, join(words, ", "), last);
}

}  // namespace

void bind_option(CLI::App& app, const BoundSetting& setting, HelpListing shown) {
    const SettingInfo& info = *setting.info;
    const std::string name = fmt::format("--{}", info.name);
    CLI::Option* option = nullptr;
    if (info.kind == SettingKind::flag) {
        option = app.add_flag_function(
            name, [put = setting.put](std::int64_t count) { put(Json(count > 0)); },
            description(info));
    } else {
        option = app.add_option(
            name,
            [&info, put = setting.put](const CLI::results_t& texts) {
                put(parse_setting(info, texts.back()));
                return true;
            },
            description(info));
        option->type_name(std::string(info.unit));
        offer(*option, info);
        if (!info.marked(Marks::derived)) option->default_str(setting_text(info, setting.value));
    }
    if (shown == HelpListing::none ||
        (shown == HelpListing::declared && info.marked(Marks::further)))
        option->group(std::string(further_options));
}

CLI::Option& limit(CLI::Option* option, std::string_view name, SettingKind kind,
                   SettingLimits limits) {
    SettingInfo info;
    info.name = name;
    info.kind = kind;
    info.limits = limits;
    // Without a name: that of a check is what completion offers.
    option->check(
        [info](const std::string& text) {
            static_cast<void>(parse_setting(info, text));
            return std::string();
        },
        "", "");
    return *option;
}

namespace {

constexpr char between_words = ' ';

}  // namespace

// The parser keeps them with the option as the name of a check that everything passes.
void offer(CLI::Option& option, std::span<const std::string_view> words) {
    option.check([](const std::string& /*text*/) { return std::string(); }, "",
                 join(words, std::string(1, between_words)));
}

void offer(CLI::Option& option, const SettingInfo& info) {
    const auto& names = info.words ? info.words : info.offers;
    if (names) offer(option, names());
}

void offer_folders(CLI::Option& option) {
    offer(option, std::array{any_folder});
}

namespace {

/// What was offered, folders included.
std::vector<std::string> all_offered(CLI::Option& option) {
    std::vector<std::string> words;
    try {
        const std::string& names = option.get_validator(0)->get_name();
        for (const std::string_view word : split(names, between_words)) {
            if (!word.empty()) words.emplace_back(word);
        }
    } catch (const CLI::OptionNotFound&) {  // it has no check at all
    }
    return words;
}

}  // namespace

std::vector<std::string> offered(CLI::Option& option) {
    auto words = all_offered(option);
    std::erase(words, any_folder);
    return words;
}

bool offers_folders(CLI::Option& option) {
    const auto words = all_offered(option);
    return std::ranges::find(words, any_folder) != words.end();
}

SettingKind kind_of(const CLI::Option& option) {
    static constexpr std::array<std::string_view, 5> whole{"INT", "UINT", "N", "ROWS", "PORT"};
    static constexpr std::array<std::string_view, 3> real{"FLOAT", "SECONDS", "SHARE"};
    if (option.get_expected_max() == 0) return SettingKind::flag;
    const std::string type = option.get_type_name();
    const std::string unit = type.substr(0, type.find(':'));
    if (std::ranges::find(whole, unit) != whole.end()) return SettingKind::integer;
    if (std::ranges::find(real, unit) != real.end()) return SettingKind::real;
    return unit == "N,N" ? SettingKind::list : SettingKind::text;
}

bool given(const CLI::App& app, const std::string& name) {
    const CLI::Option* option = app.get_option_no_throw(name);
    return option != nullptr && option->count() > 0;
}

}  // namespace rudder::cli
