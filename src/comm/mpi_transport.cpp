// Point-to-point over MPI. All calls are made under one lock (`mutex_`); completions are called
// after it is released, since they may send again.
//
// On the wire a message is its payload alone: its tag, kind and whether it is a piece of a longer
// one are in MPI's tag. A longer one begins with its size as a message of its own. Over a modelled
// link every message carries, in front, the time at which it may be handed over.
#include "rudder/comm/mpi_transport.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <queue>
#include <thread>

#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/executor/task_state.hpp"
#include "rudder/core/interrupt.hpp"
#include "rudder/core/span.hpp"

#include "mpi_check.hpp"
#include "window.hpp"

namespace rudder::comm {

namespace {

using namespace std::chrono_literals;

constexpr Tag share_tag = tag_limit - 1;
/// How long a wait gives way (and polls) before it begins to sleep.
constexpr auto awake_at_first = 500us;
/// Open MPI gives way inside its own calls, MPICH does not; to do so after each would be too much.
constexpr unsigned polls_per_yield = 4;
constexpr auto short_sleep = 30us;
/// Of who has waited for long, so that nothing is expected soon.
constexpr auto long_sleep = 100us;
constexpr auto long_idle = 1ms;
/// Tasks that sleep while another looks in for them look up now and then, for cancels and signals.
constexpr auto look_up = 2ms;
/// Held messages due sooner than a sleep takes are waited for awake; at the very end without giving
/// way, since the scheduler may take a time slice for itself.
constexpr auto awake_before_due = 120us;
constexpr auto alert_before_due = 20us;
/// A thread that has polled within this long is taken to be waiting: no need to look in.
constexpr auto recent = 200us;
constexpr auto longest_pause = 500us;
constexpr int arrivals_per_poll = 16;
/// While MPI itself has work in hand, looking for messages that nobody awaits can wait a little.
constexpr unsigned polls_per_probe = 4;
constexpr auto patience_after_signal = 500ms;

int wire_tag(Tag tag, Kind kind, bool piece) {
    return static_cast<int>(tag << 4U | static_cast<Tag>(kind) << 1U | (piece ? 1U : 0U));
}

/// Common to all processes of a machine, which is where modelled links are used.
Duration machine_now() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// Lets this thread's sleeps end when they should, not up to 50 us later.
void sleep_exactly() {
    thread_local const int done = ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    static_cast<void>(done);
}

/// What a finished request has received; one byte too many stands for a message that was cut.
std::size_t received_bytes(const MPI_Status& status, int code) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (bytes < 0) bytes = 0;  // undefined for a send
    const bool cut = code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS;
    return static_cast<std::size_t>(bytes) + (cut ? 1 : 0);
}

/// One MPI request under way, and what to do at its end.
struct Active {
    /// Called with the bytes received (0 for a send).
    std::function<void(std::size_t)> ended;
    std::shared_ptr<const void> keep;  ///< memory the request uses
};

/// A message that has arrived ahead of its modelled time.
struct Held {
    Duration due;
    std::uint64_t order;
    int source;
    Tag tag;
    Kind kind;
    std::shared_ptr<std::vector<std::byte>> bytes;  ///< with the stamp in front
    friend bool operator<(const Held& a, const Held& b) {
        return a.due != b.due ? a.due > b.due : a.order > b.order;  // earliest on top
    }
};

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
        background_ = std::thread([this] { look_in(); });
        if (options_.link) link_free_ = share(sizeof(std::int64_t), ~std::uint64_t{0});
    }

    ~MpiTransport() override {
        stopping_.store(true);
        background_.join();
    }

    void wait(Operation& operation) override;
    void completed() override;
    [[nodiscard]] std::shared_ptr<std::span<std::byte>> share(std::size_t bytes,
                                                              std::uint64_t key) override;

protected:
    void do_send(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                 std::shared_ptr<Operation> operation) override;
    bool do_receive(int from, Tag tag, Kind kind, std::span<std::byte> into,
                    const std::shared_ptr<Operation>& operation) override;

