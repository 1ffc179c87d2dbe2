#include "device_choice.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "core/log.hpp"
#include "nn/gpu/device_learning.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::train {

namespace {

constexpr std::string_view cuda_prefix = "cuda:";
constexpr std::uint64_t most_devices = 1024;

/// The GPU of a rank that was not told which: the ranks of a host take them in turn.
int own_ordinal(const comm::Communicator& comm, std::size_t devices) {
    const std::vector<int>& members = comm.hosts().members(comm.hosts().host_of(comm.rank()));
    const auto place = std::ranges::find(members, comm.rank()) - members.begin();
    return static_cast<int>(static_cast<std::size_t>(place) % std::max<std::size_t>(devices, 1));
}

std::function<std::shared_ptr<nn::Device>()>& lent() {
    static std::function<std::shared_ptr<nn::Device>()> make;
    return make;
}

/// Why no GPU at all trains with them; empty: one may.
std::string refusal_of(const TrainOptions& options) {
    if (options.task != TaskKind::vertex) return "links and edges are not trained on a GPU";
    if (options.edge_features) return "features of edges are not read on a GPU";
    if (!options.embeddings.empty()) return "rows are not learned on a GPU";
    return {};
}

/// Why no GPU here can train it; empty: one can.
std::string reason_against(const TrainOptions& options, const nn::NetworkOptions& network) {
    if (std::string refusal = refusal_of(options); !refusal.empty()) return refusal;
    if (std::string refusal = nn::refusal_on_device(network); !refusal.empty()) return refusal;
    return lent() ? "" : nn::find_devices().missing;
}

std::shared_ptr<nn::Device> open_asked(const Ground& ground, const DeviceChoice& choice,
                                       const nn::NetworkOptions& network) {
    if (const std::string refusal = nn::refusal_on_device(network); !refusal.empty()) {
        throw usage_error(refusal, "--device", "leave --device out, or give --device auto");
    }
    if (lent()) return lent()();
    const std::size_t devices = nn::find_devices().devices.size();
    return nn::open_device(choice.ordinal.value_or(own_ordinal(ground.comm, devices)));
}

}  // namespace

void lend_device(std::function<std::shared_ptr<nn::Device>()> make) {
    lent() = std::move(make);
}

DeviceChoice parse_device(std::string_view text) {
    using Kind = DeviceChoice::Kind;
    if (text == "cpu") return {};
    if (text == "auto") return {.kind = Kind::choose};
    if (text == "cuda") return {.kind = Kind::cuda};
    if (text.starts_with(cuda_prefix)) {
        const auto number = parse_u64(text.substr(cuda_prefix.size()));
        if (number && *number < most_devices)
            return {.kind = Kind::cuda, .ordinal = static_cast<int>(*number)};
    }
    throw usage_error(fmt::format("invalid device: '{}'", text), "device",
                      "give cpu, auto, cuda or cuda:N with N from 0 on");
}

std::vector<std::string_view> device_names() {
    return {"cpu", "auto", "cuda", cuda_prefix};
}

void check_device_options(const TrainOptions& options) {
    if (parse_device(options.device).kind != DeviceChoice::Kind::cuda) return;
    if (std::string refusal = refusal_of(options); !refusal.empty()) {
        throw usage_error(std::move(refusal), "device",
                          "leave --device out, or give --device auto, which takes the processor");
    }
}

std::shared_ptr<nn::Device> choose_device(const Ground& ground, const nn::NetworkOptions& network) {
    using Kind = DeviceChoice::Kind;
    const DeviceChoice choice = parse_device(ground.options.device);
    std::shared_ptr<nn::Device> device;
    if (choice.kind == Kind::cpu) return device;
    if (choice.kind == Kind::cuda) {
        comm::do_together(ground.comm, [&] { device = open_asked(ground, choice, network); });
        return device;
    }
    const std::string reason = reason_against(ground.options, network);
    const bool everywhere = ground.comm.all_min(reason.empty() ? 1 : 0) == 1;
    if (everywhere)
        comm::do_together(ground.comm, [&] { device = open_asked(ground, choice, network); });
    if (ground.comm.rank() != 0) return device;
    if (everywhere) {
        const nn::DeviceFacts facts = device->facts();
        log::info(fmt::format("device auto: trains on cuda:{} ({}), products by {}", facts.ordinal,
                              facts.name, facts.products));
    } else {
        log::info(fmt::format("device auto: trains on the processor: {}",
                              reason.empty() ? "another rank has no GPU" : reason));
    }
    return device;
}

}  // namespace rudder::train
