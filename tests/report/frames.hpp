// Steps made up for tests of sinks.
#pragma once

#include <string>
#include <vector>

#include "rudder/train/records.hpp"

namespace rudder::test {

/// Steps from `first` on, of so many ranks; the value of metric m of the catalogue is 1000 x step +
/// 10 x rank + m, but for the window, which is the policy's. An empty policy: there is no buffer.
inline std::vector<train::StepRecord> some_steps(std::uint64_t first, std::size_t steps,
                                                 std::size_t ranks,
                                                 const std::string& policy = "window:16") {
    std::vector<train::StepRecord> records;
    for (std::size_t i = 0; i < steps * ranks; ++i) {
        train::StepRecord record;
        record.step = first + i / ranks;
        record.epoch = static_cast<std::uint32_t>(record.step / 10);
        record.rank = static_cast<std::uint32_t>(i % ranks);
        std::uint64_t next = 1000 * record.step + 10 * record.rank;
        for_each_field<train::StepRecord>([&]<class M>(const Field<train::StepRecord, M>& f) {
            M& member = record.*f.member;
            if constexpr (std::is_same_v<M, buffer::Knobs>) ++next;  // the window
            if constexpr (Listed<M>) {
                for_each_field<M>([&]<class V>(const Field<M, V>& inner) {
                    if constexpr (std::is_arithmetic_v<V>) {
                        if (inner.kind != FieldKind::inner)
                            member.*inner.member = static_cast<V>(next++);
                    }
                });
            } else if constexpr (std::is_arithmetic_v<M>) {
                if (f.kind > FieldKind::plain) member = static_cast<M>(next++);
            }
        });
        record.buffered = !policy.empty();
        if (record.buffered) record.knobs.policy = buffer::PolicySpec::parse(policy);
        for (std::size_t owner = 0; owner < ranks; ++owner)
            record.bytes_by_owner.push_back(100 * record.step + owner);
        records.push_back(std::move(record));
    }
    return records;
}

/// An epoch of which a quarter of the validation vertices were answered right.
inline train::EpochRecord some_epoch(std::uint32_t epoch, std::uint64_t steps) {
    train::EpochRecord record{.epoch = epoch, .steps = steps, .loss = 0.5, .seconds = 2};
    record.scores.valid = {1, 4, 0};
    record.scores.evaluated = true;
    return record;
}

}  // namespace rudder::test
