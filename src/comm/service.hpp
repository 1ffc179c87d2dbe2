// Questions that ranks ask each other at any moment, answered by a task of the rank that is asked.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/executor/executor.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/core/raw_vector.hpp"

namespace rudder::comm {

/// One rank's side of a service: answers what others ask, and asks them. Nobody has to call in the
/// same order as anyone else. Questions of steps are answered before those of what is fetched ahead
/// (`requests_ahead`), and evaluation's last; those of one rank and turn in the order they were
/// asked. While answers of half a mebibyte to a rank have not left, its further questions wait, so
/// that answers fill neither memory nor the way of other messages.
///
/// Whoever destroys it must know that no other rank will ask any more (a barrier).
class Service {
public:
    /// Memory that is used for question after question and answer after answer.
    using Bytes = RawVector<std::byte>;
    using Answer = Bytes;
    /// Writes the answer to a question; it is empty at first. Runs in the service's own task, one
    /// question at a time; it may wait. What it throws ends the service and the rank with it
    /// (Transport::fail), since others wait for its answers; `stop` rethrows it.
    using Handler =
        std::function<void(int from, std::span<const std::byte> question, Answer& answer)>;

    /// Takes `channel` and the next ones (service_channels in all).
    Service(const Communicator& comm, Channel channel, Handler handler);
    /// Stops, and drops what the handler threw.
    ~Service();
    Service(Service&&) = delete;

    /// Asks rank `to` (not oneself); the answer must have exactly the size of `answer`, which stays
    /// in place until the request is done. A question of kind `requests` is answered in `features`
    /// (likewise those ahead), any other in its own kind. Safe from any task.
    Request ask(int to, Kind kind, std::vector<std::byte> question,
                std::span<std::byte> answer) const;
    /// The same for a question in memory of the service's.
    Request ask(int to, Kind kind, const std::shared_ptr<Bytes>& question,
                std::span<std::byte> answer) const;
    /// Empty memory for such a question.
    [[nodiscard]] std::shared_ptr<Bytes> memory() const;
    // Where the answer's size is unknown: take it from the request.
    Request ask(int to, Kind kind, std::vector<std::byte> question) const;
    Request ask_message(int to, Kind kind, const std::shared_ptr<Bytes>& question) const;

    /// Ends the task; rethrows what the handler threw. A second call does nothing.
    void stop();

private:
    void send_end();

    struct State;
    std::shared_ptr<State> state_;
    Task task_;
};

}  // namespace rudder::comm
