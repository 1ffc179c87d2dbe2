// An NVIDIA GPU: memory, streams and marks by the CUDA runtime; kernels are in the .cu files.
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "cublas.hpp"
#include "launch.hpp"

namespace rudder::nn {

namespace {

std::string words_of(int error) {
    return cudaGetErrorString(static_cast<cudaError_t>(error));
}

class CudaDevice final : public Device {
public:
    CudaDevice(int ordinal, DeviceProducts products) : ordinal_(ordinal) {
        use();
        require(probe_kernels(), "start a kernel of this build");
        require(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking), "make a stream");
        require(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "make a stream");
        require(cudaEventCreate(&begun_), "make an event");
        require(cudaEventCreate(&ended_), "make an event");
        if (products != DeviceProducts::own) {
            std::string reason;
            workspace_ = take(workspace_bytes, "the workspace of cuBLAS");
            cublas_ = CublasProducts::load(compute_, workspace_, workspace_bytes, reason);
            if (cublas_ == nullptr && products == DeviceProducts::cublas)
                throw failure("cuBLAS cannot be used: " + reason);
        }
    }
    ~CudaDevice() override {
        cudaSetDevice(ordinal_);
        cudaDeviceSynchronize();
        cublas_.reset();
        if (parts_ != nullptr) cudaFree(parts_);
        if (workspace_ != nullptr) cudaFree(workspace_);
        for (const Mark& mark : marks_) {
            if (mark.begun != nullptr) cudaEventDestroy(mark.begun);
            if (mark.ended != nullptr) cudaEventDestroy(mark.ended);
        }
        cudaEventDestroy(begun_);
        cudaEventDestroy(ended_);
        cudaStreamDestroy(compute_);
        cudaStreamDestroy(copies_);
    }
    CudaDevice(const CudaDevice&) = delete;
    CudaDevice& operator=(const CudaDevice&) = delete;

    [[nodiscard]] DeviceFacts facts() override;
    [[nodiscard]] std::byte* take(std::size_t bytes, std::string_view what) override;
    void give(std::byte* memory) noexcept override {
        cudaSetDevice(ordinal_);
        cudaFree(memory);
    }
    [[nodiscard]] std::byte* take_pinned(std::size_t bytes) override {
        use();
        void* memory = nullptr;
        require(cudaHostAlloc(&memory, bytes == 0 ? 1 : bytes, cudaHostAllocPortable),
                fmt::format("pin {} of the host's memory", format_bytes(bytes)));
        return static_cast<std::byte*>(memory);
    }
    void give_pinned(std::byte* memory) noexcept override {
        cudaSetDevice(ordinal_);
        cudaFreeHost(memory);
    }
    [[nodiscard]] bool pin(std::span<std::byte> memory) noexcept override {
        cudaSetDevice(ordinal_);
        const auto error = cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable);
        if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
        return error == cudaSuccess;
    }
    void unpin(std::byte* memory) noexcept override {
        cudaSetDevice(ordinal_);
        // A step that was staged and never trained may still be on its way from there.
        cudaStreamSynchronize(copies_);
        if (cudaHostUnregister(memory) != cudaSuccess) static_cast<void>(cudaGetLastError());
    }

    void upload(void* to, const void* from, std::size_t bytes) override {
        begin();
        if (bytes == 0) return;
        require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, compute_), "upload");
    }
    void download(void* to, const void* from, std::size_t bytes) override {
        begin();
        if (bytes == 0) return;
        require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, compute_), "download");
    }
    void copy(void* to, const void* from, std::size_t bytes) override {
        begin();
        if (bytes == 0) return;
        require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, compute_), "copy");
    }
    void clear(void* memory, std::size_t bytes) override {
        begin();
        if (bytes == 0) return;
        require(cudaMemsetAsync(memory, 0, bytes, compute_), "clear memory");
    }
    void run(const AnyBody& body, std::size_t items) override {
        begin();
        std::visit(
            [&](const auto& each) { require(launch_body(each, items, compute_), "run a kernel"); },
            body);
    }
    void product(const DeviceProduct& product) override;
    void finish() override;

    void upload_ahead(void* to, const void* from, std::size_t bytes) override;
    void begin_uploads(std::size_t place) override;
    void mark_uploads(std::size_t place) override;
    void await_uploads(std::size_t place) override;
    [[nodiscard]] DeviceSeconds take_seconds() override { return std::exchange(seconds_, {}); }

