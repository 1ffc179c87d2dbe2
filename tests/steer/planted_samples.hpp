// Samples whose label is planted in two features.
#pragma once

#include "rudder/core/random.hpp"
#include "steer/samples/sample_table.hpp"

namespace rudder::test {

/// Samples of some graphs whose label follows from two features.
inline steer::SampleTable planted(std::uint64_t seed, std::size_t each = 400) {
    steer::SampleTable table;
    table.graphs = {"a", "b", "c"};
    table.policies = {"scored-faithful"};
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 1);
    for (std::size_t i = 0; i < 3 * each; ++i) {
        steer::Sample s;
        s.graph = static_cast<std::uint32_t>(i / each);
        s.host = static_cast<std::uint32_t>(i % 4);
        s.step = i % each;
        for (std::size_t c = 0; c < steer::feature_names(steer::FeatureSet::repaired).size(); ++c)
            table.repaired.push_back(draws.normal());
        const double* x =
            table.repaired.data() + i * feature_names(steer::FeatureSet::repaired).size();
        s.label = x[0] + 0.5 * x[2] + 0.2 * draws.normal() > 0.3;
        s.hit_change = x[0];
        for (std::size_t c = 0; c < steer::feature_names(steer::FeatureSet::faithful).size(); ++c)
            table.faithful.push_back(c == 0 ? 0 : draws.normal());
        table.samples.push_back(s);
    }
    steer::label_as_published(table);
    return table;
}

}  // namespace rudder::test
