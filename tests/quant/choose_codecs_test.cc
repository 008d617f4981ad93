#include "quant/choose_codecs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Trials of a table of `rows` rows whose values have rms 1: bytes a row and relative error.
TableTrials Table(const std::string& name, int64_t rows,
                  const std::vector<std::pair<int64_t, double>>& trials) {
  TableTrials table{.table = name};
  for (const auto& [bytes, rms] : trials)
    table.trials.push_back({{}, {.rows = rows, .rms = rms, .value_rms = 1}, rows * bytes});
  return table;
}

const std::vector<std::pair<int64_t, double>> kUsual = {{16, 0.001}, {8, 0.02}, {4, 0.1}};

TEST(ChooseCodecsTest, SmallestWithinAnErrorBudget) {
  const std::vector<TableTrials> tables = {Table("a", 10, kUsual),
                                           Table("b", 10, {{16, 0.05}, {8, 0.2}})};
  EXPECT_EQ(ChooseByError(tables, 0.06).trials, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(ChooseByError(tables, 0.5).trials, (std::vector<size_t>{2, 1}));
  EXPECT_EQ(ChooseByError(tables, 0.5).bytes, 120);
  EXPECT_THAT([&] { ChooseByError(tables, 0.01); },
              ThrowsMessage<Error>(HasSubstr("table b: no codec has an error within 0.01")));
}

TEST(ChooseCodecsTest, MemoryGoesWhereItTakesMostErrorOff) {
  std::vector<TableTrials> tables = {Table("large", 1000, kUsual), Table("small", 10, kUsual)};
  // 4040 bytes at least; the small table's steps are cheap.
  EXPECT_EQ(ChooseByMemory(tables, 4040).trials, (std::vector<size_t>{2, 2}));
  EXPECT_EQ(ChooseByMemory(tables, 4200).trials, (std::vector<size_t>{2, 0}));
  EXPECT_EQ(ChooseByMemory(tables, 1 << 20).trials, (std::vector<size_t>{0, 0}));
  EXPECT_THAT([&] { ChooseByMemory(tables, 4000); },
              ThrowsMessage<Error>(HasSubstr("need 4040 bytes, more than the budget of 4000")));
  const CodecChoice choice = ChooseByMemory(tables, 8200);
  EXPECT_LE(choice.bytes, 8200);
  EXPECT_LT(choice.error, ChooseByMemory(tables, 4040).error);
}

TEST(ChooseCodecsTest, WeightsSayWhichTableCounts) {
  std::vector<TableTrials> tables = {Table("a", 10, kUsual), Table("b", 10, kUsual)};
  tables[1].weight = 10;
  EXPECT_EQ(ChooseByMemory(tables, 120).trials, (std::vector<size_t>{2, 1}));
  tables[0].weight = 1000;
  EXPECT_EQ(ChooseByMemory(tables, 120).trials, (std::vector<size_t>{1, 2}));
}

TEST(ChooseCodecsTest, MoreMemoryNeverMeansMoreError) {
  Context ctx({.threads = 1, .seed = 2});
  std::vector<RowSource> sources;
  for (const int64_t rows : {100, 30, 300}) {
    const Tensor x = Tensor::Empty(ctx, {rows, 16});
    FillUniform(ctx, x, -0.1f * static_cast<float>(rows), 1);
    sources.push_back(SourceOf("t" + std::to_string(rows), x));
  }
  const std::vector<RowCodec> codecs = {
      {RowType::kInt8, 1}, {RowType::kInt4, 1}, {RowType::kInt2, 1}, {RowType::kF16, 1}};
  const std::vector<TableTrials> tables = TryCodecs(ctx, sources, codecs);
  EXPECT_EQ(tables[0].trials[0].bytes, 100 * 20);
  double last = 1e9;
  for (int64_t budget = 430 * 8; budget < 430 * 40; budget += 500) {
    const CodecChoice choice = ChooseByMemory(tables, budget);
    EXPECT_LE(choice.bytes, budget);
    EXPECT_LE(choice.error, last);
    last = choice.error;
  }
  EXPECT_LT(last, 0.001);
}

// One number that only f32 holds costs its table neither its budget nor its error of the rest.
TEST(ChooseCodecsTest, ARowThatCodecsLoseLeavesTheOthersTheirBits) {
  Context ctx({.threads = 1, .seed = 3});
  const std::vector<RowCodec> codecs = {
      {RowType::kInt2}, {RowType::kInt4}, {RowType::kInt8}, {RowType::kF16}, {RowType::kF32}};
  for (const float outlier : {1e6f, 1e25f, std::numeric_limits<float>::infinity()}) {
    Tensor x = Tensor::Empty(ctx, {400, 64});
    FillUniform(ctx, x, -0.1f, 0.1f);
    const Tensor plain = x.Clone(ctx);
    x.data<float>()[130] = outlier;
    const std::vector<TableTrials> tables =
        TryCodecs(ctx, std::vector<RowSource>{SourceOf("t", x), SourceOf("u", plain)}, codecs);
    const CodecChoice choice = ChooseByMemory(tables, 400 * 64 * 4 * 3 / 2);  // 0.75 of f32
    EXPECT_GE(choice.trials[0], 2u) << outlier;
    EXPECT_GE(choice.trials[1], 2u) << outlier;
    EXPECT_LE(tables[0].trials[ChooseByError(tables, 0.01).trials[0]].error.relative(), 0.01);
  }
}

}  // namespace
}  // namespace tessera
