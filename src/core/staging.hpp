// Output that appears whole or not at all: written beside its place, then renamed.
#pragma once

#include <filesystem>

namespace rudder {

/// What to do when the output exists already.
enum class Existing { refuse, replace };

/// An output (folder or file) under construction. It is built at `path()`, a hidden name beside the
/// final one; `commit` moves it there in one step. Without a commit the destructor removes it,
/// unless it is meant to last. What processes that are dead by now left of the same output is
/// removed first.
class Staging {
public:
    /// A folder. Refuses (usage Error) an existing output unless `existing` says replace.
    [[nodiscard]] static Staging folder(const std::filesystem::path& output, Existing existing);
    /// A folder that stays under its hidden name without a commit, so that a later process may go
    /// on with it: what is there is kept. Replaces an existing output.
    [[nodiscard]] static Staging lasting_folder(const std::filesystem::path& output);
    /// That hidden name.
    [[nodiscard]] static std::filesystem::path lasting_path(const std::filesystem::path& output);
    /// A single file; the caller creates it at `path()`.
    [[nodiscard]] static Staging file(const std::filesystem::path& output, Existing existing);

    /// Removes an output so that, whenever the power fails, it is there whole or not at all.
    static void discard(const std::filesystem::path& output);

    Staging(Staging&& other) noexcept;
    Staging& operator=(Staging&&) = delete;
    ~Staging();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return staged_; }
    [[nodiscard]] const std::filesystem::path& output() const noexcept { return output_; }
    /// Moves the finished output into place; what stood there before is removed afterwards. Refuses
    /// as above what has come into being meanwhile.
    void commit();

private:
    Staging(std::filesystem::path output, std::filesystem::path staged, Existing existing,
            bool lasting = false);
    void replace_in_two_steps(const std::filesystem::path& old, bool in_the_way) const;
    std::filesystem::path output_;
    std::filesystem::path staged_;
    Existing existing_;
    bool lasting_;
};

}  // namespace rudder
