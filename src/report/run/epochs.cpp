// epochs.jsonl, and the lock of whoever writes a run.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"

#include "line_chunks.hpp"
#include "read_parts.hpp"

namespace rudder::report {

namespace {

constexpr std::size_t most_epochs = 100000;

std::optional<EpochData> epoch_of(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    const Facts facts = flat_facts(json);
    const auto epoch = facts.number("epoch");
    if (!epoch || !(*epoch >= 0) || *epoch > 1e15) return std::nullopt;
    EpochData data;
    data.epoch = static_cast<std::uint64_t>(*epoch) + 1;
    data.loss = facts.number("loss");
    data.seconds = facts.number("seconds");
    data.evaluation_seconds = facts.number("evaluation_seconds");
    data.train = facts.number("accuracy.train");
    data.valid = facts.number("accuracy.valid");
    data.test = facts.number("accuracy.test");
    return data;
}

}  // namespace

EpochFile read_epochs(const std::filesystem::path& file) {
    EpochFile read;
    for_each_line(file, 0, std::filesystem::file_size(file), [&](const TextLine& line) {
        if (read.epochs.size() >= most_epochs) return;
        if (auto epoch = epoch_of(line.text)) {
            read.epochs.push_back(*epoch);
        } else if (line.whole) {
            ++read.damaged;
        } else {
            read.cut = true;
        }
    });
    return read;
}

bool is_being_written(const std::filesystem::path& metrics) {
    const int fd = ::open(metrics.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    const bool held = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    ::close(fd);
    return held;
}

}  // namespace rudder::report
