// rudder with one more policy, 'twice': a row that was fetched once may be a passing need, so only
// one that was missed several times is kept; the rows that came first leave first.
#include <array>
#include <deque>

#include "rudder/buffer/cloned_policy.hpp"
#include "rudder/buffer/policy_registry.hpp"
#include "rudder/cli/program.hpp"

namespace {

constexpr std::array<rudder::SpecParameter, 1> parameters{
    {{"misses", rudder::ParameterKind::whole, 1, 255, 2, "number of misses before a row is kept"}}};

const rudder::buffer::PolicyInfo info{
    {.name = "twice",
     .sentence = "Keeps rows once they were missed twice; the oldest leave first.",
     .parameters = parameters,
     .value = rudder::SpecValue::shown},
    /*paper=*/"a worked example"};

class Twice final : public rudder::buffer::ClonedPolicy<Twice> {
public:
    Twice(const rudder::buffer::PolicyFacts& facts, rudder::buffer::Residents& residents,
          std::uint64_t misses)
        : ClonedPolicy(facts, residents), needed_(misses) {}

    /// Rows that another policy left here stay, as if they had come in the order of their slots.
    void begin(std::uint64_t step, rudder::buffer::StepPlan& fill) override {
        for (rudder::buffer::SlotId slot = 0; slot < residents_->slots(); ++slot) {
            if (residents_->row_at(slot) != rudder::buffer::no_row)
                queue_.push_back(residents_->row_at(slot));
        }
        capacity_changed(step, fill);
    }

    void advance(std::uint64_t /*step*/, std::span<const rudder::buffer::RowKey> rows,
                 const rudder::buffer::Decision& /*decision*/,
                 rudder::buffer::StepPlan& plan) override {
        misses_.resize(known());
        for (std::uint32_t i = 0; i < rows.size(); ++i) {
            if (plan.slots[i] != rudder::buffer::no_slot) continue;  // a hit
            if (++misses_[rows[i]] < needed_) continue;
            // More would push out what this very step brought in.
            if (plan.admit.size() == residents_->capacity()) break;
            if (residents_->room() == 0) drop_oldest(plan);
            plan.admit.push_back({i, residents_->place(rows[i])});
            queue_.push_back(rows[i]);
            misses_[rows[i]] = 0;
        }
    }

    void capacity_changed(std::uint64_t /*step*/, rudder::buffer::StepPlan& plan) override {
        while (residents_->count() > residents_->capacity())
            drop_oldest(plan);
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept override {
        return misses_.capacity() + queue_.size() * sizeof(rudder::buffer::RowKey);
    }

private:
    void drop_oldest(rudder::buffer::StepPlan& plan) {
        leave(queue_.front(), plan);
        queue_.pop_front();
    }

    std::uint64_t needed_;
    std::vector<std::uint8_t> misses_;          ///< by row, since it was here
    std::deque<rudder::buffer::RowKey> queue_;  ///< the rows here, in the order they came
};

std::unique_ptr<rudder::buffer::Policy> make(const rudder::buffer::PolicySpec& spec,
                                             const rudder::buffer::PolicyFacts& facts,
                                             rudder::buffer::Residents& residents) {
    return std::make_unique<Twice>(facts, residents, spec.whole("misses"));
}

}  // namespace

int main(int argc, char** argv) {
    rudder::buffer::register_policy(info, make);
    return rudder::cli::run_program({argv + 1, argv + argc});
}
