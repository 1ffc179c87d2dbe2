// rudder doctor: what this build and this machine can do, what is wrong, and how to fix it.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/bind_options.hpp"
#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "cli/train_settings.hpp"
#include "cli/verb.hpp"
#include "comm/measure.hpp"
#include "comm/mpi_transport.hpp"
#include "core/build_parts.hpp"
#include "core/json.hpp"
#include "core/system.hpp"
#include "nn/gpu/device.hpp"
#include "nn/simd.hpp"
#include "partition/metis_partitioner.hpp"
#include "partition/share.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/text.hpp"
#include "rudder/core/version.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/run/ranks.hpp"
#include "store/column_facts.hpp"

namespace rudder::cli {

namespace {

/// One thing looked at. `remedy` is set where something is to be fixed.
struct Finding {
    std::string name;
    std::string status;  ///< ok, warning or missing
    std::string value;
    std::string remedy;
};

std::string find_on_path(const std::string& program) {
    const char* path = std::getenv("PATH");
    if (path == nullptr) return {};
    for (const std::string_view folder : split(path, ':')) {
        const auto file = std::filesystem::path(folder) / program;
        std::error_code code;
        if (std::filesystem::exists(file, code)) return file.string();
    }
    return {};
}

Finding check_build() {
    const BuildInfo build = build_info();
    return {"build", "ok",
            fmt::format("rudder {}, {}, {}, checks {}{}{}", build.version, build.compiler,
                        build.build_type, build.checks, build.sanitizers.empty() ? "" : ", ",
                        build.sanitizers),
            build.build_type == "Release" ? "" : "for speed configure with the preset 'release'"};
}

Finding check_processor() {
    const CpuInfo cpu = cpu_info();
    std::vector<std::string_view> features(cpu.features.begin(), cpu.features.end());
    return {"processor", "ok",
            fmt::format("{}, {} usable cores, {}", cpu.model, usable_cores(),
                        features.empty() ? "no vector extensions" : join(features, " ")),
            ""};
}

Finding check_memory() {
    const MemoryInfo memory = memory_info();
    const bool low = memory.available < memory.total / 10;
    return {"memory", low ? "warning" : "ok",
            fmt::format("{} of {} available", format_bytes(memory.available),
                        format_bytes(memory.total)),
            low ? "end other programs, or work on a smaller graph" : ""};
}

Finding check_shared_memory() {
    struct statvfs status {};
    if (::statvfs("/dev/shm", &status) != 0) {
        return {"shared memory", "missing", "/dev/shm cannot be read",
                "mount a tmpfs at /dev/shm; ranks of one host share data there"};
    }
    const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
    const bool low = free < (std::uint64_t{256} << 20);
    return {
        "shared memory", low ? "warning" : "ok",
        fmt::format("{} free in /dev/shm", format_bytes(free)),
        low ? "enlarge it (mount -o remount,size=50% /dev/shm), or --shm-size for containers" : ""};
}

Finding check_open_files() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const bool low = limit.rlim_cur < 1024;
    return {"open files", low ? "warning" : "ok", fmt::format("{}", limit.rlim_cur),
            low ? "raise the limit: ulimit -n 4096" : ""};
}

Finding check_mpi() {
    const BuildInfo build = build_info();
    const std::string launcher = find_on_path("mpirun");
    if (!build.mpi.empty() && !launcher.empty()) {
        return {"MPI", "ok", fmt::format("{}, {}", build.mpi, launcher), ""};
    }
    return {"MPI", "missing",
            build.mpi.empty() ? "this build was made without MPI" : "no mpirun on the PATH",
            build.mpi.empty() ? "build with -DRUDDER_MPI=ON" : "run 'make setup'"};
}

/// What holds while it runs, and why; `torch_settings` of the JSON, named when torch multiplied.
struct RuntimeSetting {
    std::string_view name;
    std::string_view value;
    std::string_view reason;
};
std::array<RuntimeSetting, 3> runtime_settings() {
    return {{{"matrix products", "built in", "no library to install, load or configure"},
             {"threads of a matrix product", "1",
              "loops over chunks are ours, so that results never depend on the number of threads"},
             {"vector path", to_string(nn::vector_path()),
              "the widest of this processor; all give the same bits"}}};
}

Finding check_products() {
    const bool slow = nn::vector_path() == nn::VectorPath::portable;
    return {"matrix products", slow ? "warning" : "ok",
            fmt::format("built in, {}, one thread each", to_string(nn::vector_path())),
            slow ? "this processor has no AVX2 with FMA: training is very slow here" : ""};
}

std::string nvidia_driver() {
    std::ifstream driver("/proc/driver/nvidia/version");
    std::string line;
    std::getline(driver, line);
    return line;
}

/// Who multiplies matrices there, found out by opening it.
std::string products_of(int ordinal) {
    try {
        return nn::open_device(ordinal)->facts().products;
    } catch (const Error& error) {
        return error.problem();
    }
}

Finding check_gpu() {
    const nn::DevicesFound found = nn::find_devices();
    if (found.missing.empty()) {
        std::string all;
        for (const nn::DeviceFacts& each : found.devices) {
            all += fmt::format("{}cuda:{} {}, compute capability {}, {} of {} free, products by {}",
                               all.empty() ? "" : "; ", each.ordinal, each.name, each.capability,
                               format_bytes(each.free), format_bytes(each.memory),
                               products_of(each.ordinal));
        }
        return {"GPU", "ok",
                fmt::format("{}; driver for CUDA {}; kernels for {}", all, found.driver,
                            found.architectures),
                ""};
    }
    const std::string driver = nvidia_driver();
    if (driver.empty() && found.devices.empty()) {
        return {"GPU", "ok", fmt::format("none; Rudder trains on the CPU ({})", found.missing), ""};
    }
    return {"GPU", "missing",
            fmt::format("GPU not used: Rudder trains on the CPU: {} ({})", found.missing, driver),
            found.built_in ? "install a driver that knows this build's CUDA, or rebuild for the GPU"
                           : "rebuild with -DRUDDER_CUDA=ON where nvcc is installed"};
}

Finding check_metis() {
    constexpr VertexId tiny = 1000;
    const auto refusal = partition::metis_refusal(tiny, 1ULL << 31, 1, ~std::uint64_t{0});
    if (!built_in("METIS")) return {"METIS", "ok", "this build has none; use --method ldg", ""};
    return {"METIS", "ok",
            refusal ? "32-bit ids: up to 2,147,483,647 stored edges; beyond that use --method ldg"
                    : "64-bit ids",
            ""};
}

/// What was built in, and what was left out.
Finding check_parts() {
    Finding finding{"parts", "ok", "", ""};
    for (const BuildPart& part : build_parts()) {
        finding.value += fmt::format("{}{} {}", finding.value.empty() ? "" : ", ", part.name,
                                     part.built_in ? "built in" : "not built in");
        if (part.built_in) continue;
        finding.status = "missing";
        finding.remedy += fmt::format("{}for {} rebuild with {}",
                                      finding.remedy.empty() ? "" : "; ", part.use, part.package);
    }
    return finding;
}

/// What is found when several ranks look together.
struct RankFindings {
    std::vector<Finding> findings;
    Json json;
    std::string table;
};

Finding check_binding(const comm::Communicator& comm) {
    // A rank bound to fewer cores than the machine has, while ranks of its host have the same ones.
    const std::int64_t least = comm.all_min(usable_cores());
    const auto online = static_cast<std::int64_t>(::sysconf(_SC_NPROCESSORS_ONLN));
    const bool bound = least < online && comm.size() < online;
    return {"binding", bound ? "warning" : "ok",
            fmt::format("{} ranks on {} hosts, at least {} of {} cores each", comm.size(),
                        comm.hosts().hosts(), least, online),
            bound ? "ranks are bound to few cores; start mpirun with --bind-to none" : ""};
}

RankFindings examine_ranks(const comm::Communicator& comm) {
    RankFindings found;
    const double barrier = comm::measure_barrier_us(comm);
    const std::vector<comm::PairFigures> pairs = comm::measure_pairs(comm);
    found.findings.push_back(check_binding(comm));
    const bool slow = barrier > 2000;
    found.findings.push_back(
        {"barrier", slow ? "warning" : "ok",
         fmt::format("{:.0f} us over {} ranks, {}", barrier, comm.size(),
                     comm::MpiSession::library()),
         slow ? "ranks hold the cores while they wait: give mpirun '--mca mpi_yield_when_idle 1', "
                "or start fewer ranks"
              : ""});
    Table table({"ranks", "latency us", "Mbit/s"});
    Json list = Json::array();
    std::vector<double> latencies;
    std::vector<double> rates;
    for (const comm::PairFigures& pair : pairs) {
        table.add({fmt::format("{}-{}", pair.first, pair.second),
                   fmt::format("{:.1f}", pair.latency_us), fmt::format("{:.0f}", pair.mbit_s)});
        list.push_back({{"ranks", {pair.first, pair.second}},
                        {"latency_us", pair.latency_us},
                        {"mbit_s", pair.mbit_s}});
        latencies.push_back(pair.latency_us);
        rates.push_back(pair.mbit_s);
    }
    std::ranges::sort(latencies);
    std::ranges::sort(rates);
    found.json = {{"ranks", comm.size()},
                  {"hosts", comm.hosts().hosts()},
                  {"latency_us", latencies[latencies.size() / 2]},
                  {"mbit_s", rates[rates.size() / 2]},
                  {"barrier_us", barrier},
                  {"pairs", list}};
    found.table = "\n" + table.text();
    return found;
}

// ---- what precisions do to the rows ------------------------------------------------------------

std::string text_of(const store::ColumnError& error) {
    return fmt::format("{:.2g} (column {})", error.of_spread, error.column);
}

Finding finding_of(const store::PrecisionErrors& found) {
    const std::string name = fmt::format("--precision {}", to_string(found.precision));
    if (!found.refused.empty()) return {name, "warning", found.refused, "choose another precision"};
    const store::ColumnError& worst = found.errors.root_mean_square;
    const bool much = worst.of_spread > store::bearable_error(found.precision);
    return {name, much ? "warning" : "ok",
            fmt::format("rows of {} bytes; of a column's spread, errors are up to {}, "
                        "root mean square {}",
                        found.row_bytes, text_of(found.errors.largest), text_of(worst)),
            much ? fmt::format("column {} has outliers: choose another precision, or limit its "
                               "values before import",
                               worst.column)
                 : ""};
}

Json json_of(const store::ColumnError& error) {
    return {{"column", error.column}, {"of_spread", error.of_spread}};
}

Json json_of(std::span<const store::PrecisionErrors> all) {
    Json json = Json::object();
    for (const store::PrecisionErrors& found : all) {
        Json& each = json[std::string(to_string(found.precision))];
        each = found.refused.empty()
                   ? Json{{"row_bytes", found.row_bytes},
                          {"largest_error", json_of(found.errors.largest)},
                          {"root_mean_square_error", json_of(found.errors.root_mean_square)}}
                   : Json{{"refused", found.refused}};
    }
    return json;
}

std::uint64_t manifest_checksum(const graph::ArrayFolder& folder) {
    const std::string text = folder.manifest().dump();
    return hash_bytes(std::as_bytes(std::span(text)));
}

class DoctorVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "doctor"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Check this build and this machine, and say what to fix";
    }
    [[nodiscard]] std::string_view example() const override { return "rudder doctor --ranks 2"; }
    void define(CLI::App& app) override {
        offer_folders(
            *app.add_option("PARTS", data_, "Partition whose parts each rank opens and reads"));
        bind_ranks(app, ranks_, HelpListing::all);
    }

    int run(const Context& context) override {
        ranks_.arguments = context.arguments;
        comm::Fingerprint fingerprint{{"verb", "doctor"}};
        if (!data_.empty()) {
            const partition::PartitionedDataset data(data_);
            ranks_.parts = data.parts();
            fingerprint.emplace_back("data", to_hex(manifest_checksum(data.folder())));
        }
        return run::run_ranked(ranks_, fingerprint, [&](const comm::Communicator& comm) {
            return examine(comm, context);
        });
    }

