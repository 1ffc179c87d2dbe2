#include "row_slots.hpp"

#include <algorithm>
#include <cstring>

#include "core/executor/patience.hpp"
#include "core/span.hpp"

namespace rudder::buffer {

namespace {

/// Of one background link: rows that are asked for, land and are put away together.
constexpr std::size_t bulk_bytes = std::size_t{2} << 20;
/// Background links under way at once; the others wait, so that landings stay small.
constexpr std::size_t bulks_under_way = 8;

}  // namespace

struct RowSlots::Link {
    struct Put {
        SlotId slot;
        std::uint32_t index;
    };
    std::uint64_t number = 0;
    bool background = false;
    std::vector<VertexId> ids;  ///< of a background link, until it is asked for
    std::vector<Put> puts;
    std::shared_ptr<Landing> landing;
    std::vector<comm::Request> requests;
    bool asked = false;
    bool reading = false;
    std::uint64_t noted = 0;  ///< number of the last step that waits for it
};

RowSlots::RowSlots(const store::FeatureStore& store, SlotId slots)
    : store_(store),
      row_bytes_(store.format().row_bytes()),
      slots_(Array<std::byte>::uninitialised(
          checked_mul<std::size_t>(slots, row_bytes_, "size of the buffer"))),
      pool_(std::make_shared<LandingPool>(row_bytes_)),
      bulk_rows_(std::max<std::size_t>(1, bulk_bytes / row_bytes_)),
      written_by_(slots, 0),
      index_(slots, 0) {
    Executor& executor = Executor::current();
    asking_ = executor.spawn("buffer asking", [this] { guarded([this] { ask_in_background(); }); });
    keeping_ = executor.spawn("buffer keeping", [this] { guarded([this] { put_into_slots(); }); });
}

RowSlots::~RowSlots() {
    for (Task* task : {&asking_, &keeping_}) {
        if (!task->valid()) continue;
        task->cancel();
        while (!task->done()) {
            try {
                task->join();
            } catch (const Cancelled&) {
                // On fibers all are being unwound, and none runs on.
                if (Executor::current().simulated()) return;
                Executor::current().yield();
            } catch (...) {  // NOLINT(bugprone-empty-catch): kept for who waits
            }
        }
    }
}

/// What ends one of its tasks is thrown again by whoever waits for it.
template <class Body>
void RowSlots::guarded(Body&& body) {
    try {
        wait_patiently();
        body();
    } catch (const Cancelled&) {
        throw;
    } catch (...) {
        Monitor::Lock lock(monitor_);
        if (failure_ == nullptr) failure_ = std::current_exception();
        monitor_.notify_all();
    }
}

// ---- planning ----------------------------------------------------------------------------------

void RowSlots::group_by_owner(std::span<std::uint64_t> by_owner) {
    owner_of_.resize(wanted_.size());
    std::vector<std::size_t> start(by_owner.size() + 1, 0);
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
        owner_of_[i] = store_.owner(wanted_[i].vertex);
        ++start[static_cast<std::size_t>(owner_of_[i]) + 1];
    }
    for (std::size_t r = 0; r < by_owner.size(); ++r) {
        by_owner[r] += start[r + 1];
        start[r + 1] += start[r];
    }
    grouped_.resize(wanted_.size());
    for (std::size_t i = 0; i < wanted_.size(); ++i)
        grouped_[start[static_cast<std::size_t>(owner_of_[i])]++] = wanted_[i];
    wanted_.swap(grouped_);
}

void RowSlots::write_to(SlotId slot, const Link& link, std::uint32_t index) {
    written_by_[slot] = link.number;
    index_[slot] = index;
    if (Profiler::on()) fetched_by_.resize(written_by_.size(), 0);
    if (!fetched_by_.empty()) fetched_by_[slot] = link.background ? link.number : 0;
}

void RowSlots::note_uses(const StepPlan& plan, std::uint64_t step) {
    Monitor::Lock lock(monitor_);
    if (fetched_by_.empty()) return;
    std::vector<std::uint64_t> links;
    for (const SlotId slot : plan.slots) {
        if (slot == no_slot) continue;
        if (const std::uint64_t link = std::exchange(fetched_by_[slot], 0)) links.push_back(link);
    }
    std::ranges::sort(links);
    links.erase(std::unique(links.begin(), links.end()), links.end());
    for (const std::uint64_t link : links)
        Profiler::use(link, step);
}

void RowSlots::plan_step(const StepPlan& plan, std::span<const RowKey> rows,
                         const RowNumbering& numbering, Sources& out) {
    auto link = std::make_shared<Link>();
    wanted_.clear();
    out.rows.assign(rows.size(), nullptr);
    Monitor::Lock lock(monitor_);
    link->number = first_ + chain_.size();
    link->reading = true;
    for (std::uint32_t p = 0; p < rows.size(); ++p) {
        const SlotId slot = plan.slots[p];
        if (slot == no_slot) {
            wanted_.push_back({numbering.vertex(rows[p]), p});
        } else if (written_by_[slot] == 0) {
            out.rows[p] = slots_.data() + slot * row_bytes_;
        } else {
            const auto& writer = chain_[written_by_[slot] - first_];
            if (std::exchange(writer->noted, link->number) != link->number)
                out.awaited.push_back(writer);
            out.late.push_back({p, index_[slot], writer.get()});
        }
    }
    group_by_owner(out.demand_by_owner);
    out.demand = wanted_.size();
    landed_at_.resize(rows.size());
    if (!wanted_.empty()) link->landing = pool_->take(wanted_.size());
    for (std::uint32_t i = 0; i < wanted_.size(); ++i) {
        link->landing->ids[i] = wanted_[i].vertex;
        landed_at_[wanted_[i].purpose] = i;
        out.rows[wanted_[i].purpose] = link->landing->rows.data() + i * row_bytes_;
    }
    for (const Admitted& row : plan.admit) {
        link->puts.push_back({row.slot, landed_at_[row.position]});
        write_to(row.slot, *link, landed_at_[row.position]);
    }
    chain_.push_back(link);
    out.own = std::move(link);
}

