// Schemas of TOML, checked key by key: each table has a list of the keys it knows.
#include "schema.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "graph/graph_types.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"

namespace rudder::graph {

namespace {

constexpr std::uint64_t schema_limit = 4 << 20;
constexpr std::array<std::string_view, 3> missing_words{"refuse", "zero", "mean"};
constexpr std::array<std::string_view, 3> feature_words{"number", "category", "list"};
constexpr std::array<std::string_view, 3> label_words{"class", "multilabel", "number"};
constexpr std::array<std::string_view, 2> id_words{"integer", "text"};

/// Where a schema is being read, for messages.
class SchemaReader {
public:
    explicit SchemaReader(std::string file) : file_(std::move(file)) {}

    [[nodiscard]] Error fault(const toml::node& node, std::string what, std::string remedy) const {
        return input_error(std::move(what),
                           fmt::format("{}, line {}", file_, node.source().begin.line),
                           std::move(remedy));
    }

    [[nodiscard]] std::string text(const toml::node& node, std::string_view key) const {
        if (const auto* value = node.as_string()) return value->get();
        throw fault(node, fmt::format("invalid value of '{}': not a text", key),
                    "write it in quotes");
    }

    [[nodiscard]] std::vector<std::string> texts(const toml::node& node,
                                                 std::string_view key) const {
        const auto* list = node.as_array();
        if (list == nullptr) return {text(node, key)};
        std::vector<std::string> all;
        for (const toml::node& item : *list)
            all.push_back(text(item, key));
        return all;
    }

    template <class Enum, std::size_t N>
    [[nodiscard]] Enum word(const toml::node& node, std::string_view key,
                            const std::array<std::string_view, N>& words) const {
        const std::string value = text(node, key);
        const auto found = std::ranges::find(words, value);
        if (found != words.end()) return static_cast<Enum>(found - words.begin());
        throw fault(node, fmt::format("invalid {}: '{}'", key, value),
                    fmt::format("use {}", join(words, ", ")));
    }

    /// Calls the reader of each key; an unknown key is refused.
    using Key = std::pair<std::string_view, std::function<void(const toml::node&)>>;
    void keys(const toml::table& table, const std::vector<Key>& known) const {
        for (const auto& [name, node] : table) {
            const std::string_view key = name.str();
            const auto found = std::ranges::find(known, key, &Key::first);
            if (found != known.end()) {
                found->second(node);
                continue;
            }
            std::vector<std::string_view> words;
            for (const Key& one : known)
                words.push_back(one.first);
            const auto meant = nearest(key, words);
            throw fault(node, fmt::format("unknown key '{}'", key),
                        fmt::format("{}known are: {}",
                                    meant ? fmt::format("did you mean '{}'? ", *meant) : "",
                                    join(words, ", ")));
        }
    }

    [[nodiscard]] FeatureColumn feature(const toml::node& node) const {
        FeatureColumn column;
        if (const auto* name = node.as_string()) {
            column.column = name->get();
            return column;
        }
        const auto* table = node.as_table();
        if (table == nullptr) {
            throw fault(node, "invalid feature: neither a text nor a table",
                        "write \"NAME\" or {column = \"NAME\", kind = \"category\"}");
        }
        keys(*table, {{"column", [&](const toml::node& n) { column.column = text(n, "column"); }},
                      {"kind",
                       [&](const toml::node& n) {
                           // A text of numbers and a list are read alike.
                           const bool numbers = text(n, "kind") == "numbers";
                           column.kind = numbers ? FeatureKind::list
                                                 : word<FeatureKind>(n, "kind", feature_words);
                       }},
                      {"missing",
                       [&](const toml::node& n) {
                           column.missing = word<MissingValues>(n, "missing", missing_words);
                       }},
                      {"encode", [&](const toml::node& n) { encoding(n); }}});
        if (column.column.empty())
            throw fault(node, "a feature has no column", "add column = \"NAME\"");
        if (column.kind == FeatureKind::category && column.missing == MissingValues::mean) {
            throw fault(node, "invalid missing: 'mean' of a category",
                        "use zero (a row of zeroes) or refuse");
        }
        return column;
    }

