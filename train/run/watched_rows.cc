#include "train/run/watched_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "data/first_ids.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera {
namespace {

// Something that no row had so far.
struct Lack {
  std::string who, what;  // "WHO: none of the first N rows WHAT"
  std::function<bool(Context& ctx, const Batch& batch)> comes;
};

Lack LackOfIds(const char* key, const std::vector<std::string>& features) {
  std::string names;
  for (const std::string& feature : features)
    names += Format("{}'{}'", names.empty() ? "" : " or ", feature);
  const auto comes = [features](Context& ctx, const Batch& batch) {
    return std::ranges::any_of(features, [&](const std::string& feature) {
      return std::ranges::any_of(FirstIds(ctx, batch, feature),
                                 [](int64_t id) { return id != kNoId; });
    });
  };
  return {Format("model.{}", key),
          Format("has an id of {}: this tower has nothing to learn from", names), comes};
}

Lack LackOfCounting(const TrainTask& task) {
  const auto comes = [task](Context& ctx, const Batch& batch) {
    return RowsOfTask(ctx, task, batch).total.ToVector<float>()[0] > 0;
  };
  return {Format("task {}", task.task.name),
          "counts: their label is missing, their weight is 0, or `where` leaves them out", comes};
}

class Watched final : public DataSource {
 public:
  Watched(std::unique_ptr<DataSource> source, std::vector<Lack> lacks,
          std::function<void(const std::string&)> warn)
      : source_(std::move(source)),
        warn_(std::move(warn)),
        lacks_(std::move(lacks)),
        ctx_({.threads = 1}) {}

  std::optional<Batch> Next() override {
    std::optional<Batch> batch = source_->Next();
    if (batch && batch->size() > 0 && !lacks_.empty()) Look(*batch);
    if (!batch || rows_ >= kRowsBeforeWarning) Warn();
    return batch;
  }
  int64_t skipped_rows() const override { return source_->skipped_rows(); }
  BadLineCounts skipped_by_reason() const override { return source_->skipped_by_reason(); }

 private:
  void Look(const Batch& batch) {
    rows_ += batch.size();
    std::erase_if(lacks_, [&](const Lack& lack) { return lack.comes(ctx_, batch); });
  }
  void Warn() {
    if (rows_ > 0)
      for (const Lack& lack : lacks_)
        warn_(Format("{}: none of the first {} rows {}", lack.who, rows_, lack.what));
    lacks_.clear();
  }

  std::unique_ptr<DataSource> source_;
  std::function<void(const std::string&)> warn_;
  std::vector<Lack> lacks_;
  Context ctx_;
  int64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<DataSource> WatchRows(std::unique_ptr<DataSource> source,
                                      const RankingNetConfig& model,
                                      const std::vector<TrainTask>& tasks,
                                      std::function<void(const std::string&)> warn) {
  std::vector<Lack> lacks;
  if (model.type == RankingModelType::kTwoTower)
    lacks = {LackOfIds("query", model.query), LackOfIds("candidate", model.candidate)};
  for (const TrainTask& task : tasks) lacks.push_back(LackOfCounting(task));
  return std::make_unique<Watched>(std::move(source), std::move(lacks), std::move(warn));
}

}  // namespace tessera
