// The same seed gives the same arrays, whatever the number of threads; another seed gives others.
#include "cli_support.hpp"

namespace rudder::test {
namespace {

class Determinism : public CliTest {
protected:
    /// The arrays that `arguments` (the output is appended) make with one thread and with two.
    std::map<std::string, std::string> made(const Words& arguments, std::size_t output) {
        std::map<std::string, std::string> first;
        for (const std::string threads : {"1", "2", "3"}) {
            Words words = arguments;
            words.insert(words.begin() + static_cast<std::ptrdiff_t>(output), "out");
            words.insert(words.end(), {"--threads", threads, "--force", "--quiet"});
            ok(words);
            const auto sums = checksums_of(folder_ / "out");
            EXPECT_FALSE(sums.empty());
            if (first.empty()) first = sums;
            EXPECT_EQ(sums, first) << threads << " threads";
        }
        return first;
    }
};

TEST_F(Determinism, Generate) {
    for (const std::string kind : {"rmat", "sbm", "ba", "grid"}) {
        const Words words{"generate", kind, "--vertices", "20000", "--features", "structure:20"};
        Words other = words;
        other.insert(other.end(), {"--seed", "1"});
        const auto sums = made(words, 2);
        EXPECT_EQ(sums, made(words, 2));
        EXPECT_NE(sums, made(other, 2)) << kind;
    }
}

TEST_F(Determinism, Import) {
    ok({"generate", "sbm", "data", "--vertices", "20000"});
    ok({"export", "data", "data.npz"});
    static_cast<void>(made({"import", "data.npz"}, 2));
    std::string text;
    for (int i = 0; i < 200000; ++i)
        text += std::to_string(i * 31 % 5003) + "\t" + std::to_string(i * 17 % 4999) + "\n";
    write("edges.txt", text);
    const auto zero = made({"import", "edges.txt", "--features", "random:8"}, 2);
    EXPECT_NE(zero, made({"import", "edges.txt", "--features", "random:8", "--seed", "7"}, 2));
}

TEST_F(Determinism, Partition) {
    ok({"generate", "sbm", "data", "--vertices", "20000"});
    for (const std::string method : {"metis", "ldg", "fennel", "random", "hash"}) {
        const Words words{"partition", "data", "--parts", "4", "--method", method};
        static_cast<void>(made(words, 2));
    }
}

}  // namespace
}  // namespace rudder::test
