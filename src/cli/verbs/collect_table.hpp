// What `agent collect` leaves: two files and a table for the reader.
#pragma once

#include <string>

#include "core/staging.hpp"
#include "steer/samples/sample_table.hpp"

namespace rudder::cli {

/// OUT.csv and OUT.npz; both are there in the end, or neither is.
class SampleFiles {
public:
    /// A usage Error where one exists and may not be replaced.
    SampleFiles(const std::string& out, Existing existing);
    /// Adds the published label, which needs all samples. An input Error where there are none.
    void write(steer::SampleTable& table);

private:
    Staging csv_;
    Staging npz_;
};

/// How often replacing was right, by graph, policy and size, on standard output.
void print_shares(const steer::SampleTable& table, bool json);

}  // namespace rudder::cli
