#include "optim/column_cut.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ColumnCut, RulesOfElementsAreExact) {
  EXPECT_EQ(ColumnCutOf(AnyRule(Sgd{})), ColumnCut::kExact);
  EXPECT_EQ(ColumnCutOf(AnyRule(Adagrad{})), ColumnCut::kExact);
  EXPECT_EQ(ColumnCutOf(AnyRule(Adam{})), ColumnCut::kExact);
  EXPECT_EQ(ColumnCutOf(AnyRule(Dense{})), ColumnCut::kExact);
}

TEST(ColumnCut, SumsOverARowAreEachBlocksOwn) {
  EXPECT_EQ(ColumnCutOf(AnyRule(RowwiseAdagrad{})), ColumnCut::kEachBlock);
  EXPECT_EQ(ColumnCutOf(AnyRule(LarsSgd{})), ColumnCut::kEachBlock);
  EXPECT_EQ(ColumnCutOf(AnyRule(PartialRowwiseAdam{})), ColumnCut::kEachBlock);
  EXPECT_EQ(ColumnCutOf(AnyRule(Lamb{})), ColumnCut::kEachBlock);
  EXPECT_EQ(ColumnCutOf("a rule of somebody else's"), ColumnCut::kEachBlock);
}

TEST(ColumnCut, HalvesOfARowStayTogether) {
  EXPECT_EQ(ColumnCutOf(AnyRule(EmaInPlaceRowwiseAdagrad{})), ColumnCut::kMustBeWhole);
  EXPECT_EQ(ColumnCutOf("emainplace_rowwise_adagrad"), ColumnCut::kMustBeWhole);
  EXPECT_EQ(ColumnCutOf("sgd"), ColumnCut::kExact);
}

}  // namespace
}  // namespace tessera
