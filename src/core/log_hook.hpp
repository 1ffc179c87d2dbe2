// For whoever draws on the terminal: a call before every message.
#pragma once

namespace rudder::log {

/// `before` is called before a message is written, from the thread that writes it; null: nothing.
void set_before(void (*before)());
/// Calls it, for whoever writes to the terminal without the log.
void call_before();

}  // namespace rudder::log
