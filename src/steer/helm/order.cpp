// Orders on their way: a record of fixed size each.
#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "helm.hpp"

namespace rudder::steer {

namespace {

void require_sendable(bool fits) {
    if (!fits)
        throw usage_error("the action is too long to be sent", "action", "change fewer knobs");
}

}  // namespace

PackedOrder pack(const Order& order) {
    const Action& action = order.action;
    if (!(action.fraction >= 0 && action.fraction <= 1)) {
        throw usage_error(fmt::format("invalid fraction of the buffer: {}", action.fraction),
                          "fraction", "give a number from 0 to 1");
    }
    PackedOrder packed;
    packed.effective_step = order.effective_step;
    packed.slots = order.slots;
    packed.fraction = action.fraction;
    packed.kind = static_cast<std::uint8_t>(action.kind);
    packed.reason = static_cast<std::uint8_t>(action.reason);
    require_sendable(action.knobs.size() <= knob_count);
    for (const KnobChange& change : action.knobs) {
        check_change(change, "knobs");
        const std::size_t i = packed.knobs++;
        packed.ids[i] = static_cast<std::uint8_t>(change.id);
        if (const auto* text = std::get_if<std::string>(&change.value)) {
            require_sendable(packed.text_size == 0 && text->size() <= packed.text.size());
            packed.text_size = static_cast<std::uint8_t>(text->size());
            std::ranges::copy(*text, packed.text.begin());
        } else {
            packed.values[i] = std::get<double>(change.value);
        }
    }
    return packed;
}

Order unpack(const PackedOrder& packed) {
    const auto require = [](bool good) {
        if (!good) {
            throw Error(ErrorKind::failed, "invalid order", "an order of another rank",
                        "run the same version on all ranks");
        }
    };
    require(packed.kind <= static_cast<std::uint8_t>(ActionKind::set) &&
            packed.reason <= static_cast<std::uint8_t>(Reason::model_choice) &&
            packed.knobs <= knob_count && packed.text_size <= packed.text.size() &&
            packed.fraction >= 0 && packed.fraction <= 1);
    Order order{{}, packed.effective_step, packed.slots};
    order.action.kind = static_cast<ActionKind>(packed.kind);
    order.action.reason = static_cast<Reason>(packed.reason);
    order.action.fraction = packed.fraction;
    for (std::size_t i = 0; i < packed.knobs; ++i) {
        require(packed.ids[i] < knob_count);
        const auto id = static_cast<KnobId>(packed.ids[i]);
        KnobChange change{id, packed.values[i]};
        if (knob(id).kind == KnobKind::text)
            change.value = std::string(packed.text.data(), packed.text_size);
        check_change(change, "an order of another rank");
        order.action.knobs.push_back(std::move(change));
    }
    return order;
}

}  // namespace rudder::steer
