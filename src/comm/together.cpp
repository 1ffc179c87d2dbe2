#include "together.hpp"

#include <array>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

namespace rudder::comm {

namespace {

constexpr char between = '\0';

/// "KIND problem\0where\0remedy"; nothing for success.
std::string as_text(const std::optional<Error>& error) {
    if (!error) return {};
    return static_cast<char>(error->kind()) + error->problem() + between + error->where() +
           between + error->remedy();
}

Error from_text(const std::vector<char>& text, int rank) {
    std::array<std::string, 3> fields;
    std::size_t field = 0;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == between && field + 1 < fields.size()) {
            ++field;
        } else {
            fields[field] += text[i];
        }
    }
    const std::string where = fields[1].empty() ? fmt::format("rank {}", rank)
                                                : fmt::format("rank {}: {}", rank, fields[1]);
    return {static_cast<ErrorKind>(text[0]), fields[0], where, fields[2], rank};
}

}  // namespace

void do_together(const Communicator& comm, FunctionRef<void()> work) {
    std::optional<Error> error;
    try {
        work();
    } catch (const Error& failure) {
        error = failure;
    }
    if (comm.size() == 1) {
        if (error) throw Error(*error);
        return;
    }
    const std::string mine = as_text(error);
    const PerRank<char> all = comm.all_gather(std::span<const char>(mine));
    for (std::size_t r = 0; r < all.size(); ++r) {
        if (!all[r].empty()) throw from_text(all[r], static_cast<int>(r));
    }
}

}  // namespace rudder::comm