    [[nodiscard]] std::vector<FeatureColumn> features(
        const toml::node& node, const std::optional<MissingValues>& missing) const {
        const auto* list = node.as_array();
        if (list == nullptr) {
            throw fault(node, "invalid features: not a list",
                        "write features = [\"NAME\", {column = \"NAME\", kind = \"category\"}]");
        }
        std::vector<FeatureColumn> all;
        for (const toml::node& item : *list) {
            FeatureColumn column = feature(item);
            const bool mean_of_category =
                column.kind == FeatureKind::category && missing == MissingValues::mean;
            if (!column.missing && !mean_of_category) column.missing = missing;
            all.push_back(std::move(column));
        }
        return all;
    }

    [[nodiscard]] std::vector<LabelColumn> label(const toml::node& node) const {
        if (const auto* name = node.as_string()) return {{.column = name->get()}};
        const auto* table = node.as_table();
        if (table == nullptr) {
            throw fault(node, "invalid label: neither a text nor a table",
                        "write \"NAME\" or {column = \"NAME\", kind = \"multilabel\"}");
        }
        LabelColumn label;
        std::vector<std::string> columns;
        keys(*table,
             {{"column", [&](const toml::node& n) { columns = texts(n, "column"); }},
              {"columns", [&](const toml::node& n) { columns = texts(n, "columns"); }},
              {"kind",
               [&](const toml::node& n) { label.kind = word<LabelKind>(n, "kind", label_words); }},
              {"none", [&](const toml::node& n) { label.none = texts(n, "none"); }},
              {"separator", [&](const toml::node& n) { label.separator = text(n, "separator"); }}});
        if (columns.empty()) throw fault(node, "a label has no column", "add column = \"NAME\"");
        if (label.separator.empty())
            throw fault(node, "invalid separator: ''", "use a text such as \";\"");
        if (columns.size() > 1) {
            if (label.kind && *label.kind != LabelKind::number) {
                throw fault(node, "several label columns are numbers, not classes",
                            "name one column, or say kind = \"number\"");
            }
            label.kind = LabelKind::number;
        }
        std::vector<LabelColumn> all;
        for (std::string& column : columns) {
            all.push_back(label);
            all.back().column = std::move(column);
        }
        return all;
    }

    /// What becomes of empty cells of a table's features, where it says so.
    [[nodiscard]] std::optional<MissingValues> missing_of(const toml::table& table) const {
        const auto* node = table.get("missing");
        if (node == nullptr) return std::nullopt;
        return word<MissingValues>(*node, "missing", missing_words);
    }

    /// A key whose text goes to `into`.
    [[nodiscard]] Key put(std::string_view key, std::string& into) const {
        return {key, [this, key, &into](const toml::node& n) { into = text(n, key); }};
    }

    [[nodiscard]] VertexTable vertices(const toml::table& table) const {
        VertexTable made;
        const std::optional<MissingValues> missing = missing_of(table);
        keys(table,
             {put("type", made.type),
              {"files", [&](const toml::node& n) { made.files = texts(n, "files"); }},
              put("id", made.id),
              {"id_kind",
               [&](const toml::node& n) { made.id_kind = word<IdKind>(n, "id_kind", id_words); }},
              {"features", [&](const toml::node& n) { made.features = features(n, missing); }},
              {"missing", [](const toml::node& /*read above*/) {}},
              {"label", [&](const toml::node& n) { made.label = label(n); }},
              put("split", made.split),
              put("time", made.time)});
        need_files(table, made.files);
        return made;
    }

    [[nodiscard]] EdgeTable edges(const toml::table& table) const {
        EdgeTable made;
        const std::optional<MissingValues> missing = missing_of(table);
        keys(table,
             {put("type", made.type),
              {"files", [&](const toml::node& n) { made.files = texts(n, "files"); }},
              put("from", made.from),
              put("to", made.to),
              put("source", made.source),
              put("target", made.target),
              put("weight", made.weight),
              put("time", made.time),
              {"features", [&](const toml::node& n) { made.features = features(n, missing); }},
              {"missing", [](const toml::node& /*read above*/) {}},
              {"label", [&](const toml::node& n) { made.label = label(n); }},
              put("split", made.split)});
        need_files(table, made.files);
        return made;
    }