private:
    static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
    struct Mark {
        cudaEvent_t begun = nullptr;
        cudaEvent_t ended = nullptr;
        bool set = false;
    };

    [[nodiscard]] Error failure(const std::string& what) const {
        return {ErrorKind::failed, what, fmt::format("device cuda:{}", ordinal_),
                "see 'rudder doctor', or train with --device cpu"};
    }
    void require(int error, const std::string& what) const {
        if (error != 0) {
            throw failure(fmt::format("the GPU failed to {}: {}", what, words_of(error)));
        }
    }
    void use() const { require(cudaSetDevice(ordinal_), "be chosen"); }
    /// Work that is in order begins, perhaps after a wait for uploads.
    void begin() {
        use();
        if (busy_) return;
        require(cudaEventRecord(begun_, compute_), "record an event");
        busy_ = true;
    }

    int ordinal_;
    cudaStream_t compute_ = nullptr;
    cudaStream_t copies_ = nullptr;
    cudaEvent_t begun_ = nullptr;
    cudaEvent_t ended_ = nullptr;
    bool busy_ = false;
    std::unique_ptr<CublasProducts> cublas_;
    std::byte* workspace_ = nullptr;
    std::byte* parts_ = nullptr;  ///< of products by kernels of ours
    std::size_t parts_bytes_ = 0;
    std::mutex uploads_;
    std::array<Mark, upload_marks> marks_;
    std::vector<std::size_t> awaited_;
    DeviceSeconds seconds_;
};

DeviceFacts CudaDevice::facts() {
    use();
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, ordinal_), "say what it is");
    std::size_t free = 0;
    std::size_t total = 0;
    require(cudaMemGetInfo(&free, &total), "say how much memory it has");
    return {properties.name,
            fmt::format("{}.{}", properties.major, properties.minor),
            cublas_ == nullptr ? std::string("kernels of ours, float32")
                               : fmt::format("cuBLAS {}, float32", cublas_->version()),
            total,
            free,
            ordinal_};
}

std::byte* CudaDevice::take(std::size_t bytes, std::string_view what) {
    use();
    void* memory = nullptr;
    const auto error = cudaMalloc(&memory, bytes == 0 ? 1 : bytes);
    if (error == cudaSuccess) return static_cast<std::byte*>(memory);
    static_cast<void>(cudaGetLastError());
    std::size_t free = 0;
    std::size_t total = 0;
    cudaMemGetInfo(&free, &total);
    if (error != cudaErrorMemoryAllocation) require(error, "give memory");
    throw Error(ErrorKind::failed,
                fmt::format("out of memory on the GPU: {} are needed for {}, {} of {} are free",
                            format_bytes(bytes), what, format_bytes(free), format_bytes(total)),
                fmt::format("device cuda:{}", ordinal_),
                "give a smaller --batch, --fanout or --hidden, or train with --device cpu");
}

void CudaDevice::product(const DeviceProduct& product) {
    begin();
    if (product.rows == 0 || product.columns == 0) return;
    if (product.depth == 0) {
        if (!product.add) clear(product.c, product.rows * product.columns * sizeof(float));
        return;
    }
    if (cublas_ != nullptr) {
        if (const int error = cublas_->multiply(product); error != 0)
            throw failure(fmt::format("cuBLAS failed to multiply: error {}", error));
        return;
    }
    const ProductParts cut = product_parts(product);
    const std::size_t elements = product.rows * product.columns;
    if (cut.count > 1 && parts_bytes_ < cut.count * elements * sizeof(float)) {
        finish();
        if (parts_ != nullptr) give(parts_);
        parts_ = nullptr;
        parts_bytes_ = cut.count * elements * sizeof(float);
        parts_ = take(parts_bytes_, "the stretches of products");
        begin();
    }
    auto* const parts = reinterpret_cast<float*>(parts_);
    require(launch_product(product, parts, compute_), "multiply");
    if (cut.count > 1) {
        run(AddStretches{parts, cut.count, elements, product.c, product.add},
            pieces_of(elements, weights_per_warp));
    }
}

