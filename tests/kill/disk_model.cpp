#include "disk_model.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <utility>

#include "rudder/core/random.hpp"

namespace rudder::test {

namespace fs = std::filesystem;

namespace {

void put(std::string& bytes, std::uint64_t offset, const std::string& more) {
    bytes.resize(std::max<std::size_t>(bytes.size(), offset + more.size()));
    std::ranges::copy(more, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
}

void put(std::map<std::string, int>& names,
         const std::vector<std::pair<std::string, std::optional<int>>>& change) {
    for (const auto& [name, node] : change) {
        if (node) {
            names[name] = *node;
        } else {
            names.erase(name);
        }
    }
}

}  // namespace

DiskModel::DiskModel(std::span<const DiskOp> ops) {
    make(true);
    for (const DiskOp& op : ops)
        apply(op);
}

int DiskModel::make(bool is_folder) {
    nodes_.push_back({.is_folder = is_folder});
    return static_cast<int>(nodes_.size()) - 1;
}

DiskModel::Place DiskModel::place(const std::string& path) const {
    int folder = 0;
    const fs::path whole(path);
    for (const fs::path& name : whole.parent_path())
        folder = nodes_[static_cast<std::size_t>(folder)].names.at(name.string());
    return {folder, whole.filename().string()};
}

int DiskModel::at(const std::string& path) const {
    if (path == ".") return 0;
    const Place found = place(path);
    return nodes_[static_cast<std::size_t>(found.folder)].names.at(found.name);
}

void DiskModel::change(int folder, Change change) {
    Node& node = nodes_[static_cast<std::size_t>(folder)];
    put(node.names, change);
    node.changes.push_back(std::move(change));
}

void DiskModel::move(const DiskOp& op) {
    const Place from = place(op.path);
    const Place to = place(op.other);
    if (from.folder != to.folder) throw std::logic_error("moved between folders: " + op.path);
    const int node = at(op.path);
    if (op.kind == DiskOp::Kind::rename)
        return change(from.folder, {{from.name, std::nullopt}, {to.name, node}});
    change(from.folder, {{from.name, at(op.other)}, {to.name, node}});
}

void DiskModel::apply(const DiskOp& op) {
    using enum DiskOp::Kind;
    if (op.kind == mark) return;
    if (op.kind == rename || op.kind == exchange) return move(op);
    if (op.kind == make_folder || op.kind == create) {
        const Place where = place(op.path);
        return change(where.folder, {{where.name, make(op.kind == make_folder)}});
    }
    if (op.kind == remove) {
        const Place where = place(op.path);
        return change(where.folder, {{where.name, std::nullopt}});
    }
    Node& node = nodes_[static_cast<std::size_t>(at(op.path))];
    if (op.kind == write) {
        put(node.bytes, op.offset, op.bytes);
        node.writes.emplace_back(op.offset, op.bytes);
        return;
    }
    node.flushed_names = node.names;
    node.flushed_bytes = node.bytes;
    node.changes.clear();
    node.writes.clear();
}

void DiskModel::write(const fs::path& folder, Unflushed unflushed, std::uint64_t seed) const {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = seed}), 0);
    const auto some = [&](std::size_t all, bool there) {
        if (unflushed == Unflushed::random) return static_cast<std::size_t>(draws.below(all + 1));
        return there ? all : 0;
    };
    const bool names_there = unflushed == Unflushed::there || unflushed == Unflushed::names ||
                             unflushed == Unflushed::zeros;
    const bool bytes_there = unflushed == Unflushed::there || unflushed == Unflushed::bytes;
    const std::function<void(const fs::path&, const Node&)> put_down = [&](const fs::path& path,
                                                                           const Node& node) {
        if (node.is_folder) {
            fs::create_directories(path);
            Names names = node.flushed_names;
            const std::size_t count = some(node.changes.size(), names_there);
            for (std::size_t i = 0; i < count; ++i)
                put(names, node.changes[i]);
            for (const auto& [name, inner] : names)
                put_down(path / name, nodes_[static_cast<std::size_t>(inner)]);
            return;
        }
        std::string bytes = node.flushed_bytes;
        const std::size_t count = some(node.writes.size(), bytes_there);
        for (std::size_t i = 0; i < count; ++i)
            put(bytes, node.writes[i].first, node.writes[i].second);
        if (unflushed == Unflushed::zeros) bytes.resize(node.bytes.size(), '\0');
        std::ofstream(path, std::ios::binary) << bytes;
    };
    put_down(folder, nodes_.front());
}

}  // namespace rudder::test
