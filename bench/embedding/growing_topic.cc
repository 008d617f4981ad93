#include "bench/embedding/growing_topic.h"

#include <iterator>
#include <memory>

#include "bench/embedding/growing_calls.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

constexpr const char* kOps[] = {"find", "insert", "evict", "lookup", "step"};

using Call = void (GrowingCalls::*)(Context&, int);

Contender Calling(const std::string& name, Context& ctx, std::shared_ptr<GrowingCalls> calls,
                  Call call, bool renew) {
  Contender contender = {name, [&ctx, calls, call](int round) { ((*calls).*call)(ctx, round); }};
  if (renew) contender.before = [calls](int round) { calls->Renew(round); };
  return contender;
}

GrowingShape GrowingShapeOf(const Point& point) {
  const std::string op = point.Text("op");
  GrowingShape shape;
  shape.rows = point.Int("rows");
  shape.dim = point.Int("dim");
  shape.batch = point.Int("batch");
  shape.pooling = point.Int("pooling");
  shape.skew = ParseSkew(point.Text("skew"));
  shape.new_ids = op == "step" ? point.Number("new") : op == "insert" || op == "evict" ? 1 : 0;
  shape.full = op == "evict";
  shape.tables = op == "lookup" || op == "step";
  return shape;
}

Work MakeGrowingWork(Context& ctx, const Point& point) {
  const std::string op = point.Text("op");
  const auto calls = std::make_shared<GrowingCalls>(ctx, GrowingShapeOf(point));
  Work work;
  work.check = [&ctx, calls] { calls->Check(ctx); };
  work.items = calls->num_ids();
  const auto add = [&](Call ours, Call rows, bool renew) {
    work.contenders = {Calling("tessera", ctx, calls, ours, renew)};
    if (rows != nullptr) work.limit = Calling("rows", ctx, calls, rows, false);
  };
  if (op == "find") add(&GrowingCalls::Find, nullptr, false);
  if (op == "insert" || op == "evict") add(&GrowingCalls::Insert, nullptr, true);
  if (op == "lookup") add(&GrowingCalls::Lookup, &GrowingCalls::LookupRows, false);
  if (op == "step") add(&GrowingCalls::Step, &GrowingCalls::StepRows, true);
  work.facts_after = [calls] {
    return std::vector<std::pair<std::string, double>>{
        {"memory_beside_plain_rows_share", calls->MemoryShare()},
        {"index_bytes", static_cast<double>(calls->index_bytes())},
        {"longest_ms", calls->longest_ms()}};
  };
  return work;
}

std::vector<Point> TargetPoints() {
  std::vector<Point> points;
  for (const std::string op : kOps)
    points.emplace_back(op + "_D64_L20", PointValues{{"op", op}, {"threads", "1"}});
  return points;
}

}  // namespace

const Topic& GrowingTopic() {
  static const std::vector<std::string> ops(std::begin(kOps), std::end(kOps));
  static const Topic topic = {
      .name = "growing",
      .help = "Raw ids in a table that grows: found, looked up, trained, entered.",
      .limit = "the same lookup or step with plain row numbers",
      .axes = {{"op", ops,
                "find: rows of known ids; insert: new ids, with room for all; evict: new ids, with "
                "room for none; lookup: raw ids to pooled rows; step: forward and update",
                OneOf(ops)},
               {"rows", {"2M"}, "ids that have a row", WholeFrom(1, int64_t{1} << 31)},
               {"dim", {"64"}, "columns of a row", WholeFrom(1, 1 << 16)},
               {"batch", {"4096"}, "bags", WholeFrom(1)},
               {"pooling", {"20"}, "ids of a bag", WholeFrom(1)},
               {"skew", {"uniform"}, kSkewHelp, [](const std::string& text) { ParseSkew(text); }},
               {"new", {"0.01"}, "share of new ids in a step", NumberFrom(0, 1)}},
      .suites = {{"targets", "the cases that have a target, on one thread", TargetPoints()}},
      .make = MakeGrowingWork,
      .check = [](const Point& point) { GrowingShapeOf(point); }};
  return topic;
}

}  // namespace tessera::bench
