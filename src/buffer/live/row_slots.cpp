#include "row_slots.hpp"

#include <algorithm>
#include <cstring>

#include "core/executor/patience.hpp"
#include "core/span.hpp"
#include "core/system.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::buffer {

namespace {

/// Of one background link: rows that are asked for, land and are put away together.
constexpr std::size_t bulk_bytes = std::size_t{2} << 20;
/// Background links under way at once; the others wait, so that landings stay small.
constexpr std::size_t bulks_under_way = 8;
/// Rows of a plan that one thread takes at a time.
constexpr std::size_t plan_chunk = std::size_t{1} << 13;
/// Rows that one thread puts away at a time.
constexpr std::size_t put_chunk = 1024;

}  // namespace

struct RowSlots::Link {
    struct Put {
        SlotId slot;
        std::uint32_t index;
    };
    std::uint32_t number = 0;
    bool background = false;
    std::vector<VertexId> ids;  ///< of a background link, until it is asked for
    std::vector<Put> puts;
    std::shared_ptr<Landing> landing;
    std::vector<comm::Request> requests;
    bool asked = false;
    bool reading = false;
    SlotId give_back = no_slot;  ///< the first slot whose memory goes
    std::uint32_t noted = 0;     ///< number of the last step that waits for it
    std::uint32_t noted_at = 0;  ///< where that step has noted it
};

RowSlots::RowSlots(const store::FeatureStore& store, SlotId slots)
    : store_(store),
      row_bytes_(store.format().row_bytes()),
      slots_(Array<std::byte>::uninitialised(
          checked_mul<std::size_t>(slots, row_bytes_, "size of the buffer"))),
      pool_(std::make_shared<LandingPool>(row_bytes_)),
      bulk_rows_(std::max<std::size_t>(1, bulk_bytes / row_bytes_)),
      slots_used_(slots),
      written_by_(slots) {
    tasks_.spawn("buffer asking", [this] { guarded([this] { ask_in_background(); }); });
    tasks_.spawn("buffer keeping", [this] { guarded([this] { put_into_slots(); }); });
}

RowSlots::~RowSlots() = default;

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

/// A link without contents, behind the last of the chain.
std::shared_ptr<RowSlots::Link> RowSlots::take_link() {
    Monitor::Lock lock(monitor_);
    std::shared_ptr<Link> link;
    if (idle_.empty()) {
        link = std::make_shared<Link>();
    } else {
        link = std::move(idle_.back());
        idle_.pop_back();
    }
    return link;
}

/// One holder less of a link; the last one puts it aside for others. Under the lock, as is every
/// change of who holds a link.
void RowSlots::let_go(std::shared_ptr<Link>& link) {
    if (link.use_count() == 1) {
        link->landing.reset();
        link->requests.clear();
        link->ids.clear();
        link->puts.clear();
        link->asked = false;
        link->reading = false;
        link->background = false;
        link->give_back = no_slot;
        link->noted = 0;
        idle_.push_back(std::move(link));
    }
    link.reset();
}

void RowSlots::write_to(SlotId slot, const Link& link, std::uint32_t index) {
    written_by_[slot] = {link.number, index};
    if (!fetched_by_.empty()) fetched_by_[slot] = link.background ? link.number : 0;
}

void RowSlots::note_uses(const StepPlan& plan, std::uint64_t step) {
    if (!Profiler::on()) return;
    fetched_by_.resize(written_by_.size(), 0);
    std::vector<std::uint32_t> links;
    for (const SlotId slot : plan.slots) {
        if (slot == no_slot) continue;
        if (const std::uint32_t link = std::exchange(fetched_by_[slot], 0)) links.push_back(link);
    }
    std::ranges::sort(links);
    links.erase(std::unique(links.begin(), links.end()), links.end());
    for (const std::uint32_t link : links)
        Profiler::use(link, step);
}

void RowSlots::plan_step(const StepPlan& plan, std::span<const RowKey> rows,
                         const RowNumbering& numbering, Sources& out) {
    std::shared_ptr<Link> link = take_link();
    {
        // Links may leave the chain meanwhile; their rows are then read where they landed.
        Monitor::Lock lock(monitor_);
        first_link_ = first_;
        links_.assign(chain_.begin(), chain_.end());
        link->number = first_ + static_cast<std::uint32_t>(chain_.size());
        RUDDER_CHECK(link->number != 0);
    }
    link->reading = true;
    find_rows(plan, rows, numbering, out);
    land_wanted(plan, *link, out);
    Monitor::Lock lock(monitor_);
    await_late(out);
    chain_.push_back(link);
    out.own = std::move(link);
}

