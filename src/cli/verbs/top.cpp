// rudder top RUN
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/live_frame.hpp"
#include "cli/terminal.hpp"
#include "cli/verb.hpp"
#include "core/build_parts.hpp"
#include "core/interrupt.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "report/run_follower.hpp"
#include "rudder/core/error.hpp"
#include "steer/llm/http.hpp"

namespace rudder::cli {

namespace {

using report::Standing;

/// Looks at a run; none: it can no longer be reached, though it could before.
using Look = std::function<std::optional<Standing>()>;

constexpr auto look_pause = std::chrono::seconds(1);
constexpr auto answer_limit = std::chrono::seconds(10);

bool is_address(const std::string& text) {
    return text.starts_with("http://") || text.starts_with("https://");
}

/// The address of the server, whichever of its pages was given.
std::string server_of(std::string url) {
    for (const std::string_view page : {"/metrics", "/status", "/healthz", "/"}) {
        if (url.ends_with(page)) url.resize(url.size() - page.size());
    }
    return url;
}

/// Asks the server of metrics of a run.
class StatusServer {
public:
    explicit StatusServer(const std::string& url)
        : client_(steer::Endpoint::parse(server_of(url), true, "RUN"), "") {}

    std::optional<Standing> look() {
        const std::string where = client_.endpoint().base + "/status";
        const auto answer = client_.get("/status", steer::HttpClient::Clock::now() + answer_limit);
        if (answer.fault != steer::HttpFault::none) {
            if (reached_) return std::nullopt;
            throw Error(ErrorKind::failed, fmt::format("no answer: {}", answer.problem), where,
                        "give the address that 'metrics at' named, as the run is reached from "
                        "here (--metrics-address); or the folder of the run");
        }
        if (answer.status != 200) {
            throw Error(ErrorKind::failed, fmt::format("the server answered {}", answer.status),
                        where, "give the address of a run of this version");
        }
        reached_ = true;
        return report::standing_from_json(parse_json(answer.body, where), where);
    }

private:
    steer::HttpClient client_;
    bool reached_ = false;
};

class TopVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "top"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Follow a running job by its folder or its metrics address, until it ends";
    }
    [[nodiscard]] std::string_view example() const override { return "rudder top run --once"; }
    void define(CLI::App& app) override {
        app.add_option("RUN", run_, "Folder of a run, or its address (http://HOST:PORT)")
            ->required();
        app.add_flag("--once", once_, "Print the current state, and exit");
    }
    int run(const Context& context) override;

private:
    [[nodiscard]] Look looking() const;
    void show_last(const std::optional<Standing>& last, const Context& context) const;

    std::string run_;
    bool once_ = false;
};

Look TopVerb::looking() const {
    if (is_address(run_)) {
        require_part("libcurl", "rudder top with an address");
        return [server = std::make_shared<StatusServer>(run_)] { return server->look(); };
    }
    return [follower = std::make_shared<report::RunFollower>(run_)] {
        return std::optional(follower->look());
    };
}

bool still_running(const std::optional<Standing>& standing) {
    return standing && standing->state == "running";
}

/// Waits; false: whoever watches has had enough.
bool pause_until_next() {
    constexpr auto nap = std::chrono::milliseconds(50);
    for (auto waited = std::chrono::milliseconds(0); waited < look_pause; waited += nap) {
        if (interrupted()) return false;
        std::this_thread::sleep_for(nap);
    }
    return !interrupted();
}

/// As it stood last, below a live view or as the only thing.
void TopVerb::show_last(const std::optional<Standing>& last, const Context& context) const {
    if (!last) return;
    if (context.json) {
        print_json(to_json(*last));
        return;
    }
    ScreenLook look = screen_look();
    look.rows = std::max<std::size_t>(look.rows, 64);  // it scrolls
    if (!output_on_terminal()) {
        look.colour = false;
        look.utf8 = false;
        look.columns = 100;
    }
    std::string text;
    for (const std::string& line : live_frame(*last, look))
        text += line + "\n";
    print_text(text);
}

int TopVerb::run(const Context& context) {
    const Look look = looking();
    std::optional<Standing> last = look();
    if (once_) {
        show_last(last, context);
        return 0;
    }
    const bool live = !context.quiet && !context.json && live_terminal();
    std::optional<Screen> screen;
    if (live) screen.emplace();
    std::uint64_t told = ~std::uint64_t{0};
    bool lost = false;
    while (still_running(last)) {
        const ScreenLook shown = screen_look();
        if (live) Screen::draw(live_frame(*last, shown), shown);
        if (!live && !context.quiet && !context.json &&
            last->step != std::exchange(told, last->step))
            print_text(progress_line(*last, {100, 24, false, false}) + "\n");
        if (!pause_until_next()) return 0;
        std::optional<Standing> next = look();
        lost = !next;
        if (lost) break;
        last = std::move(next);
    }
    screen.reset();
    // A server is gone when its run has ended; how, only the folder knows.
    if (lost) {
        last->state = "ended";
        last->seconds_left.reset();
    }
    if (!context.quiet || context.json) show_last(last, context);
    return 0;
}

}  // namespace

std::unique_ptr<Verb> make_top_verb() {
    return std::make_unique<TopVerb>();
}

}  // namespace rudder::cli
