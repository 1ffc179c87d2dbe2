// The program of every rank: pulls at random, compared with a direct read, accounts closed.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/executor/executor.hpp"
#include "core/executor/queue.hpp"
#include "rudder/core/random.hpp"

#include "suite.hpp"
#include "support/all_sum.hpp"
#include "support/slow_packed_ids.hpp"

namespace rudder::test {

namespace {

/// The whole data set, read directly.
class DirectRows {
public:
    DirectRows(const partition::PartitionedDataset& data, store::Precision precision) {
        PlainRows plain(precision);
        for (const partition::Part& part : data.all_parts()) {
            const graph::FeatureView view = part.features();
            for (VertexId i = 0; i < part.own(); ++i) {
                rows_.push_back(plain_row(view.info, view.row(i), view.scale, precision));
                plain.add(part.range().begin + i, rows_.back());
                non_zeros_.push_back(0);
                const std::size_t size = element_size(view.info.type);
                for (std::size_t at = 0; at < view.row(i).size(); at += size) {
                    const auto element = view.row(i).subspan(at, size);
                    non_zeros_.back() += std::ranges::any_of(
                        element, [](std::byte byte) { return byte != std::byte{0}; });
                }
            }
        }
        if (!store::quantises(data.info().features, precision)) return;
        for (VertexId v = 0; v < rows_.size(); ++v)
            rows_[v] = plain.seen(v);
    }
    [[nodiscard]] bool same(VertexId v, std::span<const float> got) const {
        return std::memcmp(rows_[v].data(), got.data(), got.size_bytes()) == 0;
    }
    /// What these rows take of messages, before they are coded if they may be.
    [[nodiscard]] std::uint64_t message_bytes(const std::set<VertexId>& vertices,
                                              const store::RowFormat& format, bool coded) const {
        const std::uint64_t row_bytes = format.row_bytes();
        if (format.sparse() == nullptr || !coded) return vertices.size() * row_bytes;
        const std::uint64_t head = format.width() < 65'536 ? 2 : 4;
        const std::uint64_t most = *std::ranges::max_element(non_zeros_);
        std::uint64_t bytes = vertices.size() * head;
        for (const VertexId v : vertices)
            bytes += most == 0 ? 0 : non_zeros_[v] * (row_bytes - head) / most;
        return bytes;
    }

private:
    std::vector<std::vector<float>> rows_;
    std::vector<std::uint64_t> non_zeros_;
};

/// One pull's batches, their rows, and what its accounts should say.
struct Wanted {
    std::vector<std::vector<VertexId>> ids;
    std::vector<std::vector<float>> rows;
    std::vector<store::RowsWanted> spans;

    Wanted(Draws& draws, const PullPlan& plan, VertexId vertices, std::size_t row_floats) {
        const std::uint64_t batches = draws.below(4);
        for (std::uint64_t b = 0; b < batches; ++b) {
            auto& batch = ids.emplace_back(draws.below(plan.ids));
            // Sometimes from a few vertices only: many duplicates.
            const VertexId limit = draws.below(3) == 0 ? std::min<VertexId>(5, vertices) : vertices;
            const VertexId first = draws.below(vertices - limit + 1);
            for (VertexId& v : batch)
                v = first + draws.below(limit);
            rows.emplace_back(batch.size() * row_floats, -1.0F);
        }
        for (std::size_t b = 0; b < ids.size(); ++b)
            spans.push_back({ids[b], rows[b]});
    }

    void check_rows(const DirectRows& direct, const store::RowFormat& format) const {
        const std::size_t floats = format.row_floats();
        for (std::size_t b = 0; b < ids.size(); ++b) {
            for (std::size_t i = 0; i < ids[b].size(); ++i) {
                const auto row = std::span(rows[b]).subspan(i * floats, floats);
                require(direct.same(ids[b][i], dense_row(format, row)),
                        fmt::format("row {} of batch {} (vertex {}) differs", i, b, ids[b][i]));
            }
        }
    }

    /// Those of other hosts, each once.
    [[nodiscard]] std::set<VertexId> remote(const store::FeatureStore& store) const {
        std::set<VertexId> distinct;
        for (const auto& batch : ids) {
            for (const VertexId v : batch)
                if (!store.local(v)) distinct.insert(v);
        }
        return distinct;
    }