/// Rows in their slots are pointed at; the others become late or wanted.
void RowSlots::find_rows(const StepPlan& plan, std::span<const RowKey> rows,
                         const RowNumbering& numbering, Sources& out) {
    const std::size_t chunks = chunk_count(rows.size(), plan_chunk);
    wanted_.begin(chunks, out.demand_by_owner.size());
    if (late_.size() < chunks) late_.resize(chunks);
    out.rows.resize(rows.size());
    parallel_chunks(rows.size(), plan_chunk,
                    [&](const Chunk& chunk) { find_chunk(plan, rows, numbering, chunk, out); });
    out.late.clear();
    for (std::size_t c = 0; c < chunks; ++c)
        out.late.insert(out.late.end(), late_[c].begin(), late_[c].end());
}

void RowSlots::find_chunk(const StepPlan& plan, std::span<const RowKey> rows,
                          const RowNumbering& numbering, const Chunk& chunk, Sources& out) {
    std::vector<LateRow>& late = late_[chunk.index];
    late.clear();
    WantedRows::Part& wanted = wanted_.part(chunk.index);
    for (std::size_t p = chunk.begin; p < chunk.end; ++p) {
        if (p + lead < chunk.end) {
            const SlotId coming = plan.slots[p + lead];
            if (coming == no_slot) {
                numbering.prefetch(rows[p + lead]);
            } else {
                __builtin_prefetch(&written_by_[coming]);
            }
        }
        const SlotId slot = plan.slots[p];
        const auto position = static_cast<std::uint32_t>(p);
        if (slot == no_slot) {
            const VertexId v = numbering.vertex(rows[p]);
            wanted.add({v, position, store_.owner(v)});
        } else if (written_by_[slot].link < first_link_) {
            out.rows[p] = slots_.data() + slot * row_bytes_;
        } else {
            late.push_back({position, written_by_[slot].index, written_by_[slot].link});
        }
    }
}

/// Gives what the step lacks a place to land, and slots to those of it that are to stay.
void RowSlots::land_wanted(const StepPlan& plan, Link& link, Sources& out) {
    out.demand = wanted_.order(out.demand_by_owner);
    if (out.demand == 0) return;
    link.landing = pool_->take(out.demand);
    landed_at_.resize(std::max(landed_at_.size(), out.rows.size()));
    wanted_.walk([&](std::uint32_t place, const WantedRows::Row& row) {
        link.landing->ids[place] = row.vertex;
        landed_at_[row.purpose] = place;
        out.rows[row.purpose] = link.landing->rows.data() + place * row_bytes_;
    });
    link.puts.resize(plan.admit.size());
    parallel_chunks(plan.admit.size(), plan_chunk, [&](const Chunk& chunk) {
        for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
            if (i + lead < chunk.end)
                __builtin_prefetch(&written_by_[plan.admit[i + lead].slot], 1);
            const Admitted& row = plan.admit[i];
            link.puts[i] = {row.slot, landed_at_[row.position]};
            write_to(row.slot, link, link.puts[i].index);
        }
    });
}

/// Holds the links of late rows, once each. Under the lock.
void RowSlots::await_late(Sources& out) {
    const auto mine = first_ + static_cast<std::uint32_t>(chain_.size());
    for (LateRow& row : out.late) {
        const std::shared_ptr<Link>& writer = links_[row.link - first_link_];
        if (std::exchange(writer->noted, mine) != mine) {
            writer->noted_at = static_cast<std::uint32_t>(out.awaited.size());
            out.awaited.push_back(writer);
        }
        row.link = writer->noted_at;
    }
    for (std::shared_ptr<Link>& link : links_)
        let_go(link);
    links_.clear();
}

void RowSlots::plan_background(std::span<const Placed> placed, const RowNumbering& numbering,
                               std::span<std::uint64_t> by_owner) {
    if (placed.empty()) return;
    wanted_.begin(chunk_count(placed.size(), plan_chunk), by_owner.size());
    parallel_chunks(placed.size(), plan_chunk, [&](const Chunk& chunk) {
        WantedRows::Part& wanted = wanted_.part(chunk.index);
        for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
            if (i + lead < chunk.end) numbering.prefetch(placed[i + lead].row);
            const VertexId v = numbering.vertex(placed[i].row);
            wanted.add({v, placed[i].slot, store_.owner(v)});
        }
    });
    const std::size_t rows = wanted_.order(by_owner);
    for (std::size_t at = 0; at < rows; at += bulk_rows_)
        links_.push_back(make_bulk(links_.size(), std::min(bulk_rows_, rows - at)));
    wanted_.walk([&](std::uint32_t place, const WantedRows::Row& row) {
        Link& link = *links_[place / bulk_rows_];
        const auto index = static_cast<std::uint32_t>(place % bulk_rows_);
        link.ids[index] = row.vertex;
        link.puts[index] = {row.purpose, index};
        write_to(row.purpose, link, index);
    });
    Monitor::Lock lock(monitor_);
    for (std::shared_ptr<Link>& link : links_) {
        chain_.push_back(link);
        unasked_.push_back(std::move(link));
    }
    links_.clear();
    unasked_rows_ += rows;
    monitor_.notify_all();
}

