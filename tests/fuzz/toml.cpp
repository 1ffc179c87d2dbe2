// Configurations: options read from TOML, written as TOML and read again, are equal.
#include <CLI/CLI.hpp>

#include "cli/config.hpp"
#include "cli/train_settings.hpp"
#include "core/json.hpp"

#include "fuzz.hpp"

namespace rudder::fuzz {

namespace {

/// The options of a training run, as the verb has them.
struct Options {
    CLI::App app{"", "train"};
    cli::TrainSettings settings;

    Options() {
        using Group = train::OptionGroup;
        cli::define_preset(app);
        cli::bind_train(app,
                        {Group::model, Group::sampling, Group::training, Group::seed,
                         Group::evaluation, Group::policy, Group::buffer, Group::agent},
                        settings.train);
        cli::bind_ranks(app, settings.ranks);
        cli::bind_run(app, {cli::RunGroup::output, cli::RunGroup::checkpoints}, settings);
    }
    /// Takes a configuration as the program does; false where the parser refuses a value.
    bool take(const std::vector<std::string>& words) {
        try {
            app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
        } catch (const CLI::ParseError&) {
            return false;
        }
        return true;
    }
};

/// What a configuration is as a command line. Which options there are does not change: to define
/// them takes longer than all else.
std::vector<std::string> words_of(const std::filesystem::path& file) {
    static const Options defined;
    std::vector<std::string> words;
    cli::merge_config(defined.app, file, words);
    return words;
}

}  // namespace

void check(std::string_view bytes) {
    const auto words = words_of(put("in.toml", bytes));
    Options first;
    if (!first.take(words)) return;
    const std::string text = to_toml(first.app, cli::ConfigScope::whole);
    Options again;
    FUZZ_EXPECT(again.take(words_of(put("again.toml", text))));
    FUZZ_EXPECT(typed_options(first.app, cli::ConfigScope::whole) ==
                typed_options(again.app, cli::ConfigScope::whole));
    FUZZ_EXPECT(to_toml(again.app, cli::ConfigScope::whole) == text);
}

std::vector<std::string> seeds() {
    std::vector<std::string> all;
    for (const cli::Preset& preset : cli::all_presets())
        all.emplace_back(preset.toml);
    all.push_back(to_toml(Options().app, cli::ConfigScope::whole));
    all.emplace_back("epochs = 3\nfanout = [10, 25]\nlr = 1e-3\nout = 'a b'\nforce = true\n");
    return all;
}

}  // namespace rudder::fuzz
