// In place of HTTP where a build has no libcurl: no address is accepted, so no client is made.
#include "core/build_parts.hpp"

#include "http.hpp"

namespace rudder::steer {

Endpoint Endpoint::parse(std::string_view /*url*/, bool /*insecure*/,
                         const std::string& /*where*/) {
    throw missing_part("libcurl", "--agent llm", "use --agent llm:built-in");
}

struct HttpClient::State {
    Endpoint endpoint;
};

HttpClient::HttpClient(Endpoint endpoint, std::string /*key*/)
    : state_(new State{std::move(endpoint)}) {}
HttpClient::~HttpClient() = default;
HttpResponse HttpClient::get(const std::string& /*path*/, Clock::time_point /*deadline*/) {
    return {.fault = HttpFault::unreachable, .problem = "this build has no libcurl"};
}
HttpResponse HttpClient::post(const std::string& path, const std::string& /*json*/,
                              Clock::time_point deadline) {
    return get(path, deadline);
}
bool HttpClient::rest(Clock::time_point /*until*/) {
    return false;
}
void HttpClient::cancel() noexcept {}
bool HttpClient::cancelled() const noexcept {
    return true;
}
const Endpoint& HttpClient::endpoint() const noexcept {
    return state_->endpoint;
}
bool HttpClient::reveals_key(std::string_view /*text*/) const {
    return false;
}

}  // namespace rudder::steer
