#include "last_words.hpp"

#include <mutex>

#include "core/log.hpp"

namespace rudder::run {

namespace {

std::mutex mutex;
std::function<void(const std::string&)> words;

}  // namespace

LastWords::LastWords(std::function<void(const std::string& reason)> speak) {
    const std::scoped_lock lock(mutex);
    words = std::move(speak);
}

LastWords::~LastWords() {
    const std::scoped_lock lock(mutex);
    words = nullptr;
}

void LastWords::speak(const std::string& reason) {
    log::call_before();
    const std::scoped_lock lock(mutex);
    if (words) words(reason);
}

}  // namespace rudder::run
