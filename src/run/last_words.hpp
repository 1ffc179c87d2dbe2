// What is still to be done when a rank is ended from outside its working thread.
#pragma once

#include <functional>
#include <string>

namespace rudder::run {

/// While it lives, its function is called with exit code and reason when a thread beside the work,
/// such as the watchdog's, ends this process. On that thread: it may write, not wait for the run.
/// One at a time.
class LastWords {
public:
    using Speak = std::function<void(int code, const std::string& reason)>;

    explicit LastWords(Speak speak);
    ~LastWords();
    LastWords(LastWords&&) = delete;

    /// Calls the one that lives, if any.
    static void speak(int code, const std::string& reason);
};

}  // namespace rudder::run
