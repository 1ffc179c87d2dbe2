#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/buffer/cloned_policy.hpp"
#include "rudder/buffer/policy_registry.hpp"
#include "rudder/core/error.hpp"

#include "own_things.hpp"
#include "questions.hpp"

namespace rudder::python {

namespace {

/// Asks which rows are to be held after each step, and sees to it.
class OwnPolicy final : public buffer::ClonedPolicy<OwnPolicy> {
public:
    OwnPolicy(const KeptThing& kept, const buffer::PolicySpec& spec,
              const buffer::PolicyFacts& facts, buffer::Residents& residents)
        : ClonedPolicy(facts, residents), kept_(&kept) {
        Json given{{"parameters", values_of(kept, spec)},
                   {"slots", residents.slots()},
                   {"halo", halo()},
                   {"steps", facts.steps}};
        given["degree"] = Json::array();
        for (const std::uint32_t degree : facts.halo_degree)
            given["degree"].push_back(degree);
        Question question{
            .what = QuestionKind::make_policy, .name = kept.thing.name, .text = given.dump()};
        handle_ = Questions::get().ask(std::move(question)).number;
    }
    OwnPolicy(const OwnPolicy& other) : ClonedPolicy(other), kept_(other.kept_) {
        handle_ = Questions::get()
                      .ask({.what = QuestionKind::copy, .handle = other.handle_, .name = name()})
                      .number;
    }
    OwnPolicy& operator=(const OwnPolicy&) = delete;
    ~OwnPolicy() override {
        Questions::get().tell({.what = QuestionKind::drop, .handle = handle_});
    }

    /// Rows that another policy left here stay.
    void begin(std::uint64_t step, buffer::StepPlan& fill) override {
        capacity_changed(step, fill);
    }

    void advance(std::uint64_t step, std::span<const buffer::RowKey> rows,
                 const buffer::Decision& /*decision*/, buffer::StepPlan& plan) override {
        Question question{.what = QuestionKind::advance,
                          .handle = handle_,
                          .name = name(),
                          .step = step,
                          .capacity = residents_->capacity()};
        question.rows.assign(rows.begin(), rows.end());
        position_.assign(known(), absent);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (plan.slots[i] != buffer::no_slot) continue;
            question.missed.push_back(rows[i]);
            position_[rows[i]] = static_cast<std::uint32_t>(i);
        }
        question.held = held();
        const Reply reply = Questions::get().ask(std::move(question));
        hold(checked(reply.ids), plan);
    }

    void capacity_changed(std::uint64_t /*step*/, buffer::StepPlan& plan) override {
        for (buffer::SlotId slot = residents_->slots();
             slot-- > 0 && residents_->count() > residents_->capacity();) {
            if (residents_->row_at(slot) != buffer::no_row) leave(residents_->row_at(slot), plan);
        }
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept override {
        return position_.capacity() * sizeof(std::uint32_t);
    }

private:
    static constexpr std::uint32_t absent = 0xffffffffU;  ///< not missed

    [[nodiscard]] const std::string& name() const noexcept { return kept_->thing.name; }
    [[nodiscard]] std::vector<std::int64_t> held() const {
        std::vector<std::int64_t> rows;
        for (buffer::SlotId slot = 0; slot < residents_->slots(); ++slot) {
            if (residents_->row_at(slot) != buffer::no_row)
                rows.push_back(residents_->row_at(slot));
        }
        return rows;
    }

    /// The rows that are wanted, each once and known, as many as there is room for.
    [[nodiscard]] std::vector<buffer::RowKey> checked(std::span<const std::int64_t> ids) const {
        const auto refuse = [this](const std::string& problem) {
            throw Error(ErrorKind::failed, problem, name(),
                        "give the rows to hold: each once, at most as many as the capacity");
        };
        if (ids.size() > residents_->capacity()) {
            refuse(fmt::format("invalid rows: {}, for a capacity of {}", ids.size(),
                               residents_->capacity()));
        }
        std::vector<buffer::RowKey> rows;
        std::vector<bool> seen(known());
        for (const std::int64_t id : ids) {
            if (id < 0 || id >= static_cast<std::int64_t>(known()))
                refuse(fmt::format("invalid row: {}, of {} that are known", id, known()));
            const auto row = static_cast<buffer::RowKey>(id);
            if (seen[row]) refuse(fmt::format("invalid rows: {} is there twice", id));
            seen[row] = true;
            rows.push_back(row);
        }
        return rows;
    }

    void hold(std::span<const buffer::RowKey> rows, buffer::StepPlan& plan) {
        std::vector<bool> stays(known());
        for (const buffer::RowKey row : rows)
            stays[row] = true;
        for (buffer::SlotId slot = 0; slot < residents_->slots(); ++slot) {
            const buffer::RowKey row = residents_->row_at(slot);
            if (row != buffer::no_row && !stays[row]) leave(row, plan);
        }
        for (const buffer::RowKey row : rows) {
            if (residents_->holds(row)) continue;
            const buffer::SlotId slot = residents_->place(row);
            if (position_[row] != absent) {
                plan.admit.push_back({position_[row], slot});
            } else {
                plan.replacement.push_back({row, slot});
            }
        }
    }

    const KeptThing* kept_;
    std::int64_t handle_ = 0;
    std::vector<std::uint32_t> position_;  ///< in the step, by row that it lacks
};

std::unique_ptr<buffer::Policy> make_own_policy(const buffer::PolicySpec& spec,
                                                const buffer::PolicyFacts& facts,
                                                buffer::Residents& residents) {
    return std::make_unique<OwnPolicy>(kept(spec.name()), spec, facts, residents);
}

}  // namespace

void register_policy(const OwnThing& policy) {
    const auto known = buffer::all_policies();
    const bool taken = std::ranges::any_of(
        known, [&](const buffer::PolicyInfo* info) { return info->name == policy.name; });
    const KeptThing& kept = keep(policy, taken);
    // Shown as long as the process lives.
    auto* const info = new buffer::PolicyInfo{kept.info(), "a Python program"};
    buffer::register_policy(*info, make_own_policy);
}

}  // namespace rudder::python
