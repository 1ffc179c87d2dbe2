// UCX beside MPI, both bare: whether a body of the communicator over UCX would be worth it.
//
//   mpirun -n 2 ranks_comm_ucx          UCX chooses its ways (UCX_TLS=tcp: sockets alone)
//
// The two take turns in one run, MPI carries UCX's addresses. A figure is MPI's time over UCX's,
// the median of the rounds: 0.9 is asked for where UCX is to be taken.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include <mpi.h>
#include <ucp/api/ucp.h>

#include "figures.hpp"

namespace {

using rudder::bench::median;
using rudder::bench::seconds;

constexpr double wanted = 0.9;
constexpr ucp_tag_t the_tag = 7;

void expect(ucs_status_t status, const char* what) {
    if (status == UCS_OK) return;
    fmt::print(stderr, "ucx_bench: {}: {}\n", what, ucs_status_string(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/// One way to move bytes between the two ranks: requests that are begun and waited for.
struct Way {
    using Request = void*;
    std::function<Request(std::span<const std::byte>)> send;
    std::function<Request(std::span<std::byte>)> receive;
    std::function<void(Request)> wait;
};

/// A worker of UCX with an endpoint at the other rank.
class Ucx {
public:
    explicit Ucx(int other) {
        ucp_params_t params{};
        params.field_mask = UCP_PARAM_FIELD_FEATURES;
        params.features = UCP_FEATURE_TAG;
        ucp_config_t* config = nullptr;
        expect(ucp_config_read(nullptr, nullptr, &config), "reading its configuration");
        expect(ucp_init(&params, config, &context_), "starting");
        ucp_config_release(config);
        ucp_worker_params_t worker{};
        worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
        worker.thread_mode = UCS_THREAD_MODE_SINGLE;
        expect(ucp_worker_create(context_, &worker, &worker_), "making a worker");
        connect(other);
    }
    Ucx(const Ucx&) = delete;
    Ucx& operator=(const Ucx&) = delete;
    /// Both ranks are done with it.
    ~Ucx() {
        MPI_Barrier(MPI_COMM_WORLD);
        ucp_request_param_t param{};
        param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
        param.flags = UCP_EP_CLOSE_FLAG_FORCE;
        wait(ucp_ep_close_nbx(endpoint_, &param));
        MPI_Barrier(MPI_COMM_WORLD);
        ucp_worker_destroy(worker_);
        ucp_cleanup(context_);
    }

    [[nodiscard]] Way way() {
        return {.send =
                    [this](std::span<const std::byte> bytes) {
                        ucp_request_param_t param{};
                        return ucp_tag_send_nbx(endpoint_, bytes.data(), bytes.size(), the_tag,
                                                &param);
                    },
                .receive =
                    [this](std::span<std::byte> bytes) {
                        ucp_request_param_t param{};
                        return ucp_tag_recv_nbx(worker_, bytes.data(), bytes.size(), the_tag,
                                                ~ucp_tag_t{0}, &param);
                    },
                .wait = [this](Way::Request request) { wait(request); }};
    }

private:
    void connect(int other) {
        ucp_address_t* own = nullptr;
        std::size_t size = 0;
        expect(ucp_worker_get_address(worker_, &own, &size), "asking for its address");
        std::uint64_t own_size = size;
        std::uint64_t size_there = 0;
        MPI_Sendrecv(&own_size, 1, MPI_UINT64_T, other, 0, &size_there, 1, MPI_UINT64_T, other, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        std::vector<std::byte> there(size_there);
        MPI_Sendrecv(own, static_cast<int>(size), MPI_BYTE, other, 1, there.data(),
                     static_cast<int>(there.size()), MPI_BYTE, other, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        ucp_worker_release_address(worker_, own);
        ucp_ep_params_t params{};
        params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
        params.address = reinterpret_cast<const ucp_address_t*>(there.data());
        expect(ucp_ep_create(worker_, &params, &endpoint_), "connecting");
    }
    /// A request that was done at once is none.
    void wait(Way::Request request) {
        if (request == nullptr) return;
        if (UCS_PTR_IS_ERR(request)) {
            expect(UCS_PTR_STATUS(request), "moving bytes");
            return;
        }
        ucs_status_t status = UCS_INPROGRESS;
        while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
            ucp_worker_progress(worker_);
        ucp_request_free(request);
        expect(status, "moving bytes");
    }

    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    ucp_ep_h endpoint_ = nullptr;
};

Way mpi_way(int other) {
    const auto keep = [](MPI_Request request) -> Way::Request { return new MPI_Request(request); };
    return {.send =
                [=](std::span<const std::byte> bytes) {
                    MPI_Request request{};
                    MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, other, 2,
                              MPI_COMM_WORLD, &request);
                    return keep(request);
                },
            .receive =
                [=](std::span<std::byte> bytes) {
                    MPI_Request request{};
                    MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, other, 2,
                              MPI_COMM_WORLD, &request);
                    return keep(request);
                },
            .wait =
                [](Way::Request request) {
                    if (request == nullptr) return;
                    auto* kept = static_cast<MPI_Request*>(request);
                    MPI_Wait(kept, MPI_STATUS_IGNORE);
                    delete kept;
                }};
}

/// Seconds of one message there and back.
double ping_pong(const Way& way, bool first, std::span<std::byte> bytes, int times) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = seconds();
    for (int i = 0; i < times; ++i) {
        if (first) way.wait(way.send(bytes));
        way.wait(way.receive(bytes));
        if (!first) way.wait(way.send(bytes));
    }
    return (seconds() - start) / times;
}

/// Seconds per message of a stream from rank 0 to rank 1, so many under way.
double stream(const Way& way, bool first, std::span<std::byte> bytes, int times) {
    constexpr std::size_t under_way = 16;
    const std::size_t size = bytes.size() / under_way;
    const auto place = [&](int i) {
        return bytes.subspan(static_cast<std::size_t>(i) % under_way * size, size);
    };
    std::array<Way::Request, under_way> requests{};
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = seconds();
    for (int i = 0; i < times; ++i) {
        Way::Request& request = requests[static_cast<std::size_t>(i) % under_way];
        if (i >= static_cast<int>(under_way)) way.wait(request);
        request = first ? way.send(place(i)) : way.receive(place(i));
    }
    for (Way::Request request : requests)
        way.wait(request);
    std::byte end{};
    way.wait(first ? way.receive(std::span(&end, 1)) : way.send(std::span(&end, 1)));
    return (seconds() - start) / times;
}

/// Both ways in turn; MPI's seconds over UCX's.
template <class Turn>
void compare(const std::string& what, const Way& mpi, const Way& ucx, bool first, int rounds,
             const Turn& turn) {
    turn(mpi);
    turn(ucx);
    std::vector<double> of_mpi;
    std::vector<double> of_ucx;
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
        of_mpi.push_back(turn(mpi));
        of_ucx.push_back(turn(ucx));
        ratios.push_back(of_mpi.back() / of_ucx.back());
    }
    if (!first) return;
    const double ratio = median(ratios);
    rudder::bench::report(what, ratio, "of MPI", fmt::format(">= {}", wanted), ratio >= wanted,
                          fmt::format("MPI {:.2f} us, UCX {:.2f} us, median of {}",
                                      median(of_mpi) * 1e6, median(of_ucx) * 1e6, rounds));
}

int number(const char* text) {
    const int value = std::atoi(text);
    if (value > 0) return value;
    fmt::print(stderr, "ucx_bench: invalid number: {}\n", text);
    std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        if (rank == 0) fmt::print(stderr, "ucx_bench: run it on 2 ranks: mpirun -n 2 ...\n");
        MPI_Finalize();
        return 2;
    }
    const int rounds = argc > 1 ? number(argv[1]) : 21;
    const int times = argc > 2 ? number(argv[2]) : 1000;
    const bool first = rank == 0;
    {
        Ucx ucx(1 - rank);
        const Way by_ucx = ucx.way();
        const Way by_mpi = mpi_way(1 - rank);
        std::vector<std::byte> bytes(std::size_t{4} << 20, std::byte{1});
        for (const std::size_t size :
             {std::size_t{8}, std::size_t{4} << 10U, std::size_t{64} << 10U}) {
            const std::span part = std::span(bytes).first(size);
            const auto turn = [&](const Way& way) { return ping_pong(way, first, part, times); };
            compare(fmt::format("a message of {} bytes, there and back", size), by_mpi, by_ucx,
                    first, rounds, turn);
        }
        const auto turn = [&](const Way& way) { return stream(way, first, bytes, times); };
        compare("a stream of messages of 256 KiB, 16 under way", by_mpi, by_ucx, first, rounds,
                turn);
    }
    MPI_Finalize();
    return 0;
}
