#include "rudder/core/array.hpp"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>

#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"

#include "mapped_files.hpp"

namespace rudder {

namespace {

/// From here on blocks come from the kernel directly: page-aligned, zeroed, on huge pages.
constexpr std::size_t page_block = std::size_t{4} << 20;

Error out_of_memory(std::size_t bytes) {
    return {ErrorKind::failed, "cannot allocate " + format_bytes(bytes), "",
            "free some memory, or work on a smaller graph"};
}

std::byte* map_pages(std::size_t bytes, int flags) {
    void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) throw out_of_memory(bytes);
    ::madvise(address, bytes, MADV_HUGEPAGE);
    return static_cast<std::byte*>(address);
}

}  // namespace

Region Region::allocate(std::size_t bytes) {
    Region region;
    if (bytes == 0) return region;
    if (bytes >= page_block) {
        region.data_ = map_pages(bytes, MAP_PRIVATE | MAP_NORESERVE);
        region.kind_ = Kind::pages;
    } else {
        region.data_ = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
        if (region.data_ == nullptr) throw out_of_memory(bytes);
        region.kind_ = Kind::heap;
    }
    region.size_ = bytes;
    return region;
}

Region Region::allocate_shared(std::size_t bytes) {
    Region region;
    if (bytes == 0) return region;
    region.data_ = map_pages(bytes, MAP_SHARED);
    region.kind_ = Kind::pages;
    region.size_ = bytes;
    return region;
}

Region Region::map(const std::filesystem::path& path) {
    const File file = File::open(path);
    Region region;
    const auto bytes = narrow<std::size_t>(file.size(), "file size");
    if (bytes == 0) return region;
    void* address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (address == MAP_FAILED) throw system_error("cannot map the file", path.string(), errno);
    region.data_ = static_cast<std::byte*>(address);
    region.size_ = bytes;
    region.kind_ = Kind::file;
    note_mapping(region.data_, bytes, path);
    return region;
}

Region::~Region() {
    switch (kind_) {
        case Kind::none:
            break;
        case Kind::heap:
            std::free(data_);
            break;
        case Kind::file:
            forget_mapping(data_);
            [[fallthrough]];
        case Kind::pages:
            ::munmap(data_, size_);
            break;
    }
}

}  // namespace rudder
