// Metrics for Prometheus: the text, and HTTP over real sockets.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <regex>
#include <set>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/json.hpp"
#include "report/prometheus_sink.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "frames.hpp"
#include "support/process.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

report::PrometheusOptions some_options() {
    report::PrometheusOptions options;
    options.ranks = 2;
    options.info = {{"data", "a \"b\"\\\n<c>"}, {"model", "sage"}};
    return options;
}

TEST(Prometheus, CountsAddUpAndValuesAreTheLast) {
    report::PrometheusMetrics metrics(2, {{"model", "sage"}});
    metrics.steps(some_steps(0, 2, 2));
    metrics.steps(some_steps(2, 1, 2));
    metrics.epoch(some_epoch(0, 3));
    std::vector<steer::DecisionRecord> decisions(3);
    decisions[0].note = R"("status":"late")";
    decisions[0].action = steer::Action::replace(steer::Reason::none);
    decisions[1].status = steer::DecisionStatus::refused;
    metrics.decisions(decisions);
    metrics.progress()->steps = 5;
    const std::string text = metrics.text();
    for (const char* line : {
             "# TYPE rudder_loss gauge\n",
             "rudder_loss{rank=\"1\"} 2010\n",
             "# HELP rudder_rows_hit_total Of these, rows found in the buffer\n",
             "# TYPE rudder_rows_hit_total counter\n",
             "rudder_rows_hit_total{rank=\"0\"} 3042\n",
             "rudder_rows_hit_total{rank=\"1\"} 3072\n",
             "rudder_accuracy{set=\"valid\"} 0.25\n",
             "rudder_epoch_loss 0.5\n",
             "rudder_run_info{model=\"sage\"} 1\n",
             "rudder_owner_bytes_total{rank=\"1\",owner=\"1\"} 303\n",
             "rudder_policy_info{rank=\"0\",policy=\"window:16\"} 1\n",
             "rudder_decisions_total{status=\"applied\"} 1\n",
             "rudder_decisions_total{status=\"kept\"} 1\n",
             "rudder_decisions_total{status=\"refused\"} 1\n",
             "rudder_decisions_total{status=\"late\"} 0\n",
             "rudder_steps_done 5\n",
         }) {
        EXPECT_THAT(text, HasSubstr(line));
    }
    EXPECT_THAT(text, testing::Not(HasSubstr("set=\"test\"")));
}

TEST(Prometheus, EveryLineIsOneOfTheFormat) {
    report::PrometheusMetrics metrics(3, some_options().info);
    metrics.steps(some_steps(0, 2, 3));
    const std::string text = metrics.text();
    ASSERT_EQ(text.back(), '\n');
    const std::regex sample(
        R"rx([a-z_]+(\{[a-z]+="([^"\\]|\\["\\n])*"(,[a-z]+="([^"\\]|\\["\\n])*")*\})? [-+.e0-9]+)rx");
    const std::regex head(R"(# (HELP|TYPE) [a-z_]+ .+)");
    std::set<std::string> names;
    for (const std::string_view view :
         split(std::string_view(text).substr(0, text.size() - 1), '\n')) {
        const std::string line(view);
        EXPECT_TRUE(std::regex_match(line, sample) || std::regex_match(line, head)) << line;
        if (line.starts_with("# TYPE")) {
            EXPECT_TRUE(names.insert(line).second) << line;
        }
    }
    EXPECT_THAT(text, HasSubstr("data=\"a \\\"b\\\"\\\\\\n<c>\""));
}

TEST(Prometheus, PromtoolFindsNothingWrong) {
    if (!have_program("promtool")) GTEST_SKIP() << "SKIPPED: no promtool here";
    report::PrometheusMetrics metrics(2, some_options().info);
    metrics.steps(some_steps(0, 5, 2));
    metrics.epoch(some_epoch(0, 5));
    const std::string text = metrics.text();
    FILE* promtool = ::popen("promtool check metrics 2>&1", "w");
    std::fwrite(text.data(), 1, text.size(), promtool);
    EXPECT_EQ(::pclose(promtool), 0) << text;
}