private:
    using Calls = std::vector<std::function<void()>>;

    /// A task that waits while another looks in for it.
    struct Sleeper {
        const Operation* operation;
        std::condition_variable wake{};
        bool called = false;
    };

    struct Leaving {
        MpiTransport& transport;
        ~Leaving() { transport.call_next(); }
    };

    void group_hosts();
    void rest(const Operation& operation, Duration nap);
    void call_next();
    bool poll();
    void look_in();
    void test_active(Calls& calls);
    bool probe();
    void begin_receive(MPI_Message* message, int source, int tag, std::size_t bytes);
    void begin_piece(MPI_Message* message, int source, Tag tag, Kind kind, std::size_t bytes);
    void receive_held(MPI_Message* message, int source, Tag tag, Kind kind, std::size_t bytes);
    void release_held(Calls& calls);
    void start_receive(MPI_Message* message, std::span<std::byte> into, Active active);
    void start_send(int to, int tag, std::span<const std::byte> bytes, Active active);
    void send_pieces(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                     const std::shared_ptr<Operation>& operation);
    void send_over_link(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                        const std::shared_ptr<Operation>& operation);
    [[nodiscard]] bool linked(int peer) const {
        return options_.link && !hosts().same(rank(), peer);
    }

    MPI_Comm comm_;
    MpiOptions options_;
    std::uint64_t job_ = 0;
    std::shared_ptr<std::span<std::byte>> link_free_;  ///< when this host's link is free

    std::mutex mutex_;
    std::vector<MPI_Request> requests_;
    std::vector<Active> active_;
    std::vector<int> indices_;
    std::vector<MPI_Status> statuses_;
    std::map<std::pair<int, Tag>, std::shared_ptr<Pieces>> in_pieces_;
    std::priority_queue<Held> held_;
    std::uint64_t next_order_ = 0;
    unsigned polls_ = 0;

    std::mutex sleep_mutex_;  ///< guards what follows
    std::vector<Sleeper*> sleepers_;
    bool napping_ = false;  ///< a task sleeps for a moment only, and then looks in
    std::atomic<int> asleep_{0};

    std::atomic<Duration::rep> next_due_{Duration::max().count()};
    std::atomic<Duration::rep> last_poll_{0};
    std::atomic<bool> stopping_{false};
    std::thread background_;
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
    requests_.push_back(request);
    active_.push_back(std::move(active));
}

void MpiTransport::do_send(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                           std::shared_ptr<Operation> operation) {
    if (linked(to)) return send_over_link(to, tag, kind, bytes, operation);
    if (bytes.size() > options_.piece_bytes) return send_pieces(to, tag, kind, bytes, operation);
    const std::scoped_lock lock(mutex_);
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
    const std::scoped_lock lock(mutex_);
    start_send(to, on_wire, std::as_bytes(std::span(size.get(), 1)), {ended, size});
    for (std::size_t at = 0; at < bytes.size(); at += options_.piece_bytes) {
        start_send(to, on_wire,
                   bytes.subspan(at, std::min(options_.piece_bytes, bytes.size() - at)),
                   {ended, nullptr});
    }
}

/// Stamps the message with its arrival: the host's link sends one message after the other.
void MpiTransport::send_over_link(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                                  const std::shared_ptr<Operation>& operation) {
    const Duration::rep now = machine_now().count();  // before the copy: it is no part of the link
    auto stamped = std::make_shared<std::vector<std::byte>>();
    stamped->reserve(sizeof(Duration::rep) + bytes.size());
    stamped->resize(sizeof(Duration::rep));
    stamped->insert(stamped->end(), bytes.begin(), bytes.end());
    if (stamped->size() > options_.piece_bytes) {
        throw Error(ErrorKind::failed, "a message of over 1 GiB over a modelled link", "--link",
                    "use smaller batches, or the real network");
    }
    const Duration::rep transfer = options_.link->transfer(bytes.size()).count();
    auto& slot = *reinterpret_cast<Duration::rep*>(link_free_->data());
    const std::atomic_ref<Duration::rep> link(slot);
    const std::scoped_lock lock(mutex_);  // stamps leave in the order they are made
    Duration::rep free = link.load(std::memory_order_relaxed);
    Duration::rep left = 0;
    do {
        left = std::max(free, now) + transfer;
    } while (!link.compare_exchange_weak(free, left, std::memory_order_relaxed));
    const Duration::rep due = left + options_.link->delay.count();
    std::memcpy(stamped->data(), &due, sizeof(due));
    start_send(to, wire_tag(tag, kind, false), *stamped,
               {[operation](std::size_t) { operation->complete(); }, stamped});
}

