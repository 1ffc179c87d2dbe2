// Point-to-point over MPI.
//
// On the wire a message is its payload alone: its tag, kind and whether it is a piece of a longer
// one are in MPI's tag. A longer one begins with its size as a message of its own. Over a modelled
// link every message carries, in front, the time at which it may be handed over.
#include "mpi_transport.hpp"

#include <algorithm>
#include <atomic>
#include <map>

#include <fmt/format.h>
#include <unistd.h>

#include "rudder/comm/channels.hpp"

#include "mpi_progress.hpp"
#include "window.hpp"

namespace rudder::comm {

namespace {

/// Of the communicator of all ranks.
constexpr Tag share_tag = channel_of(Talk::windows);
constexpr int arrivals_per_poll = 16;

int wire_tag(Tag tag, Kind kind, bool piece) {
    return static_cast<int>(tag << 4U | static_cast<Tag>(kind) << 1U | (piece ? 1U : 0U));
}

/// A message that comes in pieces.
struct Pieces {
    Inbox::Ticket ticket;
    std::size_t posted = 0;            ///< bytes whose receive has begun
    std::atomic<std::size_t> left{0};  ///< bytes not yet received; MPI ends receives in any order
};

class MpiTransport final : public Transport {
public:
    MpiTransport(MPI_Comm comm, int rank, int size, const MpiOptions& options)
        : Transport(rank, size), comm_(comm), options_(options) {
        group_hosts();
        std::uint64_t job = static_cast<std::uint64_t>(::getpid()) << 32U ^
                            static_cast<std::uint64_t>(machine_now().count());
        check_mpi(MPI_Bcast(&job, 1, MPI_UINT64_T, 0, comm_), "MPI_Bcast");
        job_ = job;
        if (options_.link) link_.emplace(*options_.link, inbox());
        progress_.emplace([this] { return probe(); }, link_ ? &*link_ : nullptr);
        progress_->start();
        if (link_) link_->set_shared(share(sizeof(Duration::rep), ~std::uint64_t{0}));
    }

    void wait(Operation& operation) override { progress_->wait(operation); }
    void completed() override { progress_->completed(); }
    [[nodiscard]] std::shared_ptr<std::span<std::byte>> share(std::size_t bytes,
                                                              std::uint64_t key) override;

protected:
    void do_send(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                 std::shared_ptr<Operation> operation) override;
    bool do_receive(int from, Tag tag, Kind kind, std::span<std::byte> into,
                    const std::shared_ptr<Operation>& operation) override;

private:
    using Active = MpiProgress::Active;

    void group_hosts();
    bool probe();
    void begin_receive(MPI_Message* message, int source, int tag, std::size_t bytes);
    void begin_piece(MPI_Message* message, int source, Tag tag, Kind kind, std::size_t bytes);
    void receive_held(MPI_Message* message, int source, Tag tag, Kind kind, std::size_t bytes);
    void start_receive(MPI_Message* message, std::span<std::byte> into, Active active);
    void start_send(int to, int tag, std::span<const std::byte> bytes, Active active);
    void send_pieces(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                     const std::shared_ptr<Operation>& operation);
    void send_over_link(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                        const std::shared_ptr<Operation>& operation);
    [[nodiscard]] bool linked(int peer) const { return link_ && !hosts().same(rank(), peer); }

    MPI_Comm comm_;
    MpiOptions options_;
    std::uint64_t job_ = 0;
    std::map<std::pair<int, Tag>, std::shared_ptr<Pieces>> in_pieces_;
    std::optional<ModelledLink> link_;
    std::optional<MpiProgress> progress_;  ///< ends first: it uses the others
};

void MpiTransport::group_hosts() {
    MPI_Comm node = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &node),
              "MPI_Comm_split_type");
    int first = rank();
    check_mpi(MPI_Bcast(&first, 1, MPI_INT, 0, node), "MPI_Bcast");
    MPI_Comm_free(&node);
    std::vector<int> nodes(static_cast<std::size_t>(size()));
    check_mpi(MPI_Allgather(&first, 1, MPI_INT, nodes.data(), 1, MPI_INT, comm_), "MPI_Allgather");
    const int per_host = options_.ranks_per_host > 0 ? options_.ranks_per_host
                         : options_.link             ? 1
                                                     : 0;
    if (per_host == 0) {
        set_hosts(HostMap(nodes));
        return;
    }
    HostMap map = HostMap::consecutive(size(), per_host);
    for (int host = 0; host < map.hosts(); ++host) {
        for (const int member : map.members(host)) {
            if (nodes[static_cast<std::size_t>(member)] ==
                nodes[static_cast<std::size_t>(map.members(host).front())]) {
                continue;
            }
            throw usage_error(fmt::format("{} ranks per host would join ranks {} and {}, which are "
                                          "on different machines",
                                          per_host, map.members(host).front(), member),
                              "--ranks-per-host", "give a number that divides those per machine");
        }
    }
    set_hosts(std::move(map));
}