// ---- HTTP --------------------------------------------------------------------------------------

/// A connection to the sink, as a client has it.
class Client {
public:
    explicit Client(const report::PrometheusSink& sink) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
        const std::string& url = sink.url();
        const auto colon = url.rfind(':');
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1))));
        ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
        connected_ =
            ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    }
    ~Client() { ::close(fd_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    [[nodiscard]] bool connected() const { return connected_; }
    void send(const std::string& text) const {
        EXPECT_EQ(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
    }
    /// Sends so many bytes, or fewer if the server closes; how many.
    [[nodiscard]] std::size_t push(std::size_t bytes) const {
        const std::string block(1 << 16, 'x');
        std::size_t sent = 0;
        while (sent < bytes) {
            const ssize_t took = ::send(fd_, block.data(), block.size(), MSG_NOSIGNAL);
            if (took <= 0) break;
            sent += static_cast<std::size_t>(took);
        }
        return sent;
    }
    /// Whether the server closes without a further word; waits for a while.
    [[nodiscard]] bool closed() const {
        char one = 0;
        pollfd wait{fd_, POLLIN, 0};
        return ::poll(&wait, 1, 20'000) == 1 && ::recv(fd_, &one, 1, 0) <= 0;
    }
    /// What comes within so many milliseconds, and no more than one piece.
    [[nodiscard]] std::string receive_within(int milliseconds) const {
        char buffer[4096];
        pollfd wait{fd_, POLLIN, 0};
        if (::poll(&wait, 1, milliseconds) != 1) return "";
        const ssize_t got = ::recv(fd_, buffer, sizeof(buffer), 0);
        return {buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
    }
    /// All until the server closes.
    [[nodiscard]] std::string receive() const {
        std::string text;
        char buffer[4096];
        pollfd wait{fd_, POLLIN, 0};
        while (::poll(&wait, 1, 20'000) == 1) {
            const ssize_t got = ::recv(fd_, buffer, sizeof(buffer), 0);
            if (got <= 0) break;
            text.append(buffer, static_cast<std::size_t>(got));
        }
        return text;
    }

private:
    int fd_;
    bool connected_ = false;
};

std::string ask(const report::PrometheusSink& sink, const std::string& request) {
    const Client client(sink);
    EXPECT_TRUE(client.connected());
    client.send(request);
    return client.receive();
}

std::string get(const std::string& path, const std::string& method = "GET") {
    return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
}

/// As many clients as may be, each answered and still connected; one more waits until another goes.
TEST(PrometheusHttp, HasSixtyFourClientsAtMost) {
    const std::string request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    report::PrometheusOptions options = some_options();
    options.patience = 600;
    report::PrometheusSink sink(options);
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 64; ++i) {
        clients.push_back(std::make_unique<Client>(sink));
        clients.back()->send(request);
        ASSERT_THAT(clients.back()->receive_within(20'000), HasSubstr("200 OK")) << "client " << i;
    }
    {
        const Client one_more(sink);
        one_more.send(request);
        EXPECT_EQ(one_more.receive_within(500), "");
    }
    clients.erase(clients.begin());
    std::string answer;
    for (int tries = 0; tries < 100 && answer.empty(); ++tries) {
        const Client later(sink);
        later.send(request);
        answer = later.receive_within(200);
    }
    EXPECT_THAT(answer, HasSubstr("200 OK")) << "once another has gone";
}

/// One that says nothing, one that has begun to, and one that has been answered.
TEST(PrometheusHttp, ClosesConnectionsThatAreSilent) {
    report::PrometheusOptions options = some_options();
    EXPECT_EQ(options.patience, 10U);
    options.patience = 1;
    report::PrometheusSink sink(options);
    const auto begin = std::chrono::steady_clock::now();
    const Client nothing(sink);
    const Client half(sink);
    half.send("GET /metrics HTT");
    const Client answered(sink);
    answered.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(answered.receive_within(20'000), HasSubstr("200 OK"));
    EXPECT_TRUE(nothing.closed());
    EXPECT_TRUE(half.closed());
    EXPECT_TRUE(answered.closed());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(9)) << "as told";
    EXPECT_THAT(ask(sink, get("/healthz")), HasSubstr("200 OK")) << "others are served";
}

TEST(PrometheusHttp, GetHeadAndWhatIsRefused) {
    report::PrometheusSink sink(some_options());
    sink.steps(some_steps(0, 1, 2));
    const std::string page = ask(sink, get("/metrics"));
    EXPECT_THAT(page, StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(page, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    EXPECT_THAT(page, HasSubstr("\r\n\r\n# HELP rudder_loss"));
    EXPECT_THAT(ask(sink, get("/metrics?x=1")), StartsWith("HTTP/1.1 200 "));
    const std::string head = ask(sink, get("/metrics", "HEAD"));
    EXPECT_THAT(head, StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(head, testing::EndsWith("\r\n\r\n"));
    EXPECT_THAT(ask(sink, get("/")), StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(ask(sink, get("/../etc/passwd")), StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(ask(sink, get("/metrics", "DELETE")), StartsWith("HTTP/1.1 405 "));
    EXPECT_THAT(ask(sink,
                    "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
                    "Connection: close\r\n\r\nabc"),
                StartsWith("HTTP/1.1 405 "));
    const std::string bad = ask(sink, "nonsense\r\n\r\n");
    EXPECT_THAT(bad, testing::Not(HasSubstr("200")));
    const std::string long_header = "GET /metrics HTTP/1.1\r\nX: " + std::string(40'000, 'x');
    {
        const Client client(sink);
        client.send(long_header);
        EXPECT_THAT(client.receive(), testing::AnyOf("", HasSubstr(" 4")));
    }
    EXPECT_EQ(ask(sink, get("/metrics")).substr(0, 12), "HTTP/1.1 200");
    EXPECT_GT(sink.cpu_nanoseconds(), 0U);
}

TEST(PrometheusHttp, HealthAndStatus) {
    report::PrometheusOptions options = some_options();
    options.plan = {.name = "", .epochs = 4, .steps = 40, .ranks = 2, .policy = "lru"};
    report::PrometheusSink sink(options);
    const std::string health = ask(sink, get("/healthz"));
    EXPECT_THAT(health, StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(health, testing::EndsWith("\r\n\r\nok\n"));
    const auto status = [&] {
        const std::string page = ask(sink, get("/status"));
        EXPECT_THAT(page, StartsWith("HTTP/1.1 200 "));
        EXPECT_THAT(page, HasSubstr("Content-Type: application/json\r\n"));
        return parse_json(page.substr(page.find("\r\n\r\n") + 4), "status");
    };
    Json now = status();
    EXPECT_EQ(now.at("state"), "running");
    EXPECT_EQ(now.at("step"), 0);
    EXPECT_EQ(now.at("steps"), 40);
    EXPECT_EQ(now.at("seconds_left"), nullptr);
    EXPECT_EQ(now.at("policy"), "lru");
    sink.steps(some_steps(0, 3, 2));
    now = status();
    EXPECT_EQ(now.at("step"), 3);
    EXPECT_EQ(now.at("by_rank").size(), 2U);
    EXPECT_EQ(now.at("policy"), "window:16");
    // Steps that were not collected yet.
    sink.progress()->steps = 25;
    sink.progress()->loss = 0.5;
    now = status();
    EXPECT_EQ(now.at("step"), 25);
    EXPECT_EQ(now.at("epoch"), 3);
    EXPECT_EQ(now.at("loss"), 0.5);
    EXPECT_THAT(ask(sink, get("/status", "HEAD")), testing::EndsWith("\r\n\r\n"));
    EXPECT_THAT(ask(sink, get("/status", "DELETE")), StartsWith("HTTP/1.1 405 "));
    EXPECT_THAT(ask(sink, get("/statusx")), StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(ask(sink, get("/")), HasSubstr("see /metrics, /status and /healthz"));
}

TEST(PrometheusHttp, NamesOfOtherMachinesAreRefused) {
    const report::PrometheusSink sink(some_options());
    const auto code = [&](const std::string& host, const std::string& path = "/metrics") {
        const std::string page = ask(
            sink, "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
        return page.substr(0, 12);
    };
    for (const char* path : {"/status", "/healthz"}) {
        EXPECT_EQ(code("evil.example", path), "HTTP/1.1 421") << path;
        EXPECT_EQ(code("localhost:9400", path), "HTTP/1.1 200") << path;
    }
    std::array<char, 256> own{};
    ASSERT_EQ(::gethostname(own.data(), own.size() - 1), 0);
    for (const std::string& host :
         {std::string("localhost"), std::string("LocalHost:9400"), std::string("127.0.0.1"),
          std::string("127.0.0.1:1"), std::string("10.1.2.3:9400"), std::string("[::1]:9400"),
          std::string(own.data()), std::string(own.data()) + ":9400"}) {
        EXPECT_EQ(code(host), "HTTP/1.1 200") << host;
    }
    for (const char* host :
         {"evil.example", "evil.example:9400", "localhost.evil.example", "127.0.0.1.evil.example",
          "evil.example#localhost", "[evil.example]", "[::1", ":9400"}) {
        EXPECT_EQ(code(host), "HTTP/1.1 421") << host;
    }
    // Without a name there is none of somebody else's.
    EXPECT_THAT(ask(sink, "GET /metrics HTTP/1.0\r\n\r\n"), HasSubstr(" 200 "));
}

TEST(PrometheusHttp, BodiesAreNotReadForEver) {
    const report::PrometheusSink sink(some_options());
    {
        const Client client(sink);
        client.send(
            "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n");
        EXPECT_LT(client.push(std::size_t{64} << 20), std::size_t{64} << 20);
    }
    EXPECT_THAT(ask(sink, get("/metrics")), StartsWith("HTTP/1.1 200 "));
}

TEST(PrometheusHttp, ManyClientsAndSlowOnesAtOnce) {
    report::PrometheusSink sink(some_options());
    std::vector<std::unique_ptr<Client>> slow;
    for (int i = 0; i < 20; ++i) {
        slow.push_back(std::make_unique<Client>(sink));
        if (i % 2 == 0) slow.back()->send("GET /met");
    }
    std::atomic<int> answered{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i) {
        clients.emplace_back([&] {
            for (int n = 0; n < 25; ++n)
                if (ask(sink, get("/metrics")).starts_with("HTTP/1.1 200 ")) ++answered;
        });
    }
    for (std::uint64_t step = 0; step < 200; ++step)
        sink.steps(some_steps(step, 1, 2));
    for (std::thread& client : clients)
        client.join();
    EXPECT_EQ(answered, 200);
    for (std::size_t i = 0; i < slow.size(); i += 2) {
        slow[i]->send("rics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        EXPECT_THAT(slow[i]->receive(), StartsWith("HTTP/1.1 200 "));
    }
}

TEST(PrometheusHttp, APortInUseAndAddressesThatAreNone) {
    const report::PrometheusSink first(some_options());
    report::PrometheusOptions options = some_options();
    const auto colon = first.url().rfind(':');
    options.port = static_cast<std::uint16_t>(std::stoi(first.url().substr(colon + 1)));
    try {
        const report::PrometheusSink second(options);
        ADD_FAILURE() << "listens twice";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("Address already in use"));
        EXPECT_THAT(error.what(), HasSubstr("port " + std::to_string(options.port)));
    }
    EXPECT_THROW(report::check_address("example.org"), Error);
    EXPECT_THROW(report::check_address("127.0.0.1:80"), Error);
    EXPECT_NO_THROW(report::check_address("::1"));
    options.address = "192.0.2.1";  // of no machine
    EXPECT_THROW(report::PrometheusSink{options}, Error);
}

}  // namespace
}  // namespace rudder::test