    /// The tables of [[name]].
    template <class F>
    void tables(const toml::node& node, std::string_view name, F&& each) const {
        const auto* list = node.as_array();
        const bool good = list != nullptr && std::ranges::all_of(*list, [](const toml::node& item) {
                              return item.is_table();
                          });
        if (!good) {
            throw fault(node, fmt::format("invalid '{}': not a list of tables", name),
                        fmt::format("write [[{}]]", name));
        }
        for (const toml::node& item : *list)
            each(*item.as_table());
    }

    /// Refuses a type that is there twice, and in schemas of several types names that could not be
    /// told in options.
    template <class Tables>
    void check_names(const Tables& tables, std::string_view kind, const std::string& where) const {
        for (std::size_t i = 0; i < tables.size(); ++i) {
            const std::string& name = tables[i].type;
            check_type_name(name, where);
            const auto earlier = tables.begin() + static_cast<std::ptrdiff_t>(i);
            if (std::ranges::find(tables.begin(), earlier, name, &Tables::value_type::type) ==
                earlier) {
                continue;
            }
            throw input_error(fmt::format("two tables are of the type of {} '{}'", kind, name),
                              where, "give each table a type of its own");
        }
    }

    /// Refuses edges whose types of vertices have no table.
    void check_types(const TableSchema& schema, const toml::table& edges,
                     const EdgeTable& made) const {
        if (schema.vertices.size() > 1 && (made.from.empty() || made.to.empty())) {
            throw fault(
                edges,
                fmt::format("edges of type '{}' do not say which vertices they join", made.type),
                "add from = \"TYPE\" and to = \"TYPE\"");
        }
        for (const std::string& type : {made.from, made.to}) {
            if (type.empty() || std::ranges::find(schema.vertices, type, &VertexTable::type) !=
                                    schema.vertices.end()) {
                continue;
            }
            throw fault(edges,
                        fmt::format("edges of type '{}' join vertices of type '{}', which has no "
                                    "table",
                                    made.type, type),
                        "add [[vertices]] of that type, or correct from and to");
        }
    }

private:
    void encoding(const toml::node& node) const {
        const std::string value = text(node, "encode");
        if (value == "onehot") return;
        if (value == "learnable") {
            throw fault(node, "learnable categories are not supported yet",
                        "use encode = \"onehot\"");
        }
        throw fault(node, fmt::format("invalid encode: '{}'", value), "use onehot");
    }

    void need_files(const toml::table& table, const std::vector<std::string>& files) const {
        if (files.empty()) throw fault(table, "a table has no files", "add files = \"NAME.csv\"");
    }

    std::string file_;
};

std::string quoted(const std::string& text) {
    std::ostringstream out;
    if (text.find('\n') == std::string::npos) {
        out << toml::value<std::string>(text);
        return out.str();
    }
    // In one line: a string over several loses a line end at its beginning.
    std::string escaped = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) {
            escaped += fmt::format("\\u{:04x}", byte);
        } else {
            if (c == '"' || c == '\\') escaped += '\\';
            escaped += c;
        }
    }
    return escaped + "\"";
}

std::string quoted_list(const std::vector<std::string>& texts) {
    if (texts.size() == 1) return quoted(texts.front());
    std::string list;
    for (const std::string& text : texts)
        list += (list.empty() ? "[" : ", ") + quoted(text);
    return list + "]";
}

