// Point-to-point over MPI.
//
// On the wire a message is its payload alone: its tag, kind and whether it is a piece of a longer
// one are in MPI's tag. A longer one begins with its size as a message of its own. Over a modelled
// link every message has a stamp: a short one in front, a longer one (in pieces) beside its size.
#include "mpi_transport.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>

#include <unistd.h>

#include "rudder/core/check.hpp"

#include "machine_ranks.hpp"
#include "mpi_progress.hpp"
#include "window.hpp"

namespace rudder::comm {

namespace {

constexpr int arrivals_per_poll = 16;

int wire_tag(Tag tag, Kind kind, bool piece) {
    return static_cast<int>(tag << 4U | static_cast<Tag>(kind) << 1U | (piece ? 1U : 0U));
}

/// Up to this size a copy with a stamp in front costs less than a message more.
constexpr std::size_t stamped_copy_bytes = 2048;

/// What a message in pieces begins with.
struct PiecesHeader {
    std::uint64_t bytes = 0;
    LinkStamp stamp{};  ///< over a modelled link
};

/// A message that comes in pieces.
struct Pieces {
    Inbox::Ticket ticket;
    std::size_t posted = 0;            ///< bytes whose receive has begun
    std::atomic<std::size_t> left{0};  ///< bytes not yet received; MPI ends receives in any order
};

/// Whose memory a message that has been announced is to be written to; null: its own.
std::shared_ptr<Operation> posted_operation(const Inbox::Arrival& arrival) {
    // One that has a place of its own may get its receive at any time: it is not looked at.
    const bool theirs = !arrival.bytes.empty() && arrival.own.empty();
    return theirs ? arrival.receive->operation : nullptr;
}

class MpiTransport final : public Transport {
public:
    MpiTransport(MPI_Comm comm, int rank, int size, const MpiOptions& options)
        : Transport(rank, size),
          comm_(comm),
          options_(options),
          link_changes_(options.link_changes) {
        std::uint64_t job = static_cast<std::uint64_t>(::getpid()) << 32U ^
                            static_cast<std::uint64_t>(machine_now().count());
        check_mpi(MPI_Bcast(&job, 1, MPI_UINT64_T, 0, comm_), "MPI_Bcast");
        job_ = job;
        MachineBoard board = meet_hosts();
        if (options_.link) {
            set_link_figures(options_.link->bytes_under_way(), options_.link->bytes_per_second);
            link_.emplace(*options_.link, inbox(), [this, board](int source) -> LinkClock& {
                return board.clock(hosts().members(hosts().host_of(source)).front());
            });
        }
        progress_.emplace(
            std::move(board), [this] { return probe(); }, link_ ? &*link_ : nullptr,
            [this](const std::exception_ptr& failure) { fail(failure); });
        progress_->start();
    }

    void at_step(std::uint64_t step) override {
        const LinkModel* model = link_ ? link_changes_.due(step) : nullptr;
        if (model == nullptr) return;
        const std::scoped_lock lock(progress_->mutex());
        link_->set_model(*model);
    }
    void wait(Operation& operation) override { progress_->wait(operation); }
    void completed() override { progress_->completed(); }
    [[nodiscard]] std::shared_ptr<std::span<std::byte>> share(std::size_t bytes,
                                                              std::uint64_t key) override {
        return share_on_host(*this, job_, bytes, key);
    }

protected:
    void do_send(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                 std::shared_ptr<Operation> operation) override;
    void do_withdraw(Operation& operation) override { progress_->withdraw(operation); }
    void do_fail(const std::exception_ptr& failure) override { progress_->fail(failure); }
    bool do_receive(int from, Tag tag, Kind kind, std::span<std::byte> into,
                    const std::shared_ptr<Operation>& operation) override;

private:
    using Active = MpiProgress::Active;

