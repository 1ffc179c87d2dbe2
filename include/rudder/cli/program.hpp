// The program: parses a command line, runs the verb, and turns errors into messages and exit codes.
#pragma once

#include <string>
#include <vector>

namespace rudder::cli {

/// Runs `rudder` with these arguments (without the program's name) and returns its exit code.
int run_program(std::vector<std::string> arguments);

}  // namespace rudder::cli
