// Metrics of groups against meters that get the rows of one group alone.
#include "train/grouped_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

constexpr int64_t kNone = -1;  // a row without an id

struct Row {
  int64_t id;  // the first of its bag
  float click, rating, prediction, weight;
};

std::vector<Row> MadeUp() {
  std::mt19937 random(5);
  std::vector<Row> rows(300);
  for (Row& row : rows) {
    row.id = static_cast<int64_t>(random() % 7) - 1;
    row.click = row.id == 3 ? 1.0f : static_cast<float>(random() % 2);  // one class alone
    row.rating = random() % 4 == 0 ? std::nanf("") : static_cast<float>(random() % 5);
    row.prediction = static_cast<float>(random() % 1000) / 1000;
    row.weight = static_cast<float>(random() % 3);
  }
  return rows;
}

Batch BatchOf(Context& ctx, const std::vector<Row>& rows) {
  std::vector<int64_t> ids, lengths;
  Batch batch;
  const auto n = static_cast<int64_t>(rows.size());
  batch.dense = Tensor::EmptyHost({n, 0}, DType::kF32);
  batch.labels = Tensor::EmptyHost({n, 2}, DType::kF32);
  batch.weights = Tensor::EmptyHost({n}, DType::kF32);
  for (int64_t i = 0; i < n; ++i) {
    const Row& row = rows[static_cast<size_t>(i)];
    lengths.push_back(row.id == kNone ? 0 : 2);
    if (row.id != kNone) ids.insert(ids.end(), {row.id, 99});
    batch.labels.span<float>()[2 * i] = row.click;
    batch.labels.span<float>()[2 * i + 1] = row.rating;
    batch.weights.span<float>()[i] = row.weight;
  }
  batch.features =
      KeyedJaggedTensor::FromLengthsSync({"user"}, Tensor::From<int64_t>(ctx, std::move(ids)),
                                         Tensor::From<int64_t>(ctx, std::move(lengths)));
  return batch;
}

class Batches final : public DataSource {
 public:
  explicit Batches(std::vector<Batch> batches) : batches_(std::move(batches)) {}
  std::optional<Batch> Next() override {
    return at_ < batches_.size() ? std::optional(batches_[at_++]) : std::nullopt;
  }

 private:
  std::vector<Batch> batches_;
  size_t at_ = 0;
};

std::vector<TrainTask> Tasks() {
  return {{.task = {.name = "click", .label = "click"}, .label = 0},
          {.task = {.name = "rating", .label = "rating", .loss = TaskLoss::kMse}, .label = 1}};
}

// Examples of both tasks, which have the same predictions.
std::vector<TaskExamples> ExamplesOf(const std::vector<TrainTask>& tasks, const Batch& batch,
                                     const std::vector<Row>& rows) {
  const Tensor predictions = Tensor::EmptyHost({batch.size(), 2}, DType::kF32);
  for (size_t i = 0; i < 2 * rows.size(); ++i)
    predictions.span<float>()[i] = rows[i / 2].prediction;
  std::vector<TaskExamples> examples;
  for (size_t t = 0; t < tasks.size(); ++t)
    examples.push_back(ExamplesOfTask(tasks[t], predictions, static_cast<int64_t>(t), batch));
  return examples;
}

TEST(GroupedMeter, EachGroupHasTheMetricsOfItsRowsAlone) {
  Context ctx;
  const std::vector<TrainTask> tasks = Tasks();
  const std::vector<Row> rows = MadeUp();
  std::vector<Batch> batches;
  std::vector<std::vector<Row>> parts;
  for (size_t begin = 0; begin < rows.size(); begin += 64) {
    const auto first = rows.begin() + static_cast<int64_t>(begin);
    parts.emplace_back(first, first + std::min<int64_t>(64, rows.end() - first));
    batches.push_back(BatchOf(ctx, parts.back()));
  }
  GroupedMeter meter(tasks, "user");
  const auto source = meter.Over(std::make_unique<Batches>(std::move(batches)));
  // An evaluation takes each batch before the examples of the one before are there.
  std::optional<Batch> last = source->Next();
  for (size_t i = 0; last; ++i) {
    std::optional<Batch> next = source->Next();
    meter.Add(ExamplesOf(tasks, *last, parts[i]));
    last = std::move(next);
  }

  std::map<int64_t, std::vector<Row>> of_id;
  for (const Row& row : rows) of_id[row.id].push_back(row);
  const std::vector<GroupValues> groups = meter.Groups();
  ASSERT_EQ(groups.size(), of_id.size());
  double sum = 0, examples = 0;
  for (const GroupValues& group : groups) {
    const std::vector<Row>& own = of_id.at(group.has_id ? group.id : kNone);
    const Batch batch = BatchOf(ctx, own);
    const std::vector<TaskExamples> expected = ExamplesOf(tasks, batch, own);
    for (size_t t = 0; t < tasks.size(); ++t) {
      TaskMeter alone(tasks[t].task.loss);
      alone.Update(expected[t].view());
      const TaskValues values = alone.Values(), found = group.values.tasks[t].values;
      EXPECT_EQ(found.clicks.examples, values.clicks.examples);
      const double pairs[][2] = {{found.clicks.auc, values.clicks.auc},
                                 {found.clicks.log_loss, values.clicks.log_loss},
                                 {found.mse, values.mse},
                                 {found.mae, values.mae}};
      for (const auto& [got, want] : pairs)
        EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << got << " " << want;
    }
    const MetricValues& clicks = group.values.tasks[0].values.clicks;
    if (group.id == 3) {
      EXPECT_TRUE(std::isnan(clicks.auc));
      continue;
    }
    sum += clicks.auc * static_cast<double>(clicks.examples);
    examples += static_cast<double>(clicks.examples);
  }
  EXPECT_DOUBLE_EQ(GroupedAuc(groups, 0), sum / examples);
}

TEST(GroupedMeter, RefusesAFeatureThatIsNotThere) {
  Context ctx;
  GroupedMeter meter(Tasks(), "item");
  const auto source =
      meter.Over(std::make_unique<Batches>(std::vector<Batch>{BatchOf(ctx, MadeUp())}));
  try {
    source->Next();
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the model reads no feature 'item' to group rows by; there are user");
  }
}

}  // namespace
}  // namespace tessera