/// A link for rows fetched ahead, so many links behind the chain's end.
std::shared_ptr<RowSlots::Link> RowSlots::make_bulk(std::size_t behind, std::size_t rows) {
    std::shared_ptr<Link> link = take_link();
    link->background = true;
    link->ids.resize(rows);
    link->puts.resize(rows);
    Monitor::Lock lock(monitor_);
    link->number = first_ + static_cast<std::uint32_t>(chain_.size() + behind);
    return link;
}

std::uint64_t RowSlots::queued_rows() const {
    Monitor::Lock lock(monitor_);
    return unasked_rows_;
}

void RowSlots::wait_for_room() {
    Monitor::Lock lock(monitor_);
    monitor_.wait(lock, "rows fetched ahead",
                  [&] { return failure_ != nullptr || unasked_rows_ <= written_by_.size(); });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
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
    for (const LateRow& row : sources.late) {
        const Landing& landing = *sources.awaited[row.link]->landing;
        sources.rows[row.position] = landing.rows.data() + row.index * row_bytes_;
    }
}

void RowSlots::done(Sources& sources) {
    Monitor::Lock lock(monitor_);
    sources.own->reading = false;
    for (std::shared_ptr<Link>& link : sources.awaited)
        let_go(link);
    sources.awaited.clear();
    let_go(sources.own);
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
            unasked_rows_ -= link->ids.size();
            monitor_.notify_all();
        }
        Span span("fetching ahead");
        span.set_id(link->number);
        link->landing = pool_->take(link->ids.size());
        link->landing->ids.swap(link->ids);
        fetch(link);
        Monitor::Lock lock(monitor_);
        let_go(link);
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
        if (link->give_back != no_slot)
            give_pages_back(slots_.span().subspan(link->give_back * row_bytes_));
        Monitor::Lock lock(monitor_);
        for (const comm::Request& request : link->requests)
            received_ += request.counted();
        if (link->background) background_rows_ -= link->landing->ids.size();
        let_go(chain_.front());
        chain_.pop_front();
        for (Mark& mark : marks_) {
            if (mark.link == first_) mark.received = received_;
        }
        ++first_;
        let_go(link);
        monitor_.notify_all();
    }
}

void RowSlots::give_back(SlotId from) {
    std::shared_ptr<Link> link = take_link();
    link->give_back = from;
    link->asked = true;
    slots_used_ = from;
    Monitor::Lock lock(monitor_);
    link->number = first_ + static_cast<std::uint32_t>(chain_.size());
    chain_.push_back(std::move(link));
    monitor_.notify_all();
}

void RowSlots::mark(std::uint64_t step) {
    Monitor::Lock lock(monitor_);
    marks_.push_back({step, first_ + static_cast<std::uint32_t>(chain_.size()) - 1, received_});
}

void RowSlots::forget_marks(std::uint64_t step) {
    Monitor::Lock lock(monitor_);
    while (!marks_.empty() && marks_.front().step < step)
        marks_.pop_front();
}

comm::CodedBytes RowSlots::received(std::uint64_t step) {
    Monitor::Lock lock(monitor_);
    const auto found = std::ranges::find(marks_, step, &Mark::step);
    RUDDER_CHECK(found != marks_.end());
    const std::uint32_t link = found->link;
    monitor_.wait(lock, "rows on their way to the buffer",
                  [&] { return failure_ != nullptr || first_ > link; });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return std::ranges::find(marks_, step, &Mark::step)->received;
}

void RowSlots::put(const Link& link) {
    const Span span("keeping rows");
    parallel_chunks(link.puts.size(), put_chunk, [&](const Chunk& chunk) {
        for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
            const Link::Put& row = link.puts[i];
            std::memcpy(slots_.data() + row.slot * row_bytes_,
                        link.landing->rows.data() + row.index * row_bytes_, row_bytes_);
        }
    });
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