void CudaDevice::finish() {
    use();
    if (!busy_) {
        require(cudaStreamSynchronize(compute_), "finish its work");
        return;
    }
    require(cudaEventRecord(ended_, compute_), "record an event");
    require(cudaStreamSynchronize(compute_), "finish its work");
    busy_ = false;
    float milliseconds = 0;
    if (cudaEventElapsedTime(&milliseconds, begun_, ended_) == cudaSuccess)
        seconds_.kernels += static_cast<double>(milliseconds) / 1e3;
    for (const std::size_t place : awaited_) {
        if (cudaEventElapsedTime(&milliseconds, marks_[place].begun, marks_[place].ended) ==
            cudaSuccess) {
            seconds_.upload += static_cast<double>(milliseconds) / 1e3;
        }
    }
    awaited_.clear();
}

void CudaDevice::upload_ahead(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    use();
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, copies_), "upload");
}

void CudaDevice::begin_uploads(std::size_t place) {
    use();
    const std::scoped_lock lock(uploads_);
    Mark& mark = marks_.at(place);
    if (mark.begun == nullptr) require(cudaEventCreate(&mark.begun), "make an event");
    if (mark.ended == nullptr) require(cudaEventCreate(&mark.ended), "make an event");
    require(cudaEventRecord(mark.begun, copies_), "record an event");
}

void CudaDevice::mark_uploads(std::size_t place) {
    use();
    const std::scoped_lock lock(uploads_);
    require(cudaEventRecord(marks_.at(place).ended, copies_), "record an event");
}

void CudaDevice::await_uploads(std::size_t place) {
    use();
    const std::scoped_lock lock(uploads_);
    require(cudaStreamWaitEvent(compute_, marks_.at(place).ended, 0), "wait for an upload");
    awaited_.push_back(place);
}

}  // namespace

DevicesFound find_devices() {
    DevicesFound found;
    found.built_in = true;
    found.architectures = RUDDER_CUDA_ARCHITECTURES;
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0)
        found.driver = fmt::format("{}.{}", driver / 1000, driver % 1000 / 10);
    int count = 0;
    const auto error = cudaGetDeviceCount(&count);
    static_cast<void>(cudaGetLastError());
    if (error != cudaSuccess || count == 0) {
        int runtime = 0;
        cudaRuntimeGetVersion(&runtime);
        if (found.driver.empty()) {
            found.missing = "no NVIDIA driver was found";
        } else if (error == cudaErrorInsufficientDriver) {
            found.missing = fmt::format("the driver knows CUDA {}, this build needs {}.{}",
                                        found.driver, runtime / 1000, runtime % 1000 / 10);
        } else {
            found.missing = error == cudaSuccess ? "no GPU was found" : words_of(error);
        }
        return found;
    }
    for (int i = 0; i < count; ++i) {
        cudaDeviceProp properties{};
        if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) continue;
        std::size_t free = 0;
        std::size_t total = properties.totalGlobalMem;
        if (cudaSetDevice(i) == cudaSuccess) static_cast<void>(cudaMemGetInfo(&free, &total));
        found.devices.push_back({properties.name,
                                 fmt::format("{}.{}", properties.major, properties.minor), "",
                                 total, free, i});
        if (const int probe = probe_kernels(); probe != 0 && found.missing.empty()) {
            found.missing = fmt::format("no kernel of this build ({}) runs on {}: {}",
                                        found.architectures, properties.name, words_of(probe));
        }
    }
    static_cast<void>(cudaGetLastError());
    return found;
}

std::shared_ptr<Device> open_device(int ordinal, DeviceProducts products) {
    const DevicesFound found = find_devices();
    if (!found.missing.empty()) {
        throw usage_error(fmt::format("no GPU can be used: {}", found.missing), "--device",
                          "give --device cpu; 'rudder doctor' says what is there");
    }
    if (ordinal < 0 || ordinal >= static_cast<int>(found.devices.size())) {
        throw usage_error(fmt::format("there is no GPU cuda:{}: this machine has {}", ordinal,
                                      found.devices.size()),
                          "--device", "give a number from 0 on, or --device cpu");
    }
    return std::make_shared<CudaDevice>(ordinal, products);
}

}  // namespace rudder::nn
