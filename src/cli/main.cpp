// The entry point of `rudder`.
#include <string>
#include <vector>

#include "rudder/cli/program.hpp"

int main(int argc, char** argv) {
    return rudder::cli::run_program(std::vector<std::string>(argv + 1, argv + argc));
}
