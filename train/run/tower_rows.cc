#include "train/run/tower_rows.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "data/first_ids.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera {
namespace {

// A tower whose features had no id so far.
struct Tower {
  const char* key;  // of the configuration
  std::vector<std::string> features;
};

std::string FeaturesText(const Tower& tower) {
  std::string text;
  for (const std::string& feature : tower.features)
    text += Format("{}'{}'", text.empty() ? "" : " or ", feature);
  return text;
}

class Watched final : public DataSource {
 public:
  Watched(std::unique_ptr<DataSource> source, std::vector<Tower> towers,
          std::function<void(const std::string&)> warn)
      : source_(std::move(source)),
        warn_(std::move(warn)),
        towers_(std::move(towers)),
        ctx_({.threads = 1}) {}

  std::optional<Batch> Next() override {
    std::optional<Batch> batch = source_->Next();
    if (batch && batch->size() > 0 && !towers_.empty()) Look(*batch);
    if (!batch || rows_ >= kRowsBeforeWarning) Warn();
    return batch;
  }
  int64_t skipped_rows() const override { return source_->skipped_rows(); }
  BadLineCounts skipped_by_reason() const override { return source_->skipped_by_reason(); }

 private:
  void Look(const Batch& batch) {
    rows_ += batch.size();
    const auto has_id = [&](const std::string& feature) {
      return std::ranges::any_of(FirstIds(ctx_, batch, feature),
                                 [](int64_t id) { return id != kNoId; });
    };
    std::erase_if(towers_,
                  [&](const Tower& tower) { return std::ranges::any_of(tower.features, has_id); });
  }
  void Warn() {
    if (rows_ > 0)
      for (const Tower& tower : towers_)
        warn_(
            Format("model.{}: none of the first {} rows has an id of {}: this tower has nothing to "
                   "learn from",
                   tower.key, rows_, FeaturesText(tower)));
    towers_.clear();
  }

  std::unique_ptr<DataSource> source_;
  std::function<void(const std::string&)> warn_;
  std::vector<Tower> towers_;
  Context ctx_;
  int64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<DataSource> WatchTowers(std::unique_ptr<DataSource> source,
                                        const RankingNetConfig& model,
                                        std::function<void(const std::string&)> warn) {
  if (model.type != RankingModelType::kTwoTower) return source;
  const std::vector<Tower> towers = {{"query", model.query}, {"candidate", model.candidate}};
  return std::make_unique<Watched>(std::move(source), towers, std::move(warn));
}

}  // namespace tessera