// ---- sending -----------------------------------------------------------------------------------

void MpiTransport::start_send(int to, int tag, std::span<const std::byte> bytes, Active active) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(
        MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, comm_, &request),
        "MPI_Isend");
    progress_->add(request, std::move(active));
}

void MpiTransport::do_send(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                           std::shared_ptr<Operation> operation) {
    if (linked(to)) return send_over_link(to, tag, kind, bytes, operation);
    if (bytes.size() > options_.piece_bytes) return send_pieces(to, tag, kind, bytes, operation);
    const std::scoped_lock lock(progress_->mutex());
    start_send(to, wire_tag(tag, kind, false), bytes,
               {[operation](std::size_t) { operation->complete(); }, nullptr});
}

void MpiTransport::send_pieces(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                               const std::shared_ptr<Operation>& operation) {
    const std::size_t pieces = (bytes.size() + options_.piece_bytes - 1) / options_.piece_bytes;
    auto left = std::make_shared<std::atomic<std::size_t>>(pieces + 1);
    const auto ended = [operation, left](std::size_t) {
        if (left->fetch_sub(1) == 1) operation->complete();
    };
    auto size = std::make_shared<const std::uint64_t>(bytes.size());
    const int on_wire = wire_tag(tag, kind, true);
    const std::scoped_lock lock(progress_->mutex());
    start_send(to, on_wire, std::as_bytes(std::span(size.get(), 1)), {ended, size});
    for (std::size_t at = 0; at < bytes.size(); at += options_.piece_bytes) {
        start_send(to, on_wire,
                   bytes.subspan(at, std::min(options_.piece_bytes, bytes.size() - at)),
                   {ended, nullptr});
    }
}

void MpiTransport::send_over_link(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                                  const std::shared_ptr<Operation>& operation) {
    const Duration now = machine_now();  // before the copy, which costs the link nothing
    const ModelledLink::Bytes stamped = ModelledLink::copy(bytes);
    if (stamped->size() > options_.piece_bytes) {
        throw Error(ErrorKind::failed, "a message of over 1 GiB over a modelled link", "--link",
                    "use smaller batches, or the real network");
    }
    const std::scoped_lock lock(progress_->mutex());  // stamps leave in the order they are made
    link_->stamp(*stamped, now);
    start_send(to, wire_tag(tag, kind, false), *stamped,
               {[operation](std::size_t) { operation->complete(); }, stamped});
}

// ---- receiving ---------------------------------------------------------------------------------

void MpiTransport::start_receive(MPI_Message* message, std::span<std::byte> into, Active active) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Imrecv(into.data(), static_cast<int>(into.size()), MPI_BYTE, message, &request),
              "MPI_Imrecv");
    progress_->add(request, std::move(active));
}

/// Posted to MPI ahead of the message, unless earlier ones of this source and tag go through the
/// inbox. Probing takes the same lock, so none can come in between.
bool MpiTransport::do_receive(int from, Tag tag, Kind kind, std::span<std::byte> into,
                              const std::shared_ptr<Operation>& operation) {
    if (linked(from) || into.size() > options_.piece_bytes) return false;
    const std::scoped_lock lock(progress_->mutex());
    if (!inbox().quiet(from, tag) || in_pieces_.contains({from, tag})) return false;
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(into.data(), static_cast<int>(into.size()), MPI_BYTE, from,
                        wire_tag(tag, kind, false), comm_, &request),
              "MPI_Irecv");
    progress_->add(request,
                   {[this, from, tag, kind, expected = into.size(), operation](std::size_t got) {
                        inbox().direct(from, tag, kind, got, expected, *operation);
                    },
                    nullptr});
    return true;
}

