// The twin of the GPU: its bodies on the host, for tests and for whoever wants to see what a kernel
// does.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "device.hpp"

namespace rudder::nn {

namespace {

/// 32 lanes one after the other; sums as the GPU's shuffles add them.
struct TwinWarp {
    template <class F>
    void each(const F& f) const {
        for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
            f(lane);
    }
    template <class F>
    [[nodiscard]] auto sum(const F& f) const {
        return fold(f, [](auto a, auto b) { return a + b; });
    }
    template <class F>
    [[nodiscard]] auto most(const F& f) const {
        return fold(f, [](auto a, auto b) { return a > b ? a : b; });
    }
    template <class F>
    [[nodiscard]] auto least(const F& f) const {
        return fold(f, [](auto a, auto b) { return a < b ? a : b; });
    }

private:
    template <class F, class Join>
    static auto fold(const F& f, const Join& join) {
        using Value = decltype(f(0U));
        Value values[warp_lanes];
        for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
            values[lane] = f(lane);
        for (std::uint32_t step = warp_lanes / 2; step > 0; step /= 2) {
            for (std::uint32_t lane = 0; lane < step; ++lane)
                values[lane] = join(values[lane], values[lane + step]);
        }
        return values[0];
    }
};

class TwinDevice final : public Device {
public:
    [[nodiscard]] DeviceFacts facts() override {
        return {"twin on the host", "none", "one chain per element", 0, 0, 0};
    }
    [[nodiscard]] std::byte* take(std::size_t bytes, std::string_view /*what*/) override {
        return allocate(bytes);
    }
    void give(std::byte* memory) noexcept override { std::free(memory); }
    [[nodiscard]] std::byte* take_pinned(std::size_t bytes) override { return allocate(bytes); }
    void give_pinned(std::byte* memory) noexcept override { std::free(memory); }
    [[nodiscard]] bool pin(std::span<std::byte> /*memory*/) noexcept override { return true; }
    void unpin(std::byte* /*memory*/) noexcept override {}
    void upload(void* to, const void* from, std::size_t bytes) override {
        if (bytes != 0) std::memcpy(to, from, bytes);
    }
    void download(void* to, const void* from, std::size_t bytes) override {
        upload(to, from, bytes);
    }
    void copy(void* to, const void* from, std::size_t bytes) override { upload(to, from, bytes); }
    void clear(void* memory, std::size_t bytes) override {
        if (bytes != 0) std::memset(memory, 0, bytes);
    }
    void finish() override {}
    void upload_ahead(void* to, const void* from, std::size_t bytes) override {
        upload(to, from, bytes);
    }
    void begin_uploads(std::size_t /*place*/) override {}
    void mark_uploads(std::size_t /*place*/) override {}
    void await_uploads(std::size_t /*place*/) override {}
    [[nodiscard]] DeviceSeconds take_seconds() override { return {}; }

    /// Each element one chain of fused multiply-adds in the order of the depth; a deep product of a
    /// transposed first factor in the stretches of the GPU's own kernel.
    void product(const DeviceProduct& p) override {
        for (std::size_t r = 0; r < p.rows; ++r) {
            for (std::size_t c = 0; c < p.columns; ++c)
                multiply_element(p, r, c);
        }
    }

    void run(const AnyBody& body, std::size_t items) override {
        std::visit(
            [&](const auto& each) {
                for (std::size_t item = 0; item < items; ++item)
                    each.run(TwinWarp{}, item);
            },
            body);
    }

private:
    static std::byte* allocate(std::size_t bytes) {
        void* memory = std::malloc(bytes == 0 ? 1 : bytes);
        if (memory == nullptr) throw std::bad_alloc();
        // What nobody wrote must not look like a number.
        std::memset(memory, 0xFF, bytes);
        return static_cast<std::byte*>(memory);
    }
    static void multiply_element(const DeviceProduct& p, std::size_t r, std::size_t c) {
        float& out = p.c[r * p.columns + c];
        const std::size_t stretch = product_parts(p).stretch;
        float total = p.add ? out : 0.F;
        const bool whole = stretch >= p.depth;
        for (std::size_t begin = 0; begin < p.depth; begin += stretch) {
            const std::size_t end = begin + stretch < p.depth ? begin + stretch : p.depth;
            float sum = whole ? total : 0.F;
            for (std::size_t k = begin; k < end; ++k) {
                const float a = p.a_transposed ? p.a[k * p.rows + r] : p.a[r * p.depth + k];
                const float b = p.b_transposed ? p.b[c * p.depth + k] : p.b[k * p.columns + c];
                sum = std::fma(a, b, sum);
            }
            total = whole ? sum : total + sum;
        }
        out = total;
    }
};

}  // namespace

std::shared_ptr<Device> make_twin_device() {
    return std::make_shared<TwinDevice>();
}

}  // namespace rudder::nn
