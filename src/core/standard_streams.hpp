// Standard input, output and error: what a process may find of them, and what it does about it.
#pragma once

namespace rudder {

/// Opens on /dev/null those of descriptors 0 to 2 that are closed, so that no file that is opened
/// later takes their place and gets what is meant for people. To be called before anything else.
void open_standard_streams() noexcept;

/// Makes writing to a pipe that nobody reads any more, or past a limit of file sizes, an error that
/// is returned instead of a signal that kills.
void ignore_write_signals() noexcept;

}  // namespace rudder
