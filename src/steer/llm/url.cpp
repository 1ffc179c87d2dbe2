// Addresses of servers, read by libcurl.
#include <memory>

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "http.hpp"

namespace rudder::steer {

namespace {

constexpr std::string_view set_url =
    "give http://127.0.0.1:PORT for a server on this machine, https://HOST for another";

struct FreeUrl {
    void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
};
using UrlHandle = std::unique_ptr<CURLU, FreeUrl>;

/// A part of a URL; empty where it has none.
std::string part(const UrlHandle& url, CURLUPart which) {
    char* text = nullptr;
    if (curl_url_get(url.get(), which, &text, 0) != CURLUE_OK || text == nullptr) return {};
    std::string copy(text);
    curl_free(text);
    return copy;
}

bool is_loopback(const std::string& host) {
    in_addr v4{};
    if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
    return host == "localhost" || host == "[::1]";
}

bool take_end(std::string& text, std::string_view end) {
    if (!text.ends_with(end)) return false;
    text.resize(text.size() - end.size());
    return true;
}

}  // namespace

Endpoint Endpoint::parse(std::string_view url, bool insecure, const std::string& where) {
    const UrlHandle handle(curl_url());
    const std::string text(url);
    const bool plain = text.find_first_of(std::string_view(" \t\r\n\0", 5)) == std::string::npos;
    if (!plain || curl_url_set(handle.get(), CURLUPART_URL, text.c_str(),
                               CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) {
        // Whatever it is, it may hold a password: it is not repeated.
        throw usage_error("invalid address of the language model's server: not a URL", where,
                          std::string(set_url));
    }
    const std::string scheme = part(handle, CURLUPART_SCHEME);
    const std::string host = part(handle, CURLUPART_HOST);
    if ((scheme != "http" && scheme != "https") || host.empty()) {
        throw usage_error(
            fmt::format("invalid address of the language model's server: scheme '{}:'",
                        printable(scheme, 20)),
            where, std::string(set_url));
    }
    if (!part(handle, CURLUPART_USER).empty() || !part(handle, CURLUPART_PASSWORD).empty()) {
        throw usage_error(
            "invalid address of the language model's server: it holds a name or password", where,
            "leave it out and set RUDDER_LLM_KEY in the environment");
    }
    if (!part(handle, CURLUPART_QUERY).empty() || !part(handle, CURLUPART_FRAGMENT).empty()) {
        throw usage_error(
            "invalid address of the language model's server: it has a query or fragment", where,
            "leave out '?' or '#' and what follows");
    }
    Endpoint endpoint;
    endpoint.tls = scheme == "https";
    endpoint.loopback = is_loopback(host);
    if (!endpoint.tls && !endpoint.loopback && !insecure) {
        throw usage_error(
            fmt::format("the language model's server {} is another machine and would be reached "
                        "without TLS",
                        printable(host)),
            where, "give an https:// address, or allow it with --llm-insecure");
    }
    const std::string port = part(handle, CURLUPART_PORT);
    std::string path = part(handle, CURLUPART_PATH);
    while (take_end(path, "/")) {
    }
    endpoint.versioned = take_end(path, "/v1");
    while (take_end(path, "/")) {
    }
    endpoint.base = fmt::format("{}://{}{}{}{}", scheme, host, port.empty() ? "" : ":", port, path);
    return endpoint;
}

}  // namespace rudder::steer
