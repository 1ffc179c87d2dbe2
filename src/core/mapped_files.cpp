#include "mapped_files.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <semaphore.h>
#include <unistd.h>

namespace rudder {

namespace {

/// One mapping. Entries are never freed, so that a signal handler may walk over them at any time;
/// those of the past are used again. `begin` is set last and cleared first: whoever reads the
/// pages keeps their mapping, and so its entry, as it is.
struct MappedFile {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
    std::array<char, 1024> path{};
    MappedFile* next = nullptr;
    MappedFile* next_unused = nullptr;
};

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free, "read by a signal handler");
static_assert(std::atomic<MappedFile*>::is_always_lock_free, "read by a signal handler");

constexpr std::string_view lost_problem =
    "a file that is being read was cut short, or its disk fails";
constexpr std::string_view lost_remedy =
    "restore the file, or make the data set again; then start again, or --resume";

std::mutex mappings_mutex;
std::atomic<MappedFile*> mappings{nullptr};
MappedFile* unused = nullptr;  ///< entries of the past; guarded by mappings_mutex
std::atomic<const MappedFile*> lost_file{nullptr};
std::atomic<bool> watched{false};
sem_t lost_signal;

/// Entries in use, by `begin`: a partition of a thousand parts is many thousand of them. Guarded by
/// mappings_mutex; never freed, since mappings may be the last to go.
std::unordered_map<std::uintptr_t, MappedFile*>& mapped_at() {
    static auto* const all = new std::unordered_map<std::uintptr_t, MappedFile*>;
    return *all;
}

const MappedFile* file_at(std::uintptr_t address) noexcept {
    for (const MappedFile* file = mappings.load(); file != nullptr; file = file->next) {
        const std::uintptr_t begin = file->begin.load();
        if (begin != 0 && begin <= address && address < file->end.load()) return file;
    }
    return nullptr;
}

/// As fmt::print would, with nothing that a signal handler must not call.
void say_lost(const char* path) noexcept {
    const auto say = [](std::string_view text) {
        while (!text.empty()) {
            const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
            if (written <= 0) return;
            text.remove_prefix(static_cast<std::size_t>(written));
        }
    };
    say("rudder: error: ");
    say(lost_problem);
    say("\n  where: ");
    say(path);
    say("\n  to do: ");
    say(lost_remedy);
    say("\n");
}

extern "C" void rudder_on_lost_page(int signal, siginfo_t* info, void*) {
    const MappedFile* const file = file_at(reinterpret_cast<std::uintptr_t>(info->si_addr));
    if (file == nullptr) {  // raised again as soon as this returns
        ::signal(signal, SIG_DFL);
        return;
    }
    const MappedFile* none = nullptr;
    const bool first = lost_file.compare_exchange_strong(none, file);
    if (watched.load()) {
        if (first) ::sem_post(&lost_signal);
        timespec patience{.tv_sec = 2, .tv_nsec = 0};
        while (::nanosleep(&patience, &patience) != 0) {
        }
    }
    if (first || watched.load()) say_lost(file->path.data());
    ::_exit(static_cast<int>(ErrorKind::input));
}

}  // namespace

void note_mapping(const std::byte* begin, std::size_t bytes, const std::filesystem::path& path) {
    const std::scoped_lock lock(mappings_mutex);
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const bool fresh = unused == nullptr;
    MappedFile* const file = fresh ? new MappedFile : std::exchange(unused, unused->next_unused);
    mapped_at().insert_or_assign(address, file);
    const std::string& text = path.native();
    const std::size_t size = std::min(text.size(), file->path.size() - 1);
    std::memcpy(file->path.data(), text.data() + (text.size() - size), size);
    file->path[size] = '\0';
    file->end.store(address + bytes);
    file->begin.store(address);
    if (!fresh) return;
    file->next = mappings.load();
    mappings.store(file);
}

void forget_mapping(const std::byte* begin) noexcept {
    const std::scoped_lock lock(mappings_mutex);
    const auto found = mapped_at().find(reinterpret_cast<std::uintptr_t>(begin));
    if (found == mapped_at().end()) return;
    MappedFile* const file = found->second;
    mapped_at().erase(found);
    file->begin.store(0);
    file->next_unused = std::exchange(unused, file);
}

void install_lost_file_handler() {
    struct sigaction action {};
    action.sa_sigaction = rudder_on_lost_page;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, nullptr);
}

LostFileWatch::LostFileWatch(std::function<void(const Error& error)> end) {
    ::sem_init(&lost_signal, 0, 0);
    thread_ = std::thread([end = std::move(end)] {
        while (::sem_wait(&lost_signal) != 0) {
        }
        const MappedFile* file = lost_file.load();
        if (file == nullptr) return;  // the watch is over
        end(input_error(std::string(lost_problem), file->path.data(), std::string(lost_remedy)));
    });
    watched.store(true);
}

LostFileWatch::~LostFileWatch() {
    watched.store(false);
    ::sem_post(&lost_signal);
    thread_.join();
}

}  // namespace rudder
