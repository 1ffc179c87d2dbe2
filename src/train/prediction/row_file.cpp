#include "row_file.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/nameless_file.hpp"
#include "rudder/core/checked.hpp"
#include "rudder/core/error.hpp"

namespace rudder::train {

RowFile::RowFile(const std::filesystem::path& folder, std::uint64_t rows, std::size_t row_bytes)
    : bytes_(checked_mul<std::uint64_t>(rows, row_bytes, "size of a file of rows")),
      row_bytes_(row_bytes) {
    if (bytes_ == 0) return;
    const int fd = open_nameless(folder);
    int failed = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes_));
    void* data = MAP_FAILED;
    if (failed == 0) {
        data = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED) failed = errno;
    }
    ::close(fd);
    if (failed != 0) throw system_error("cannot keep rows on disk", folder.string(), failed);
    data_ = static_cast<std::byte*>(data);
}

RowFile::~RowFile() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace rudder::train
