// What is known by name: that of the program, then what was registered.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <vector>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/spec.hpp"

namespace rudder {

/// A usage Error that names the nearest of the known names, and all of them.
[[nodiscard]] Error unknown_name(std::string_view noun, std::string_view name,
                                 std::span<const std::string_view> names, const std::string& where);

/// Descriptions with their makers, in order. `Info` is a SpecInfo, `Make` a function.
template <class Info, class Make>
class SpecRegistry {
public:
    struct Entry {
        const Info* info;
        Make* make;
    };
    SpecRegistry(std::initializer_list<Entry> entries) {
        for (const Entry& entry : entries)
            add(*entry.info, entry.make);
    }

    [[nodiscard]] std::span<const Info* const> infos() const noexcept { return infos_; }
    /// A name that is taken is an InternalError.
    void add(const Info& info, Make* make) {
        RUDDER_CHECK(make != nullptr && !info.name.empty());
        RUDDER_CHECK(std::ranges::find(infos_, info.name, &Info::name) == infos_.end());
        infos_.push_back(&info);
        makes_.push_back(make);
    }
    [[nodiscard]] const Info& find(std::string_view noun, std::string_view name,
                                   const std::string& where) const {
        std::vector<std::string_view> names;
        for (const Info* info : infos_) {
            if (info->name == name) return *info;
            names.push_back(info->name);
        }
        throw unknown_name(noun, name, names, where);
    }
    [[nodiscard]] Make* make_of(const Info& info) const {
        const auto found = std::ranges::find(infos_, &info);
        RUDDER_CHECK(found != infos_.end());
        return makes_[static_cast<std::size_t>(found - infos_.begin())];
    }

private:
    std::vector<const Info*> infos_;
    std::vector<Make*> makes_;
};

}  // namespace rudder
