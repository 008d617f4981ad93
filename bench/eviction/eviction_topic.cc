#include "bench/eviction/eviction_topic.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>

#include "bench/eviction/belady.h"
#include "bench/eviction/eviction_policies.h"
#include "bench/eviction/id_source.h"
#include "bench/inputs/id_file.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

// How many ids are made up, and of which, is asked for where they are.
RawIdTrace TraceOf(const Point& point) {
  const std::string& ids = point.Text("ids");
  if (NamesIdFile(ids)) return ReadIdSource(ids, 0, 1);
  return ReadIdSource(ids, point.Int("count"), point.Int("rows"));
}

void CheckPoint(const Point& point) {
  const bool drawn = !NamesIdFile(point.Text("ids"));
  for (const char* axis : {"policy", "capacity", "batch", "interval", "ttl"}) point.Text(axis);
  for (const char* axis : {"count", "rows"})
    if (drawn) point.Text(axis);
}

// A trace through one policy.
class EvictionRun {
 public:
  explicit EvictionRun(const Point& point)
      : trace_(TraceOf(point)), policy_(point.Text("policy")), batch_(point.Int("batch")) {
    const double share = point.Number("capacity") * static_cast<double>(trace_.distinct);
    options_ = {.capacity = std::max<int64_t>(1, std::llround(share)),
                .interval = point.Int("interval"),
                .ttl = point.Int("ttl")};
    best_ = BestHits(trace_.dense, batch_, options_.capacity);
  }

  void Run(Context& ctx) { hits_ = Hits(ctx, nullptr); }

  // Nobody reads a row that was another's since it was last given; nobody beats the optimum.
  void Check(Context& ctx) {
    std::unordered_map<int64_t, int64_t> owner;  // of a row
    Hits(ctx, [&](auto ids, auto rows, auto evicted) {
      for (const int64_t row : evicted) owner.erase(row);
      for (size_t i = 0; i < ids.size(); ++i) {
        if (rows[i] < 0) continue;
        const int64_t first = owner.emplace(rows[i], ids[i]).first->second;
        TESSERA_CHECK_EQ(first, ids[i], "{}: the id that row {} belongs to", policy_, rows[i]);
      }
    });
    Run(ctx);
    TESSERA_CHECK(hits_ <= best_, "{}: {} hits, where the optimum has {}", policy_, hits_, best_);
  }

  int64_t count() const { return static_cast<int64_t>(trace_.raw.size()); }
  std::vector<std::pair<std::string, double>> Facts() const {
    const auto share = [&](int64_t hits) {
      return static_cast<double>(hits) / static_cast<double>(count());
    };
    return {{"hit_rate", share(hits_)},
            {"best_hit_rate", share(best_)},
            {"distinct", static_cast<double>(trace_.distinct)},
            {"rows", static_cast<double>(options_.capacity)}};
  }

 private:
  int64_t Hits(Context& ctx, const SeeRows& see) const {
    return HitsOf(ctx, MakePolicy(ctx, policy_, options_), trace_.raw, batch_, see);
  }

  RawIdTrace trace_;
  std::string policy_;
  int64_t batch_;
  PolicyOptions options_;
  int64_t hits_ = 0, best_ = 0;
};

Work MakeWork(Context& ctx, const Point& point) {
  const auto run = std::make_shared<EvictionRun>(point);
  Work work;
  work.check = [&ctx, run] { run->Check(ctx); };
  work.contenders = {{"tessera", [&ctx, run](int) { run->Run(ctx); }}};
  work.items = run->count();
  work.facts_after = [run] { return run->Facts(); };
  return work;
}

}  // namespace

const Topic& EvictionTopic() {
  static const Topic topic{
      .name = "eviction",
      .help =
          "How many ids find a row of their own where rows are few, beside the best that could "
          "be (Belady's optimum); a call is a whole trace.",
      .limit = "",
      .axes = {{"ids", {"zipf:1.05"}, Format("{} | {}", kDrawnIdsHelp, kIdFileHelp), CheckIdSource},
               {"policy", EvictionPolicies(), "who gets rows, and loses them",
                OneOf(EvictionPolicies())},
               {"capacity", {"0.1"}, "rows as a share of distinct ids", NumberFrom(1e-6, 1)},
               {"batch", {"1024"}, "ids that come together", WholeFrom(1)},
               {"interval", {"1"}, "batches between two evictions of mch", WholeFrom(1)},
               {"ttl", {"16"}, "batches that an id keeps its slot with zch_ttl", WholeFrom(1)},
               {"count", {"200k"}, "ids that are made up", WholeFrom(1, int64_t{1} << 32)},
               {"rows", {"100k"}, "of which ids are made up", WholeFrom(1, int64_t{1} << 40)}},
      .suites = {},
      .make = MakeWork,
      .check = CheckPoint,
      .cold = false};
  return topic;
}

}  // namespace tessera::bench