void MpiTransport::begin_receive(MPI_Message* message, int source, int tag, std::size_t bytes) {
    const Tag ours = static_cast<Tag>(tag) >> 4U;
    const Kind kind = static_cast<Kind>(static_cast<Tag>(tag) >> 1U & 7U);
    if (linked(source)) return receive_held(message, source, ours, kind, bytes);
    if ((static_cast<Tag>(tag) & 1U) != 0) {
        return begin_piece(message, source, ours, kind, bytes);
    }
    Inbox::Ticket ticket = inbox().announce(source, ours, kind, bytes);
    const std::span<std::byte> place = ticket->bytes;
    start_receive(
        message, place,
        {[this, ticket = std::move(ticket)](std::size_t) { inbox().arrived(ticket); }, nullptr});
}

/// The first piece is the message's size; the others follow in order.
void MpiTransport::begin_piece(MPI_Message* message, int source, Tag tag, Kind kind,
                               std::size_t bytes) {
    const std::pair key{source, tag};
    const auto found = in_pieces_.find(key);
    if (found == in_pieces_.end()) {
        std::uint64_t size = 0;
        check_mpi(MPI_Mrecv(&size, static_cast<int>(bytes), MPI_BYTE, message, MPI_STATUS_IGNORE),
                  "MPI_Mrecv");
        auto fresh = std::make_shared<Pieces>();
        fresh->ticket = inbox().announce(source, tag, kind, size);
        fresh->left = size;
        in_pieces_.emplace(key, std::move(fresh));
        return;
    }
    const std::shared_ptr<Pieces> pieces = found->second;
    const std::span<std::byte> place = pieces->ticket->bytes.subspan(pieces->posted, bytes);
    pieces->posted += bytes;
    if (pieces->posted == pieces->ticket->bytes.size()) in_pieces_.erase(found);
    start_receive(message, place,
                  {[this, pieces, bytes](std::size_t) {
                       if (pieces->left.fetch_sub(bytes) == bytes) inbox().arrived(pieces->ticket);
                   },
                   nullptr});
}

void MpiTransport::receive_held(MPI_Message* message, int source, Tag tag, Kind kind,
                                std::size_t bytes) {
    auto stamped = std::make_shared<std::vector<std::byte>>(bytes);
    check_mpi(
        MPI_Mrecv(stamped->data(), static_cast<int>(bytes), MPI_BYTE, message, MPI_STATUS_IGNORE),
        "MPI_Mrecv");
    link_->hold(source, tag, kind, std::move(stamped));
}

bool MpiTransport::probe() {
    bool any = false;
    for (int i = 0; i < arrivals_per_poll; ++i) {
        int flag = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        check_mpi(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &flag, &message, &status),
                  "MPI_Improbe");
        if (flag == 0) break;
        any = true;
        int bytes = 0;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        begin_receive(&message, status.MPI_SOURCE, status.MPI_TAG, static_cast<std::size_t>(bytes));
    }
    return any;
}

// ---- windows -----------------------------------------------------------------------------------

std::shared_ptr<std::span<std::byte>> MpiTransport::share(std::size_t bytes, std::uint64_t key) {
    const auto& members = hosts().members(hosts().host_of(rank()));
    if (members.size() == 1) return private_window(bytes);  // on huge pages, unlike shared memory
    const std::string name = fmt::format("/rudder-{:x}-{}-{:x}", job_, members.front(), key);
    const std::byte sign{1};
    if (rank() == members.front()) {
        auto window = create_shared_window(name, bytes);
        std::vector<Request> requests;
        for (const int member : members) {
            if (member == rank()) continue;
            requests.emplace_back(send(member, share_tag, Kind::control, std::span(&sign, 1)));
        }
        for (const int member : members) {
            if (member != rank()) requests.emplace_back(receive_message(member, share_tag));
        }
        wait_all(requests);
        unlink_shared_window(name);
        return window;
    }
    Request(receive_message(members.front(), share_tag)).wait();
    auto window = open_shared_window(name, bytes);
    Request(send(members.front(), share_tag, Kind::control, std::span(&sign, 1))).wait();
    return window;
}

}  // namespace

std::shared_ptr<Transport> make_mpi_transport(const MpiOptions& options) {
    MPI_Comm comm = MPI_COMM_NULL;
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    return std::make_shared<MpiTransport>(comm, rank, size, options);
}

}  // namespace rudder::comm