private:
    int examine(const comm::Communicator& comm, const Context& context) const {
        std::vector<Finding> findings{check_build(),         check_processor(),  check_memory(),
                                      check_shared_memory(), check_open_files(), check_mpi(),
                                      check_products(),      check_gpu(),        check_metis(),
                                      check_parts()};
        Json json = Json::object();
        if (!data_.empty()) check_data(comm, findings, json);
        std::string pairs;
        if (comm.size() > 1) {
            run::share_cores(comm, context.threads);
            const RankFindings ranks = examine_ranks(comm);
            findings.insert(findings.end(), ranks.findings.begin(), ranks.findings.end());
            json.update(ranks.json);
            pairs = ranks.table;
        }
        if (comm.rank() != 0) return 0;
        if (context.json) {
            Json whole = to_json(findings);
            whole.update(json);
            print_json(whole);
        } else {
            print_text(to_text(findings) + pairs);
        }
        return 0;
    }

    /// Every rank opens what it would hold; one that cannot ends the job and is named.
    void check_data(const comm::Communicator& comm, std::vector<Finding>& findings,
                    Json& json) const {
        const partition::PartitionedDataset data(data_);
        const partition::PartShare share =
            partition::share_of(data.parts(), comm.size(), comm.rank());
        std::vector<partition::Part> parts;
        for (PartId p = share.first; p < share.last; ++p)
            parts.push_back(data.part(p));
        findings.push_back({"data", "ok",
                            fmt::format("{}: {} parts, {} on each rank, opened by all", data_,
                                        data.parts(), share.last - share.first),
                            ""});
        if (!data.info().features.present()) return;
        const auto errors =
            store::precision_errors({comm, data.book(), parts}, data.folder().manifest_path());
        for (const store::PrecisionErrors& found : errors)
            findings.push_back(finding_of(found));
        json["precisions"] = json_of(errors);
    }

    static Json to_json(const std::vector<Finding>& findings) {
        Json json = {{"version", version()}, {"cores", usable_cores()}};
        const MemoryInfo memory = memory_info();
        json["memory"] = {{"total", memory.total}, {"available", memory.available}};
        Json& gpus = json["gpus"] = Json::array();
        for (const nn::DeviceFacts& each : nn::find_devices().devices) {
            gpus.push_back({{"device", fmt::format("cuda:{}", each.ordinal)},
                            {"name", each.name},
                            {"compute_capability", each.capability},
                            {"memory", each.memory},
                            {"free", each.free}});
        }
        json["instruction_sets"] = cpu_info().features;
        Json& settings = json["torch_settings"] = Json::array();
        for (const RuntimeSetting& s : runtime_settings())
            settings.push_back({{"name", s.name}, {"value", s.value}, {"reason", s.reason}});
        Json& parts = json["parts"] = Json::object();
        for (const BuildPart& part : build_parts())
            parts[std::string(part.name)] = part.built_in;
        Json& list = json["findings"] = Json::array();
        for (const Finding& f : findings) {
            list.push_back(
                {{"name", f.name}, {"status", f.status}, {"value", f.value}, {"remedy", f.remedy}});
        }
        return json;
    }

    static std::string to_text(const std::vector<Finding>& findings) {
        Table table({"what", "state", "found"});
        std::string remedies;
        for (const Finding& f : findings) {
            table.add({f.name, f.status, f.value});
            if (!f.remedy.empty()) remedies += fmt::format("{}: {}\n", f.name, f.remedy);
        }
        std::string reasons;
        for (const RuntimeSetting& s : runtime_settings())
            reasons += fmt::format("{} = {}: {}\n", s.name, s.value, s.reason);
        return table.text() + "\nWhat holds while it runs:\n" + reasons +
               (remedies.empty() ? "\nNothing to fix.\n" : "\n" + remedies);
    }

    run::RankOptions ranks_;
    std::string data_;
};

}  // namespace

std::unique_ptr<Verb> make_doctor_verb() {
    return std::make_unique<DoctorVerb>();
}

}  // namespace rudder::cli
