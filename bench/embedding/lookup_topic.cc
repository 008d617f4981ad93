#include "bench/embedding/lookup_topic.h"

#include <memory>
#include <utility>

#include "bench/embedding/growth_suite.h"
#include "bench/embedding/lookup_check.h"
#include "bench/embedding/module_calls.h"
#include "bench/embedding/shape_axes.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

Work OpWork(Context& ctx, const Shape& shape) {
  const auto data = std::make_shared<Workload>(ctx, shape, 0, 0);
  Work work;
  work.check = [&ctx, data] {
    Lookup(ctx, data->Lookup(0, false));
    CheckLookup(data->Lookup(0, false));
  };
  work.contenders = {
      {"tessera", [&ctx, data](int round) { Lookup(ctx, data->Lookup(round, false)); }}};
  work.limit = {"bare gather", [&ctx, data](int round) { data->RunGather(ctx, round); }};
  work.bytes = data->LookupBytes();
  work.items = data->num_ids();
  work.facts = data->LookupFacts();
  work.details = [&ctx, data](bool cold) {
    return data->LookupHits(ctx.threads().threads(), cold);
  };
  return work;
}

Work ModuleWork(Context& ctx, const Shape& shape) {
  const auto calls = std::make_shared<ModuleCalls>(ctx, shape);
  Work work;
  work.check = [&ctx, calls] { calls->Check(ctx); };
  work.contenders = {{"tessera", [&ctx, calls](int round) { calls->CallTables(ctx, round); }}};
  if (calls->has_collection())
    work.contenders.push_back(
        {"collection", [&ctx, calls](int round) { calls->CallCollection(ctx, round); }});
  work.items = calls->num_ids();
  work.warm = calls->num_ids() <= kSmallCall;
  return work;
}

bool IsModule(const Point& point) { return point.Text("api") == "module"; }

Work MakeLookupWork(Context& ctx, const Point& point) {
  const Shape shape = ShapeOf(point);
  return IsModule(point) ? ModuleWork(ctx, shape) : OpWork(ctx, shape);
}

// Points that measure the cost of a call with few ids, on one thread.
std::vector<Point> SmallCalls() {
  std::vector<Point> points;
  const auto add = [&](const std::string& name, PointValues values) {
    values.insert(values.end(), {{"api", "module"}, {"threads", "1"}});
    points.emplace_back(name, std::move(values));
  };
  for (const std::string batch : {"1", "64"}) {
    add("call_T1_B" + batch + "_L1", {{"tables", "1"}, {"batch", batch}, {"pooling", "1"}});
    add("call_T26_B" + batch + "_L1", CriteoValues("10k", "64", batch));
  }
  return points;
}

std::vector<Point> PeerPoints() {
  std::vector<Point> points = {
      Point("D128", {}),
      Point("D128_zipf1.05", {{"skew", "zipf:1.05"}}),
      Point("D128_weighted", {{"weighted", "yes"}}),
      Point("D128_mean", {{"mode", "mean"}}),
      Point("D128_sequence", {{"mode", "none"}, {"pooling", "5"}}),
      Point("D16", {{"dim", "16"}}),
      Point("D32", {{"dim", "32"}}),
      Point("D64", {{"dim", "64"}}),
      Point("D256", {{"dim", "256"}, {"rows", "500k"}}),
      Point("D16_sequence", {{"dim", "16"}, {"mode", "none"}}),
  };
  for (const std::string dim : {"16", "64", "128"})
    points.emplace_back("criteo_D" + dim, CriteoValues("1M", dim, "2048"));
  for (Point& point : SmallCalls()) points.push_back(std::move(point));
  return points;
}

std::vector<Axis> LookupAxes() {
  std::vector<Axis> axes = ShapeAxes({.outputs = true});
  axes.push_back({"api",
                  {"op"},
                  "op: Lookup on arguments that lie ready; module: TableBatchedEmbedding and "
                  "EmbeddingBagCollection",
                  OneOf({"op", "module"})});
  return axes;
}

}  // namespace

const Topic& LookupTopic() {
  static const Topic topic = {
      .name = "lookup",
      .help = "Rows of many tables, pooled in one call: the forward of embedding tables.",
      .limit = "a bare gather of the same rows",
      .axes = LookupAxes(),
      .suites = {{"peers", "the cases of the comparison with FBGEMM, torch and TorchRec",
                  PeerPoints()},
                 {"calls", "what a call of few ids costs", SmallCalls()},
                 GrowthSuite()},
      .make = MakeLookupWork,
      .check =
          [](const Point& point) {
            ShapeOf(point);
            IsModule(point);
          },
      .memory = [](const Point& point) { return TableBytes(point); },
      .small_calls = SmallCalls("with --api module"),
      .may_be_small = IsModule};
  return topic;
}

}  // namespace tessera::bench
