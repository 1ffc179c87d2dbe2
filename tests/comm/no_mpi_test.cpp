// A build without MPI: ranks are refused as wrong use, with the reason; one rank works.
#include <gmock/gmock.h>

#include "comm/launcher.hpp"
#include "comm/mpi_transport.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/version.hpp"

namespace rudder::test {
namespace {

template <class F>
void expect_refusal(F&& act) {
    try {
        act();
        ADD_FAILURE() << "there is no MPI to do it with";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_THAT(error.what(), ::testing::HasSubstr("this build has no MPI"));
        EXPECT_THAT(error.remedy(), ::testing::HasSubstr("-DRUDDER_MPI=ON"));
    }
}

TEST(NoMpi, RanksAreRefusedWithTheReason) {
    expect_refusal([] { const comm::MpiSession session; });
    expect_refusal([] { static_cast<void>(comm::make_mpi_transport({})); });
    expect_refusal([] { comm::launch_ranks({.ranks = 2, .command = {"/bin/true"}}); });
    EXPECT_TRUE(build_info().mpi.empty());
}

TEST(NoMpi, OneRankWorks) {
    EXPECT_EQ(comm::Communicator::local().all_max(7), 7);
}

}  // namespace
}  // namespace rudder::test
