// What is still to be done when a rank is ended from outside its working thread.
#pragma once

#include <functional>
#include <string>

namespace rudder::run {

/// While it lives, its function is called with the reason when the watchdog ends this process. On
/// the watchdog's thread: it may write, not wait for the run. One at a time.
class LastWords {
public:
    explicit LastWords(std::function<void(const std::string& reason)> speak);
    ~LastWords();
    LastWords(LastWords&&) = delete;

    /// Calls the one that lives, if any.
    static void speak(const std::string& reason);
};

}  // namespace rudder::run
