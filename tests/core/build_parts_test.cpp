// Optional parts of the build.
#include "core/build_parts.hpp"

#include <gmock/gmock.h>

namespace rudder {
namespace {

TEST(BuildParts, AMissingOneIsWrongUseWithAWayOut) {
    const Error error = missing_part("METIS", "--method metis", "use --method ldg");
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), testing::HasSubstr("this build has no METIS"));
    EXPECT_EQ(error.remedy(), "use --method ldg, or rebuild with libmetis-dev");
    EXPECT_EQ(missing_part("libcurl", "").remedy(), "rebuild with libcurl4-openssl-dev");
}

TEST(BuildParts, AreRequiredWhereTheyAreNot) {
    EXPECT_GE(build_parts().size(), 6U);
    for (const BuildPart& part : build_parts()) {
        EXPECT_EQ(built_in(part.name), part.built_in);
        EXPECT_FALSE(part.use.empty() || part.package.empty()) << part.name;
        if (part.built_in) {
            EXPECT_NO_THROW(require_part(part.name, "here"));
        } else {
            EXPECT_THROW(require_part(part.name, "here"), Error);
        }
    }
}

}  // namespace
}  // namespace rudder
