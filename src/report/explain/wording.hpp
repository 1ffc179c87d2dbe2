// Findings in the words of a language model, which may order and word them, and nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/json_fwd.hpp"
#include "rudder/steer/llm/options.hpp"

#include "findings.hpp"

namespace rudder::report {

/// Numbers that a text holds, as they stand in it: digits with a point or separators inside.
[[nodiscard]] std::vector<double> numbers_in(std::string_view text);

/// A number in a text that is not written with the digits 0 to 9.
struct NumberWord {
    std::string_view text;        ///< as it stands there
    std::optional<double> value;  ///< none: of digits that are not read
};

/// English words for numbers ("seventy", "twice", "half"), whatever their case, and digits beyond
/// ASCII, each by itself. "One" is none, since it stands for things more often than for the number,
/// nor are ordinals.
[[nodiscard]] std::vector<NumberWord> number_words(std::string_view text);

/// The first number of `text` that none of the findings has; empty: all are theirs.
[[nodiscard]] std::string foreign_number(std::string_view text,
                                         const std::vector<Finding>& findings);

/// What a reply must be: an order of the findings ("2,1"), and a text for each (`finding_1`, ...).
[[nodiscard]] Json wording_schema(std::size_t findings);

/// The findings as such a reply words them. An Error (kind failed) that says why for a reply that
/// cannot be used: not of that form, an order that leaves one out, or a number that is not of the
/// evidence.
[[nodiscard]] std::string worded(std::string_view reply, const std::vector<Finding>& findings);

/// Asks a server's model. An Error (kind failed) where it gives no reply, or one as above.
[[nodiscard]] std::string worded_by(const steer::LlmOptions& model,
                                    const std::vector<Finding>& findings);

}  // namespace rudder::report