void RowSlots::plan_background(std::span<const Placed> placed, const RowNumbering& numbering,
                               std::span<std::uint64_t> by_owner) {
    if (placed.empty()) return;
    wanted_.clear();
    for (const Placed& row : placed)
        wanted_.push_back({numbering.vertex(row.row), row.slot});
    group_by_owner(by_owner);
    Monitor::Lock lock(monitor_);
    for (std::size_t at = 0; at < wanted_.size(); at += bulk_rows_) {
        auto link = std::make_shared<Link>();
        link->number = first_ + chain_.size();
        link->background = true;
        const std::size_t end = std::min(at + bulk_rows_, wanted_.size());
        for (std::size_t i = at; i < end; ++i) {
            const auto index = static_cast<std::uint32_t>(i - at);
            link->ids.push_back(wanted_[i].vertex);
            link->puts.push_back({wanted_[i].purpose, index});
            write_to(wanted_[i].purpose, *link, index);
        }
        chain_.push_back(link);
        unasked_.push_back(std::move(link));
    }
    monitor_.notify_all();
}

// ---- fetching ----------------------------------------------------------------------------------

void RowSlots::fetch(const std::shared_ptr<Link>& link) {
    std::vector<comm::Request> requests;
    if (link->landing != nullptr) {
        store::RemoteFetch fetch =
            store_.fetch(link->landing->ids, link->landing->rows,
                         link->background ? comm::Kind::requests_ahead : comm::Kind::requests);
        fetch.keep(link->landing);
        for (store::RemoteFetch::Piece& piece : fetch.pieces())
            requests.push_back(piece.landed);
    }
    Monitor::Lock lock(monitor_);
    link->requests = std::move(requests);
    link->asked = true;
    monitor_.notify_all();
}

void RowSlots::ask(Sources& sources) {
    fetch(sources.own);
}

void RowSlots::wait(Sources& sources) {
    for (const auto& link : sources.awaited) {
        std::vector<comm::Request> requests;
        {
            Monitor::Lock lock(monitor_);
            monitor_.wait(lock, "rows to be asked for",
                          [&] { return link->asked || failure_ != nullptr; });
            if (!link->asked) std::rethrow_exception(failure_);
            requests = link->requests;  // several may wait for the same
        }
        comm::wait_all(requests);
    }
    std::vector<comm::Request> own = sources.own->requests;
    comm::wait_all(own);
    for (const Sources::Late& row : sources.late)
        sources.rows[row.position] = row.link->landing->rows.data() + row.index * row_bytes_;
}

void RowSlots::done(Sources& sources) {
    Monitor::Lock lock(monitor_);
    sources.own->reading = false;
    sources.late.clear();
    sources.awaited.clear();
    sources.own.reset();
    monitor_.notify_all();
}

void RowSlots::ask_in_background() {
    const std::uint64_t limit = bulk_rows_ * bulks_under_way;
    while (true) {
        std::shared_ptr<Link> link;
        {
            Monitor::Lock lock(monitor_);
            monitor_.wait(lock, "rows to fetch ahead", [&] {
                if (unasked_.empty()) return finishing_;
                return background_rows_ == 0 ||
                       background_rows_ + unasked_.front()->ids.size() <= limit;
            });
            if (unasked_.empty()) return;
            link = std::move(unasked_.front());
            unasked_.pop_front();
            background_rows_ += link->ids.size();
        }
        Span span("fetching ahead");
        span.set_id(link->number);
        link->landing = pool_->take(link->ids.size());
        link->landing->ids.swap(link->ids);
        fetch(link);
    }
}

// ---- keeping -----------------------------------------------------------------------------------

void RowSlots::put_into_slots() {
    while (true) {
        std::shared_ptr<Link> link;
        {
            Monitor::Lock lock(monitor_);
            monitor_.wait(lock, "rows for the buffer",
                          [&] { return chain_.empty() ? finishing_ : chain_.front()->asked; });
            if (chain_.empty()) return;
            link = chain_.front();
        }
        comm::wait_all(link->requests);
        {
            Monitor::Lock lock(monitor_);
            // All earlier steps have been read, or their links would still be in the chain.
            monitor_.wait(lock, "a step to be read", [&] { return !link->reading; });
        }
        put(*link);
        Monitor::Lock lock(monitor_);
        for (const Link::Put& row : link->puts) {
            if (written_by_[row.slot] == link->number) written_by_[row.slot] = 0;
        }
        if (link->background) background_rows_ -= link->landing->ids.size();
        chain_.pop_front();
        ++first_;
        monitor_.notify_all();
    }
}

void RowSlots::put(const Link& link) {
    const Span span("keeping rows");
    for (const Link::Put& row : link.puts) {
        std::memcpy(slots_.data() + row.slot * row_bytes_,
                    link.landing->rows.data() + row.index * row_bytes_, row_bytes_);
    }
}

void RowSlots::finish() {
    Monitor::Lock lock(monitor_);
    finishing_ = true;
    monitor_.notify_all();
    monitor_.wait(lock, "rows on their way to the buffer",
                  [&] { return failure_ != nullptr || (chain_.empty() && unasked_.empty()); });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
}

}  // namespace rudder::buffer