    MachineBoard meet_hosts();
    [[nodiscard]] std::vector<std::string> machine_names() const;
    [[nodiscard]] MachineBoard meet_machine(MPI_Comm node, std::span<const int> machines) const;
    bool probe();
    void begin_receive(MPI_Message* message, int source, int tag, std::size_t bytes);
    void begin_piece(MPI_Message* message, int source, Tag tag, Kind kind, std::size_t bytes);
    void receive_stamped(MPI_Message* message, int source, Tag tag, Kind kind, std::size_t bytes);
    void pieces_landed(int source, const Inbox::Ticket& ticket);
    void start_receive(MPI_Message* message, std::span<std::byte> into, Active active);
    void start_send(int to, int tag, std::span<const std::byte> bytes, Active active, Calls& calls);
    void finish_send(int to, const Calls& calls);
    void send_pieces(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                     const std::shared_ptr<Operation>& operation);
    void send_stamped(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                      const std::shared_ptr<Operation>& operation);
    [[nodiscard]] bool linked(int peer) const { return link_ && !hosts().same(rank(), peer); }

    MPI_Comm comm_;
    MpiOptions options_;
    LinkChanges link_changes_;
    std::uint64_t job_ = 0;
    std::map<std::pair<int, Tag>, std::shared_ptr<Pieces>> in_pieces_;
    std::array<std::byte, sizeof(LinkStamp) + stamped_copy_bytes> arriving_{};
    std::optional<ModelledLink> link_;
    std::optional<MpiProgress> progress_;  ///< ends first: it uses the others
};

/// Labels machines by their first rank, and hosts; meets the ranks of this machine.
MachineBoard MpiTransport::meet_hosts() {
    MPI_Comm node = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &node),
              "MPI_Comm_split_type");
    int first = rank();
    check_mpi(MPI_Bcast(&first, 1, MPI_INT, 0, node), "MPI_Bcast");
    std::vector<int> nodes(static_cast<std::size_t>(size()));
    check_mpi(MPI_Allgather(&first, 1, MPI_INT, nodes.data(), 1, MPI_INT, comm_), "MPI_Allgather");
    if (options_.link) refuse_link_between(nodes, machine_names());
    const bool alone = options_.ranks_per_host == 0 && options_.link;
    set_hosts(group_hosts(nodes, alone ? 1 : options_.ranks_per_host));
    MachineBoard board = meet_machine(node, nodes);
    MPI_Comm_free(&node);
    return board;
}

/// What each rank calls its machine.
std::vector<std::string> MpiTransport::machine_names() const {
    using Name = std::array<char, MPI_MAX_PROCESSOR_NAME>;
    Name own{};
    int length = 0;
    check_mpi(MPI_Get_processor_name(own.data(), &length), "MPI_Get_processor_name");
    std::vector<Name> all(static_cast<std::size_t>(size()));
    check_mpi(MPI_Allgather(own.data(), static_cast<int>(own.size()), MPI_CHAR, all.data(),
                            static_cast<int>(own.size()), MPI_CHAR, comm_),
              "MPI_Allgather");
    std::vector<std::string> names;
    for (const Name& name : all)
        names.emplace_back(name.data());
    return names;
}

MachineBoard MpiTransport::meet_machine(MPI_Comm node, std::span<const int> machines) const {
    const int first = machines[static_cast<std::size_t>(rank())];
    const auto ranks = static_cast<int>(std::ranges::count(machines, first));
    const std::string name = window_name(job_, first, "board");
    std::shared_ptr<std::span<std::byte>> memory;
    if (rank() == first) memory = create_shared_window(name, MachineBoard::bytes_for(ranks));
    check_mpi(MPI_Barrier(node), "MPI_Barrier");
    if (rank() != first) memory = open_shared_window(name, MachineBoard::bytes_for(ranks));
    check_mpi(MPI_Barrier(node), "MPI_Barrier");
    if (rank() == first) unlink_shared_window(name);
    return {machines, rank(), std::move(memory)};
}

// ---- sending -----------------------------------------------------------------------------------

