// The entry point of `rudder`.
#include <string>
#include <vector>

#include "rudder/cli/program.hpp"
#include "rudder/nn/runtime.hpp"

int main(int argc, char** argv) {
    rudder::prepare_torch_environment();
    return rudder::cli::run_program(std::vector<std::string>(argv + 1, argv + argc));
}
