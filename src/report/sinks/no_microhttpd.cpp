// In place of the server of metrics where a build has no libmicrohttpd.
#include "core/build_parts.hpp"
#include "report/prometheus_sink.hpp"

namespace rudder::report {

struct PrometheusSink::Server {
    std::string url;
};

PrometheusSink::PrometheusSink(const PrometheusOptions& options)
    : metrics_(options.ranks, options.info, options.plan) {
    throw missing_part("libmicrohttpd", "--metrics-port");
}
PrometheusSink::~PrometheusSink() = default;
std::uint64_t PrometheusSink::cpu_nanoseconds() const {
    return 0;
}
const std::string& PrometheusSink::url() const noexcept {
    return server_->url;
}

}  // namespace rudder::report
