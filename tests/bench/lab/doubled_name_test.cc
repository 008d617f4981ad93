// The lab refuses two variants that have one name, as a copied file has until it is changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/lab/lab_topic.h"
#include "bench/lab/product_kernel.h"
#include "bench/lab/variant.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

void Nothing(Context&, const ProductArgs&) {}

const RegisterVariant<ProductArgs> kBlocked({.name = "blocked", .about = "a copy's"}, Nothing);

TEST(LabTopic, RefusesTwoVariantsOfOneName) {
  EXPECT_THAT([] { LabTopic(); },
              ::testing::ThrowsMessage<Error>(::testing::AllOf(
                  ::testing::HasSubstr("two variants of --kernel product are called 'blocked': "),
                  ::testing::HasSubstr("bench/lab/variants/product_blocked.cc:"),
                  ::testing::HasSubstr("tests/bench/lab/doubled_name_test.cc:16"))));
}

}  // namespace
}  // namespace tessera::bench