    void check_accounts(const store::FeatureStore& store, const store::Pulled& accounts) const {
        std::set<VertexId> distinct;
        std::size_t uses = 0;
        for (const auto& batch : ids) {
            distinct.insert(batch.begin(), batch.end());
            uses += batch.size();
        }
        std::uint64_t local = 0;
        std::vector<std::uint64_t> bytes(accounts.bytes_by_owner.size());
        for (const VertexId v : distinct) {
            if (store.local(v)) {
                ++local;
            } else {
                bytes[static_cast<std::size_t>(store.owner(v))] += store.format().row_bytes();
            }
        }
        require(accounts.rows.needed == distinct.size(), "needed is wrong");
        require(accounts.rows.local == local, "local is wrong");
        require(accounts.rows.demand == distinct.size() - local, "demand is wrong");
        require(accounts.rows.saved == uses - distinct.size(), "saved is wrong");
        require(accounts.bytes_by_owner == bytes, "bytes by owner are wrong");
    }
};

/// Rows that a task demanded, and bytes of the questions for them if nobody else set the bulk.
struct Demanded {
    std::uint64_t training = 0;
    std::uint64_t evaluation = 0;
    bool coded = false;
    std::uint64_t training_bytes = 0;
    std::uint64_t evaluation_bytes = 0;
    std::uint64_t training_questions = 0;
    std::uint64_t evaluation_questions = 0;
};

/// Bytes of the questions for these rows of other hosts: ascending, by owner, in pieces.
std::uint64_t question_bytes(const store::FeatureStore& store,
                             const partition::PartitionedDataset& data, int ranks,
                             const std::set<VertexId>& remote) {
    const std::size_t step = store.bulk() != 0
                                 ? store.bulk()
                                 : std::max<std::size_t>(1, 262'144 / store.format().row_bytes());
    std::map<int, std::vector<VertexId>> by_owner;
    for (const VertexId v : remote)
        by_owner[store.owner(v)].push_back(v);
    std::uint64_t bytes = 0;
    for (const auto& [owner, ids] : by_owner) {
        const PartId each = data.parts() / static_cast<PartId>(ranks);
        const VertexId begin = data.book().range(static_cast<PartId>(owner) * each).begin;
        for (std::size_t at = 0; at < ids.size(); at += step) {
            const std::size_t count = std::min(step, ids.size() - at);
            bytes += slow_packed_ids(std::span(ids).subspan(at, count), begin).size();
        }
    }
    return bytes;
}

void pull_some(store::FeatureStore& store, const DirectRows& direct, const PullPlan& plan,
               const partition::PartitionedDataset& data, const comm::Communicator& comm,
               std::uint64_t stream_id, Demanded& demanded) {
    const VertexId vertices = data.info().vertices;
    const RandomStream stream({.purpose = Purpose::test, .seed = plan.seed, .epoch = 77});
    Draws draws(stream, stream_id);
    const std::size_t row_floats = store.format().row_floats();
    for (int i = 0; i < plan.pulls; ++i) {
        const bool evaluation = draws.below(4) == 0;
        const comm::Kind kind = evaluation ? comm::Kind::evaluation : comm::Kind::requests;
        Wanted first(draws, plan, vertices, row_floats);
        Wanted second(draws, plan, vertices, row_floats);
        // Changed while others pull; half of the time as it is unless told otherwise.
        store.set_bulk(draws.below(2) == 0 ? 0 : 1 + draws.below(20));
        for (const Wanted* wanted : {&first, &second}) {
            (evaluation ? demanded.evaluation_questions : demanded.training_questions) +=
                question_bytes(store, data, comm.size(), wanted->remote(store));
            (evaluation ? demanded.evaluation_bytes : demanded.training_bytes) +=
                direct.message_bytes(wanted->remote(store), store.format(), demanded.coded);
        }
        store::Pull a = store.pull(first.spans, kind);
        std::optional<store::Pull> b(store.pull(second.spans, kind));
        // The second is waited for in another task, and before the first.
        Executor::current()
            .spawn("a task that waits for another's pull", [&] { b->wait(); })
            .join();
        require(b->done(), "a pull that was waited for is not done");
        a.wait();
        first.check_rows(direct, store.format());
        second.check_rows(direct, store.format());
        first.check_accounts(store, a.wait());
        second.check_accounts(store, b->wait());
        (evaluation ? demanded.evaluation : demanded.training) +=
            a.wait().rows.demand + b->wait().rows.demand;
    }
}

/// All rows of other hosts in the wire's format.
std::uint64_t fetch_all(const store::FeatureStore& store, const DirectRows& direct,
                        VertexId vertices) {
    std::vector<VertexId> remote;
    for (VertexId v = 0; v < vertices; ++v) {
        if (!store.local(v)) remote.push_back(v);
    }
    const std::size_t row_bytes = store.format().row_bytes();
    std::vector<std::byte> wire(remote.size() * row_bytes);
    store::RemoteFetch fetch = store.fetch(remote, wire);
    fetch.wait();
    require(fetch.done(), "a fetch that was waited for is not done");
    std::vector<float> row(store.format().row_floats());
    for (std::size_t i = 0; i < remote.size(); ++i) {
        const std::byte* wire_row = wire.data() + i * row_bytes;
        float* place = row.data();
        store.format().decode_rows({&wire_row, 1}, {&remote[i], 1}, &place);
        require(direct.same(remote[i], dense_row(store.format(), row)),
                fmt::format("fetched row {} differs", remote[i]));
    }
    return remote.size();
}

std::uint64_t of_kind(const std::array<std::uint64_t, comm::kind_count>& counts, comm::Kind kind) {
    return counts[static_cast<std::size_t>(kind)];
}

/// The transport has moved what the pulls demanded, and nothing else; over all ranks sent equals
/// received. `exact`: nobody changed the bulk between the reckoning and the pull.
void check_totals(const comm::Communicator& comm, const Demanded& demanded, bool exact,
                  const comm::MessageCoder* coder) {
    const comm::AccountTotals totals = comm.accounts();
    const std::uint64_t features = of_kind(totals.received, comm::Kind::features);
    const comm::CodingTotals coded = coder == nullptr ? comm::CodingTotals{} : coder->totals();
    require((coder == nullptr ? features : coded.features.plain) == demanded.training_bytes,
            "features received do not close");
    require(coder == nullptr || coded.features.travelled == features, "coded ones do not close");
    const std::uint64_t asked = of_kind(totals.sent, comm::Kind::requests);
    require(exact ? asked == demanded.training_questions : asked <= demanded.training * 6,
            "requests sent do not close");
    for (const comm::Kind kind :
         {comm::Kind::features, comm::Kind::requests, comm::Kind::evaluation}) {
        const auto sent = static_cast<std::int64_t>(of_kind(totals.sent, kind));
        const auto received = static_cast<std::int64_t>(of_kind(totals.received, kind));
        require(all_sum(comm, sent) == all_sum(comm, received),
                fmt::format("{}: sent and received differ", to_string(kind)));
    }
    const auto number = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
    const std::int64_t evaluated = all_sum(
        comm, number(coder == nullptr ? demanded.evaluation_bytes : coded.evaluation.travelled));
    const std::int64_t questions = all_sum(comm, number(demanded.evaluation_questions));
    const std::int64_t most = all_sum(comm, number(demanded.evaluation * 6));
    const std::int64_t received =
        all_sum(comm, number(of_kind(totals.received, comm::Kind::evaluation)));
    require(exact ? received == evaluated + questions
                  : received >= evaluated && received <= evaluated + most,
            "evaluation does not close");
    require(coder == nullptr || coded.evaluation.plain == demanded.evaluation_bytes,
            "coded evaluation does not close");
}

}  // namespace

void pull_and_check(const comm::Communicator& comm, const PullPlan& plan) {
    const partition::PartitionedDataset data(plan.folder);
    const VertexId vertices = data.info().vertices;
    const DirectRows direct(data, plan.options.precision);
    store::StoreOptions options = plan.options;
    options.coder = comm::Coders(comm, plan.coding).features;
    store::FeatureStore store(comm, data, options);
    std::vector<Demanded> demanded(static_cast<std::size_t>(plan.tasks),
                                   Demanded{.coded = options.coder != nullptr});
    std::vector<Task> tasks;
    for (std::size_t t = 0; t < demanded.size(); ++t) {
        const std::uint64_t stream = static_cast<std::uint64_t>(comm.rank()) * 100 + t;
        tasks.push_back(Executor::current().spawn(
            fmt::format("rank {}: puller {}", comm.rank(), t),
            [&, t, stream] { pull_some(store, direct, plan, data, comm, stream, demanded[t]); }));
    }
    Demanded all;
    // All have ended before anything they use goes.
    std::exception_ptr failure;
    for (Task& task : tasks) {
        try {
            task.join();
        } catch (const std::exception&) {
            failure = std::current_exception();
        }
    }
    if (failure != nullptr) std::rethrow_exception(failure);
    for (const Demanded& some : demanded) {
        all.training += some.training;
        all.evaluation += some.evaluation;
        all.training_bytes += some.training_bytes;
        all.evaluation_bytes += some.evaluation_bytes;
        all.training_questions += some.training_questions;
        all.evaluation_questions += some.evaluation_questions;
    }
    std::set<VertexId> remote;
    for (VertexId v = 0; v < vertices; ++v)
        if (!store.local(v)) remote.insert(v);
    all.training_questions += question_bytes(store, data, comm.size(), remote);
    all.training += fetch_all(store, direct, vertices);
    all.training_bytes += direct.message_bytes(remote, store.format(), options.coder != nullptr);
    store.stop();
    check_totals(comm, all, plan.tasks == 1, options.coder.get());
}

}  // namespace rudder::test