/// Short messages leave at once: they are looked after no further, but by a call.
void MpiTransport::start_send(int to, int tag, std::span<const std::byte> bytes, Active active,
                              Calls& calls) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(
        MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, comm_, &request),
        "MPI_Isend");
    int left = 0;
    check_mpi(MPI_Test(&request, &left, MPI_STATUS_IGNORE), "MPI_Test");
    if (left == 0) return progress_->add(request, std::move(active));
    calls.emplace_back([active = std::move(active)] { active.ended(0); });
}

/// After the lock has been released.
void MpiTransport::finish_send(int to, const Calls& calls) {
    progress_->ring(to);
    for (const auto& call : calls)
        call();
}

void MpiTransport::do_send(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                           std::shared_ptr<Operation> operation) {
    const bool stamped = linked(to);
    if (stamped && bytes.size() <= stamped_copy_bytes)
        return send_stamped(to, tag, kind, bytes, operation);
    if (stamped || bytes.size() > options_.piece_bytes)
        return send_pieces(to, tag, kind, bytes, operation);
    Calls calls;
    {
        const std::scoped_lock lock(progress_->mutex());
        start_send(to, wire_tag(tag, kind, false), bytes,
                   {[operation](std::size_t) { operation->complete(); }, nullptr, to, true}, calls);
    }
    finish_send(to, calls);
}

void MpiTransport::send_pieces(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                               const std::shared_ptr<Operation>& operation) {
    const Duration now = machine_now();
    const std::size_t pieces = (bytes.size() + options_.piece_bytes - 1) / options_.piece_bytes;
    auto left = std::make_shared<std::atomic<std::size_t>>(pieces + 1);
    const auto ended = [operation, left](std::size_t) {
        if (left->fetch_sub(1) == 1) operation->complete();
    };
    auto header = std::make_shared<PiecesHeader>();
    header->bytes = bytes.size();
    const int on_wire = wire_tag(tag, kind, true);
    Calls calls;
    {
        const std::scoped_lock lock(progress_->mutex());
        if (linked(to)) header->stamp = link_->stamp(rank(), kind, bytes.size(), now);
        start_send(to, on_wire, std::as_bytes(std::span(header.get(), 1)),
                   {ended, header, to, true}, calls);
        for (std::size_t at = 0; at < bytes.size(); at += options_.piece_bytes) {
            start_send(to, on_wire,
                       bytes.subspan(at, std::min(options_.piece_bytes, bytes.size() - at)),
                       {ended, nullptr, to, true}, calls);
        }
    }
    finish_send(to, calls);
}

void MpiTransport::send_stamped(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                                const std::shared_ptr<Operation>& operation) {
    const Duration now = machine_now();
    auto copy = std::make_shared<std::vector<std::byte>>(sizeof(LinkStamp) + bytes.size());
    std::ranges::copy(bytes, copy->begin() + sizeof(LinkStamp));
    Calls calls;
    {
        const std::scoped_lock lock(progress_->mutex());
        const LinkStamp stamp = link_->stamp(rank(), kind, bytes.size(), now);
        std::memcpy(copy->data(), &stamp, sizeof(stamp));
        start_send(to, wire_tag(tag, kind, false), *copy,
                   {[operation](std::size_t) { operation->complete(); }, copy, to, true}, calls);
    }
    finish_send(to, calls);
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
                    nullptr, from, false, operation,
                    // Taken back: its message goes to the operation when it comes.
                    [this, from, tag, operation] {
                        inbox().post({from, tag, std::nullopt, operation});
                    }});
    return true;
}

void MpiTransport::begin_receive(MPI_Message* message, int source, int tag, std::size_t bytes) {
    const Tag ours = static_cast<Tag>(tag) >> 4U;
    const Kind kind = static_cast<Kind>(static_cast<Tag>(tag) >> 1U & 7U);
    if ((static_cast<Tag>(tag) & 1U) != 0) return begin_piece(message, source, ours, kind, bytes);
    if (linked(source)) return receive_stamped(message, source, ours, kind, bytes);
    Inbox::Ticket ticket = inbox().announce(source, ours, kind, bytes);
    const std::span<std::byte> place = ticket->bytes;
    auto receives = posted_operation(*ticket);
    start_receive(message, place,
                  {[this, ticket = std::move(ticket)](std::size_t) { inbox().arrived(ticket); },
                   nullptr, source, false, std::move(receives)});
}