// ---- receiving ---------------------------------------------------------------------------------

void MpiTransport::start_receive(MPI_Message* message, std::span<std::byte> into, Active active) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Imrecv(into.data(), static_cast<int>(into.size()), MPI_BYTE, message, &request),
              "MPI_Imrecv");
    requests_.push_back(request);
    active_.push_back(std::move(active));
}

/// Posted to MPI ahead of the message, unless earlier ones of this source and tag go through the
/// inbox. Probing takes the same lock, so none can come in between.
bool MpiTransport::do_receive(int from, Tag tag, Kind kind, std::span<std::byte> into,
                              const std::shared_ptr<Operation>& operation) {
    if (linked(from) || into.size() > options_.piece_bytes) return false;
    const std::scoped_lock lock(mutex_);
    if (!inbox().quiet(from, tag) || in_pieces_.contains({from, tag})) return false;
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(into.data(), static_cast<int>(into.size()), MPI_BYTE, from,
                        wire_tag(tag, kind, false), comm_, &request),
              "MPI_Irecv");
    requests_.push_back(request);
    active_.push_back({[this, from, tag, kind, expected = into.size(), operation](std::size_t got) {
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
    Duration::rep due = 0;
    std::memcpy(&due, stamped->data(), sizeof(due));
    held_.push({Duration(due), next_order_++, source, tag, kind, std::move(stamped)});
    next_due_.store(held_.top().due.count());
}

void MpiTransport::release_held(Calls& calls) {
    while (!held_.empty() && held_.top().due <= machine_now()) {
        const Held& held = held_.top();
        const std::size_t bytes = held.bytes->size() - sizeof(Duration::rep);
        // Announced under the lock, so that two threads cannot swap two messages of one sender.
        Inbox::Ticket ticket = inbox().announce(held.source, held.tag, held.kind, bytes);
        calls.emplace_back([this, ticket = std::move(ticket), stamped = held.bytes] {
            if (!ticket->bytes.empty()) {
                std::memcpy(ticket->bytes.data(), stamped->data() + sizeof(Duration::rep),
                            ticket->bytes.size());
            }
            inbox().arrived(ticket);
        });
        held_.pop();
    }
    next_due_.store(held_.empty() ? Duration::max().count() : held_.top().due.count());
}

// ---- progress ----------------------------------------------------------------------------------

void MpiTransport::test_active(Calls& calls) {
    if (requests_.empty()) return;
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int count = 0;
    const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                  indices_.data(), statuses_.data());
    // A message longer than its place is an error of that receive alone, found by its size below.
    if (code != MPI_ERR_IN_STATUS) check_mpi(code, "MPI_Testsome");
    if (count <= 0) return;
    const std::span finished(indices_.data(), static_cast<std::size_t>(count));
    auto status = statuses_.begin();
    for (const int index : finished) {
        Active& active = active_[static_cast<std::size_t>(index)];
        calls.push_back([ended = std::move(active.ended), keep = std::move(active.keep),
                         bytes = received_bytes(*status++, code)] { ended(bytes); });
    }
    std::ranges::sort(finished);
    for (std::size_t i = finished.size(); i-- > 0;) {
        const auto index = static_cast<std::size_t>(finished[i]);
        requests_[index] = requests_.back();
        requests_.pop_back();
        if (index + 1 != active_.size()) active_[index] = std::move(active_.back());
        active_.pop_back();
    }
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

bool MpiTransport::poll() {
    Calls calls;
    bool any = false;
    {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return false;
        last_poll_.store(machine_now().count(), std::memory_order_relaxed);
        test_active(calls);
        if (calls.empty() && (requests_.empty() || ++polls_ % polls_per_probe == 0)) any = probe();
        release_held(calls);
    }
    for (const auto& call : calls)
        call();
    return any || !calls.empty();
}

/// After a signal the ranks agree on where to stop, so a wait goes on; but not for ever, since the
/// others may be gone.
void leave_if_interrupted(std::optional<Duration>& since) {
    if (!interrupted()) return;
    if (!since) since = machine_now();
    if (machine_now() - *since > patience_after_signal) throw_if_interrupted_at_once();
}

void MpiTransport::wait(Operation& operation) {
    if (const char* place = NoWaitScope::current()) throw WaitForbidden(place);
    TaskState& me = TaskState::current();
    std::optional<Span> waiting;  // told to the watchdog once the wait is not a short one
    std::optional<Duration> signalled;
    // Whoever looked in for others calls one of them when it goes.
    const Leaving leaving{*this};
    Duration idle_since = machine_now();
    unsigned in_vain = 0;
    while (!operation.done()) {
        if (poll()) {
            idle_since = machine_now();
            continue;
        }
        if (me.cancelled()) throw Cancelled{};
        const Duration now = machine_now();
        const Duration idle = now - idle_since;
        const Duration until_due = Duration(next_due_.load(std::memory_order_relaxed)) - now;
        if (!me.patient()) {
            if (until_due < alert_before_due) continue;
            if (idle < awake_at_first || until_due < awake_before_due) {
                if (++in_vain % polls_per_yield == 0) ::sched_yield();
                continue;
            }
        }
        if (!waiting) waiting.emplace(waiting_phase);
        leave_if_interrupted(signalled);
        rest(operation, std::min<Duration>(idle < long_idle ? short_sleep : long_sleep, until_due));
    }
}

/// Sleeps: for `nap` if nobody else does who then looks in for all, else until it is called.
void MpiTransport::rest(const Operation& operation, Duration nap) {
    {
        std::unique_lock lock(sleep_mutex_);
        if (napping_) {
            Sleeper me{&operation};
            asleep_.fetch_add(1);
            sleepers_.push_back(&me);
            if (!operation.done()) me.wake.wait_for(lock, look_up, [&] { return me.called; });
            std::erase(sleepers_, &me);
            asleep_.fetch_sub(1);
            return;
        }
        napping_ = true;
    }
    sleep_exactly();
    if (nap > Duration::zero()) std::this_thread::sleep_for(nap);
    const std::scoped_lock lock(sleep_mutex_);
    napping_ = false;
}

void MpiTransport::completed() {
    if (asleep_.load() == 0) return;
    const std::scoped_lock lock(sleep_mutex_);
    for (Sleeper* sleeper : sleepers_) {
        if (!sleeper->operation->done()) continue;
        sleeper->called = true;
        sleeper->wake.notify_one();
    }
}

/// Nobody may be left who looks in: calls one of those that sleep.
void MpiTransport::call_next() {
    if (asleep_.load() == 0) return;
    const std::scoped_lock lock(sleep_mutex_);
    if (napping_ || sleepers_.empty()) return;
    sleepers_.front()->called = true;
    sleepers_.front()->wake.notify_one();
}

/// Progress while nobody waits: messages of other ranks are answered all the same.
void MpiTransport::look_in() {
    sleep_exactly();
    auto pause = short_sleep;
    while (!stopping_.load(std::memory_order_relaxed)) {
        const Duration since = machine_now() - Duration(last_poll_.load(std::memory_order_relaxed));
        if (since < recent) {
            std::this_thread::sleep_for(longest_pause);
            continue;
        }
        pause = poll() ? short_sleep : std::min<decltype(pause)>(pause * 2, longest_pause);
        std::this_thread::sleep_for(pause);
    }
}

// ---- windows -----------------------------------------------------------------------------------

std::shared_ptr<std::span<std::byte>> MpiTransport::share(std::size_t bytes, std::uint64_t key) {
    const auto& members = hosts().members(hosts().host_of(rank()));
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
