#include "last_words.hpp"

#include <mutex>

#include "core/log.hpp"

namespace rudder::run {

namespace {

std::mutex mutex;
LastWords::Speak words;

}  // namespace

LastWords::LastWords(Speak speak) {
    const std::scoped_lock lock(mutex);
    words = std::move(speak);
}

LastWords::~LastWords() {
    const std::scoped_lock lock(mutex);
    words = nullptr;
}

void LastWords::speak(int code, const std::string& reason) {
    log::call_before();
    const std::scoped_lock lock(mutex);
    if (words) words(code, reason);
}

}  // namespace rudder::run