/// The first piece is the message's header; the others follow in order.
void MpiTransport::begin_piece(MPI_Message* message, int source, Tag tag, Kind kind,
                               std::size_t bytes) {
    const std::pair key{source, tag};
    const auto found = in_pieces_.find(key);
    if (found == in_pieces_.end()) {
        PiecesHeader header;
        RUDDER_CHECK(bytes == sizeof(header));
        check_mpi(MPI_Mrecv(&header, static_cast<int>(bytes), MPI_BYTE, message, MPI_STATUS_IGNORE),
                  "MPI_Mrecv");
        auto fresh = std::make_shared<Pieces>();
        fresh->ticket = linked(source)
                            ? link_->expect(source, tag, kind, header.bytes, header.stamp)
                            : inbox().announce(source, tag, kind, header.bytes);
        fresh->left = header.bytes;
        in_pieces_.emplace(key, std::move(fresh));
        return;
    }
    const std::shared_ptr<Pieces> pieces = found->second;
    RUDDER_CHECK(bytes <= pieces->ticket->bytes.size() - pieces->posted);
    const std::span<std::byte> place = pieces->ticket->bytes.subspan(pieces->posted, bytes);
    pieces->posted += bytes;
    if (pieces->posted == pieces->ticket->bytes.size()) in_pieces_.erase(found);
    start_receive(message, place,
                  {[this, source, pieces, bytes](std::size_t) {
                       if (pieces->left.fetch_sub(bytes) == bytes)
                           pieces_landed(source, pieces->ticket);
                   },
                   nullptr, source, false, posted_operation(*pieces->ticket)});
}

/// Over a modelled link it is handed over when its time has come.
void MpiTransport::pieces_landed(int source, const Inbox::Ticket& ticket) {
    if (!linked(source)) return inbox().arrived(ticket);
    const std::scoped_lock lock(progress_->mutex());
    link_->landed(ticket);
}

void MpiTransport::receive_stamped(MPI_Message* message, int source, Tag tag, Kind kind,
                                   std::size_t bytes) {
    RUDDER_CHECK(bytes >= sizeof(LinkStamp) && bytes <= arriving_.size());
    check_mpi(
        MPI_Mrecv(arriving_.data(), static_cast<int>(bytes), MPI_BYTE, message, MPI_STATUS_IGNORE),
        "MPI_Mrecv");
    LinkStamp stamp;
    std::memcpy(&stamp, arriving_.data(), sizeof(stamp));
    const auto payload = std::span(arriving_).first(bytes).subspan(sizeof(stamp));
    const Inbox::Ticket ticket = link_->expect(source, tag, kind, payload.size(), stamp);
    std::ranges::copy(payload, ticket->bytes.begin());
    link_->landed(ticket);
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

/// Refuses an MPI that someone else runs and that our calls beside theirs would break.
void check_running() {
    int begun = 0;
    int ended = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (begun == 0 || ended != 0) {
        throw usage_error(begun == 0 ? "MPI is not initialised yet" : "MPI is finalised already",
                          "MPI", "import mpi4py.MPI first, and use its communicators");
    }
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level >= MPI_THREAD_MULTIPLE) return;
    throw usage_error("MPI was initialised for calls from one thread at a time", "MPI",
                      "initialise it with MPI_THREAD_MULTIPLE, as mpi4py does by itself");
}

}  // namespace

std::shared_ptr<Transport> make_mpi_transport(const MpiOptions& options) {
    MPI_Comm comm = MPI_COMM_NULL;
    if (options.given != nullptr) check_running();
    const MPI_Comm all =
        options.given != nullptr ? *static_cast<const MPI_Comm*>(options.given) : MPI_COMM_WORLD;
    check_mpi(MPI_Comm_dup(all, &comm), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    return std::make_shared<MpiTransport>(comm, rank, size, options);
}

}  // namespace rudder::comm
