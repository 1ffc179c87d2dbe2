// Writes networks, batches, dropout's masks, scores and gradients as safetensors, for compare.py.
//
//     dump_networks FOLDER [cpu|twin|cuda]    (what computes the gradients; default: cpu)
#include <cstdio>
#include <fstream>

#include "core/json.hpp"
#include "nn/gpu/device_learning.hpp"
#include "nn/network_case.hpp"
#include "rudder/core/error.hpp"
#include "rudder/nn/dropout.hpp"

namespace {

using namespace rudder;
using namespace rudder::testing;

/// Tensors of a file: all floats, which hold the ids and labels here exactly.
class Safetensors {
public:
    template <class Values>
    void add(const std::string& name, const Values& values, std::vector<std::int64_t> shape = {}) {
        if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
        const std::size_t begin = data_.size() * sizeof(float);
        for (const auto value : values)
            data_.push_back(static_cast<float>(value));
        header_[name] = {{"dtype", "F32"},
                         {"shape", shape},
                         {"data_offsets", {begin, data_.size() * sizeof(float)}}};
    }
    void say(const std::string& name, const std::string& value) {
        header_["__metadata__"][name] = value;
    }
    void write(const std::string& path) const {
        const std::string header = header_.dump();
        const std::uint64_t size = header.size();
        std::ofstream file(path, std::ios::binary);
        file.write(reinterpret_cast<const char*>(&size), sizeof size);
        file << header;
        file.write(reinterpret_cast<const char*>(data_.data()),
                   static_cast<std::streamsize>(data_.size() * sizeof(float)));
    }

private:
    Json header_ = Json::object();
    std::vector<float> data_;
};

void add_masks(Safetensors& file, const Case& c) {
    std::size_t rows = c.batch.vertices.size();
    for (std::size_t l = 0; l < c.batch.blocks.size(); ++l) {
        const double rate = l == 0 ? c.options.input_dropout : c.options.dropout;
        const std::size_t columns = l == 0 ? c.options.inputs : c.options.hidden;
        const nn::Dropout dropout({Purpose::dropout, c.options.seed, c.batch.key.epoch,
                                   c.batch.key.step, static_cast<std::uint32_t>(l)},
                                  rate);
        std::vector<float> mask;
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t k = 0; k < columns; ++k)
                mask.push_back(dropout.keeps(c.batch.vertices[r], k) ? dropout.scale : 0.F);
        file.add("mask." + std::to_string(l), mask,
                 {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)});
        rows = c.batch.blocks[l].destinations;
    }
}

/// On the device, or the CPU where there is none.
std::unique_ptr<nn::Network> network_on(const std::shared_ptr<nn::Device>& device,
                                        const nn::NetworkOptions& options) {
    if (device == nullptr) return nn::make_network(options);
    return nn::make_device_learning(device, options, {}).network;
}

void dump(const Case& c, const std::shared_ptr<nn::Device>& device, const std::string& path) {
    const auto network = network_on(device, c.options);
    const auto noise = random_floats(network->weights().size(), 5, 0.3F);
    for (const nn::Parameter& p : network->parameters())
        if (p.trained)
            for (std::size_t i = p.offset; i < p.offset + p.size; ++i)
                network->weights()[i] += noise[i];
    network->weights_written();
    const float weight = 1.F / static_cast<float>(c.batch.seeds);
    const Outcome ours = train_once(*network, c, weight);
    std::vector<float> scores(c.batch.seeds * c.options.outputs);
    network->predict(c.batch, c.rows, scores);
    Safetensors file;
    for (const nn::Parameter& p : network->parameters()) {
        file.add("weight." + p.name, network->weights().subspan(p.offset, p.size), p.shape);
        if (p.trained)
            file.add("gradient." + p.name,
                     std::span<const float>(ours.gradient).subspan(p.offset, p.size), p.shape);
    }
    for (std::size_t l = 0; l < c.batch.blocks.size(); ++l) {
        file.add("offsets." + std::to_string(l), c.batch.blocks[l].offsets);
        file.add("neighbours." + std::to_string(l), c.batch.blocks[l].neighbours);
    }
    add_masks(file, c);
    file.add("degrees", c.batch.degrees);
    file.add("rows", c.rows,
             {static_cast<std::int64_t>(c.batch.vertices.size()),
              static_cast<std::int64_t>(c.options.inputs)});
    file.add("classes", c.classes);
    file.add(
        "scores", scores,
        {static_cast<std::int64_t>(c.batch.seeds), static_cast<std::int64_t>(c.options.outputs)});
    file.add("loss", std::vector<float>{ours.result.loss});
    file.say("model", c.options.model);
    file.say("norm", c.options.norm);
    file.say("residual", c.options.residual ? "yes" : "no");
    file.say("heads", std::to_string(c.options.heads));
    file.write(path);
}

int dump_all(const std::string& folder, const std::string& where) {
    std::shared_ptr<nn::Device> device;
    if (where == "twin") device = nn::make_twin_device();
    if (where == "cuda") device = nn::open_device(0);
    for (const char* model : {"sage", "gcn", "gat", "gatv2"}) {
        for (const char* norm : {"none", "layer", "batch"}) {
            for (const bool residual : {false, true}) {
                nn::NetworkOptions options = small(nn::Objective::classes, 21, 24, 5);
                options.model = model;
                options.norm = norm;
                options.residual = residual;
                options.heads = 3;
                options.dropout = 0.4;
                options.input_dropout = 0.1;
                dump(Case(options, {300, {4, 5, 3}, 50, 10, 8}), device,
                     folder + "/" + model + "-" + norm + (residual ? "-residual" : "") +
                         ".safetensors");
            }
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string where = argc == 3 ? argv[2] : "cpu";
    if (argc < 2 || argc > 3 || (where != "cpu" && where != "twin" && where != "cuda"))
        return std::fputs("usage: dump_networks FOLDER [cpu|twin|cuda]\n", stderr), 2;
    try {
        return dump_all(argv[1], where);
    } catch (const Error& error) {
        return std::fprintf(stderr, "dump_networks: %s\n", error.what()), error.exit_code();
    }
}
