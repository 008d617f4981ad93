// Rows from which a tower learns nothing are noticed once, whatever rows come first.
#include "train/run/watched_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

constexpr int64_t kRows = 1000;  // of a batch

// Batches of users, whose rows have an item from a batch on.
class Rows final : public DataSource {
 public:
  Rows(int64_t batches, int64_t items_from) : batches_(batches), items_from_(items_from) {}
  std::optional<Batch> Next() override {
    if (next_ == batches_) return std::nullopt;
    const bool has_items = next_++ >= items_from_;
    Context host({.threads = 1});
    const std::vector<int64_t> ones(kRows, 1), none(kRows, 0);
    const JaggedTensor users(Tensor::From(host, ones), Tensor::From(host, ones));
    const JaggedTensor items(Tensor::From(host, has_items ? ones : std::vector<int64_t>()),
                             Tensor::From(host, has_items ? ones : none));
    return Batch{.dense = Tensor::Zeros(host, {kRows, 0}),
                 .features = KeyedJaggedTensor::FromJtDict(
                     host, {{"user", users}, {"item", items}, {"brand", items}}),
                 .labels = {}};
  }

 private:
  const int64_t batches_, items_from_;
  int64_t next_ = 0;
};

RankingNetConfig Towers() {
  RankingNetConfig model;
  model.type = RankingModelType::kTwoTower;
  model.query = {"user"};
  model.candidate = {"item", "brand"};
  return model;
}

// The warnings while all batches are read, which all come through.
std::vector<std::string> WarningsOf(int64_t batches, int64_t items_from,
                                    const RankingNetConfig& model = Towers()) {
  std::vector<std::string> warnings;
  const auto source = WatchRows(std::make_unique<Rows>(batches, items_from), model, {},
                                [&](const std::string& warning) { warnings.push_back(warning); });
  int64_t count = 0;
  while (source->Next()) ++count;
  EXPECT_EQ(count, batches);
  EXPECT_FALSE(source->Next().has_value());
  return warnings;
}

TEST(WatchedRows, ATowerWithoutIdsIsNamedOnce) {
  const auto sentence = [](int64_t rows) {
    return std::vector{Format(
        "model.candidate: none of the first {} rows has an id of 'item' or 'brand': this tower has "
        "nothing to learn from",
        rows)};
  };
  EXPECT_EQ(WarningsOf(3, 3), sentence(3000));
  EXPECT_EQ(WarningsOf(20, 20), sentence(9000));
  EXPECT_EQ(WarningsOf(20, 9), sentence(9000));
}

TEST(WatchedRows, NothingIsSaidOfRowsWithIds) {
  EXPECT_TRUE(WarningsOf(20, 0).empty());
  EXPECT_TRUE(WarningsOf(20, 8).empty());  // one of the first rows that count has items
  EXPECT_TRUE(WarningsOf(0, 0).empty());
  RankingNetConfig dlrm = Towers();
  dlrm.type = RankingModelType::kDlrm;
  EXPECT_TRUE(WarningsOf(3, 3, dlrm).empty());
}

// A batch of two rows whose labels are those of two columns.
class LabelledRows final : public DataSource {
 public:
  LabelledRows(std::vector<float> labels, std::vector<float> weights)
      : labels_(std::move(labels)), weights_(std::move(weights)) {}
  std::optional<Batch> Next() override {
    if (std::exchange(read_, true)) return std::nullopt;
    Context host({.threads = 1});
    return Batch{.dense = Tensor::Zeros(host, {2, 0}),
                 .features = {},
                 .labels = Tensor::From(host, {2, 2}, labels_),
                 .weights = weights_.empty() ? Tensor() : Tensor::From(host, weights_)};
  }

 private:
  const std::vector<float> labels_, weights_;
  bool read_ = false;
};

TEST(WatchedRows, ATaskForWhichNoRowCountsIsNamed) {
  const std::vector<TrainTask> tasks = {
      {.task = {.name = "click", .label = {}}, .label = 0},
      {.task = {.name = "buy", .label = {}}, .label = 1, .where = 0}};
  const auto named = [&](std::vector<float> labels, std::vector<float> weights) {
    std::string names;
    const auto source =
        WatchRows(std::make_unique<LabelledRows>(std::move(labels), std::move(weights)),
                  RankingNetConfig(), tasks, [&](const std::string& warning) {
                    EXPECT_NE(warning.find(": none of the first 2 rows counts"), warning.npos);
                    names += warning.substr(0, warning.find(':')) + ";";
                  });
    while (source->Next()) {
    }
    return names;
  };
  const float none = std::nanf("");
  EXPECT_EQ(named({1, 0, 0, 0}, {}), "");
  EXPECT_EQ(named({0, 1, 0, 1}, {}), "task buy;");  // `where` leaves both rows out
  EXPECT_EQ(named({1, none, 0, 1}, {}), "task buy;");
  EXPECT_EQ(named({none, 1, none, 1}, {}), "task click;task buy;");
  EXPECT_EQ(named({1, 0, 1, 1}, {0, 0}), "task click;task buy;");
  EXPECT_EQ(named({1, 0, 1, 1}, {0, 2}), "");
}

}  // namespace
}  // namespace tessera
