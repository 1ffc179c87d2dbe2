// A loader on a thread of its own, for callers that can be called away while they wait.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "train/loader.hpp"

#include "datasets.hpp"
#include "loader_folder.hpp"
#include "worker.hpp"

namespace rudder::python {

/// What a loader is made of, the same on all ranks.
struct EngineRequest {
    std::string path;     ///< of parts, or of a data set, which is divided into a part per rank
    std::string options;  ///< an object of JSON: options of training by their names
    std::string role = "train";
    bool shuffled = true;
    bool floor = false;  ///< the fewest rows possible are counted
    bool edge_numbers = false;
    FolderRequest folder;
};

/// What callers are told of it.
struct EngineFacts {
    std::uint64_t steps_per_epoch = 0;
    std::uint64_t epochs = 0;
    std::uint64_t parts = 0;  ///< of this rank
    std::uint64_t width = 0;  ///< of feature rows
    std::uint64_t targets = 0;
    std::string target_kind;
    bool links = false;  ///< seeds are links
    bool edge_numbers = false;
    std::uint32_t group = 1;           ///< pairs for each link
    std::vector<NodeType> node_types;  ///< none: the graph has one type
    std::vector<EdgeTypeName> edge_types;
    std::size_t seed_type = 0;  ///< of vertices
    std::size_t link_type = 0;  ///< of edges, where seeds are links
    std::string path;           ///< of the parts
    int rank = 0;
    int size = 1;
};

/// Loaders end with all ranks, whenever the last of these is dropped, in the background.
class Engine {
public:
    /// Collective.
    Engine(const EngineRequest& request, Poll poll);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    [[nodiscard]] const EngineFacts& facts() const noexcept { return facts_; }
    /// Global number of the step that comes next.
    [[nodiscard]] std::uint64_t step() const noexcept { return step_; }
    /// As Loader::next. A caller who was called away gets the step that it waited for next time.
    [[nodiscard]] std::shared_ptr<train::LoadedStep> next(Poll poll);
    /// The loss on an own part of the step taken last; does not wait.
    void note_loss(std::size_t part, float loss);
    void pause(Poll poll);
    /// Nothing more of the epoch is to be drawn; does not wait.
    void leave_epoch();
    void skip_epoch(Poll poll);
    /// An object of JSON.
    [[nodiscard]] std::string stats(Poll poll);
    /// Collective.
    void close(Poll poll);

private:
    struct State;
    std::shared_ptr<State> state_;
    EngineFacts facts_;
    std::uint64_t step_ = 0;
    Worker worker_;
};

}  // namespace rudder::python