std::string feature_text(const std::vector<FeatureColumn>& features) {
    if (features.empty()) return {};
    std::string text = "features = [\n";
    for (const FeatureColumn& feature : features) {
        text += "    {column = " + quoted(feature.column);
        if (feature.kind) {
            text += fmt::format(", kind = \"{}\"",
                                feature_words[static_cast<std::size_t>(*feature.kind)]);
        }
        if (feature.missing) {
            text += fmt::format(", missing = \"{}\"",
                                missing_words[static_cast<std::size_t>(*feature.missing)]);
        }
        text += "},\n";
    }
    return text + "]\n";
}

std::string label_text(const std::vector<LabelColumn>& label) {
    if (label.empty()) return {};
    std::vector<std::string> columns;
    for (const LabelColumn& one : label)
        columns.push_back(one.column);
    std::string text = fmt::format("label = {{column = {}", quoted_list(columns));
    const LabelColumn& first = label.front();
    if (first.kind)
        text += fmt::format(", kind = \"{}\"", label_words[static_cast<std::size_t>(*first.kind)]);
    if (!first.none.empty()) text += fmt::format(", none = {}", quoted_list(first.none));
    if (first.separator != ";") text += fmt::format(", separator = {}", quoted(first.separator));
    return text + "}\n";
}

}  // namespace

TableSchema parse_schema(std::string_view text, const std::filesystem::path& file) {
    toml::table root;
    try {
        root = toml::parse(text, file.string());
    } catch (const toml::parse_error& error) {
        throw input_error(fmt::format("not valid TOML: {}", error.description()),
                          fmt::format("{}, line {}, column {}", file.string(),
                                      error.source().begin.line, error.source().begin.column),
                          "correct the line");
    }
    const SchemaReader reader(file.string());
    TableSchema schema;
    schema.base = file.parent_path();
    const toml::node* edges = nullptr;
    reader.keys(root, {{"vertices",
                        [&](const toml::node& node) {
                            reader.tables(node, "vertices", [&](const toml::table& table) {
                                schema.vertices.push_back(reader.vertices(table));
                            });
                        }},
                       {"edges", [&](const toml::node& node) { edges = &node; }}});
    if (edges != nullptr) {
        reader.tables(*edges, "edges", [&](const toml::table& table) {
            schema.edges.push_back(reader.edges(table));
            reader.check_types(schema, table, schema.edges.back());
        });
    }
    if (schema.vertices.empty() || schema.edges.empty()) {
        throw input_error(
            fmt::format("the schema has no [[{}]]", schema.vertices.empty() ? "vertices" : "edges"),
            file.string(), "describe at least one table of vertices and one of edges");
    }
    if (schema.vertices.size() > 1 || schema.edges.size() > 1) {
        reader.check_names(schema.vertices, "vertices", file.string());
        reader.check_names(schema.edges, "edges", file.string());
    }
    return schema;
}

TableSchema read_schema(const std::filesystem::path& file) {
    return parse_schema(read_text(file, schema_limit), file);
}

std::string schema_text(const TableSchema& schema) {
    std::string text =
        "# What the tables mean; read it back with 'rudder import schema.toml OUT'.\n";
    const auto put = [&](std::string_view key, const std::string& value) {
        if (!value.empty()) text += fmt::format("{} = {}\n", key, quoted(value));
    };
    for (const VertexTable& table : schema.vertices) {
        text += "\n[[vertices]]\n";
        put("type", table.type);
        text += fmt::format("files = {}\n", quoted_list(table.files));
        put("id", table.id);
        if (table.id_kind) {
            text += fmt::format("id_kind = \"{}\"\n",
                                id_words[static_cast<std::size_t>(*table.id_kind)]);
        }
        text += feature_text(table.features);
        text += label_text(table.label);
        put("split", table.split);
        put("time", table.time);
    }
    for (const EdgeTable& table : schema.edges) {
        text += "\n[[edges]]\n";
        put("type", table.type);
        text += fmt::format("files = {}\n", quoted_list(table.files));
        put("from", table.from);
        put("to", table.to);
        put("source", table.source);
        put("target", table.target);
        put("weight", table.weight);
        put("time", table.time);
        text += feature_text(table.features);
        text += label_text(table.label);
        put("split", table.split);
    }
    return text;
}

}  // namespace rudder::graph
