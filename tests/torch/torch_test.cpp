// The libtorch of the set-up: it links, it is the version it should be, and it multiplies.
#include <gtest/gtest.h>
#include <torch/torch.h>

TEST(Torch, IsTheExpectedVersion) {
    EXPECT_STREQ(TORCH_VERSION, RUDDER_TORCH_EXPECTED);
}

TEST(Torch, MultipliesMatrices) {
    const auto a = torch::arange(6, torch::kFloat32).reshape({2, 3});
    const auto product = torch::mm(a, a.t());
    const auto expected = torch::tensor({{5.0F, 14.0F}, {14.0F, 50.0F}});
    EXPECT_TRUE(torch::equal(product, expected));
}

TEST(Torch, Differentiates) {
    const auto x = torch::full({3}, 2.0F, torch::requires_grad());
    (x * x).sum().backward();
    EXPECT_TRUE(torch::equal(x.grad(), torch::full({3}, 4.0F)));
}
