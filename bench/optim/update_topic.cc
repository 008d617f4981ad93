#include "bench/optim/update_topic.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/embedding/growth_suite.h"
#include "bench/embedding/shape_axes.h"
#include "bench/optim/update_check.h"
#include "embedding/plugin_rules.h"
#include "optim/rule_options.h"
#include "optim/state_bytes.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

// Every rule that a configuration can name and a backward applies, with the defaults of its options
// but a small step.
const std::vector<AnyRule>& Rules() {
  static const std::vector<AnyRule> rules = [] {
    std::vector<AnyRule> made;
    ForEachNamedRule([&](auto rule) {
      if constexpr (!std::is_same_v<decltype(rule), Dense>) made.emplace_back(rule);
    });
    for (AnyRule& rule : made) SetLearningRate(rule, 1e-3f);
    return made;
  }();
  return rules;
}

std::vector<std::string> RuleNames() {
  std::vector<std::string> names;
  for (const AnyRule& rule : Rules()) names.push_back(RuleName(rule));
  return names;
}

AnyRule RuleOf(const std::string& name) {
  if (const RulePlugin* plugin = FindRulePlugin(name)) {
    AnyRule rule = MakePluginRule(*plugin);
    SetLearningRate(rule, 1e-3f);
    return rule;
  }
  OneOf(RuleNames())(name);
  size_t i = 0;
  while (name != RuleName(Rules()[i])) ++i;
  return Rules()[i];
}

// Tables, their states and batches.
struct UpdateWork {
  UpdateWork(Context& ctx, const Shape& shape, const AnyRule& of, int element, int row)
      : rule(of), data(ctx, shape, element, row), tables(data.Tables(rule)) {}

  void Run(Context& ctx, int round) { Update(ctx, {data.Lookup(round, true), tables, round + 1}); }

  const AnyRule rule;
  Workload data;
  std::vector<UpdateTable> tables;
};

// The type of the rule's states is read where it has states of that type.
Shape ShapeOf(const Point& point, const AnyRule& rule) {
  Shape shape = bench::ShapeOf(point);
  const auto takes_type = [](const StateSpec& state) { return !state.counts; };
  if (std::ranges::any_of(RuleStates(rule), takes_type))
    shape.state_type = ParseDType(point.Text("state-type"));
  return shape;
}

std::shared_ptr<UpdateWork> MakeUpdateWork(Context& ctx, const Shape& shape, const AnyRule& rule) {
  int element = 0, row = 0;
  for (const StateSpec& spec : RuleStates(rule)) ++(spec.per_row ? row : element);
  return std::make_shared<UpdateWork>(ctx, shape, rule, element, row);
}

Work MakeWork(Context& ctx, const Point& point) {
  const AnyRule rule = RuleOf(point.Text("rule"));
  const auto update = MakeUpdateWork(ctx, ShapeOf(point, rule), rule);
  Work work;
  work.check = [&ctx, update] {
    const UpdateCheck check(update->data.Lookup(0, true));
    update->Run(ctx, 0);
    check.Verify();
  };
  work.contenders = {{"tessera", [&ctx, update](int round) { update->Run(ctx, round); }}};
  const int64_t ahead = BestAhead(ctx, update->data, update->rule);
  work.limit = {"bare update", [&ctx, update, ahead](int round) {
                  update->data.RunBareUpdate(ctx, round, update->rule, ahead);
                }};
  work.bytes = update->data.UpdateBytes(update->rule);
  work.items = update->data.num_ids();
  work.facts = update->data.UpdateFacts(update->rule);
  work.details = [&ctx, update](bool cold) {
    return update->data.UpdateHits(update->rule, ctx.threads().threads(), cold);
  };
  return work;
}

void CheckPoint(const Point& point) {
  const AnyRule rule = RuleOf(point.Text("rule"));
  const Shape shape = ShapeOf(point, rule);
  for (size_t t = 0; t < shape.rows.size(); ++t) CheckDimOfRule(rule, shape.DimOf(t));
}

Point PointOf(const std::string& rule, const std::string& name, PointValues values) {
  values.emplace_back("rule", rule);
  return Point(rule + "_" + name, std::move(values));
}

std::vector<Point> RulePoints() {
  std::vector<Point> points;
  for (const std::string dim : {"16", "128"})
    for (const std::string& rule : RuleNames())
      points.push_back(PointOf(rule, "D" + dim, {{"dim", dim}, {"tables", "4"}}));
  return points;
}

Point Criteo(const std::string& rule, const std::string& dim) {
  return PointOf(rule, "criteo_D" + dim, CriteoValues("1M", dim, "2048"));
}

std::vector<Point> PeerPoints() {
  std::vector<Point> points;
  const auto add = [&](const char* rule, const std::string& name, const PointValues& values) {
    points.push_back(PointOf(rule, name, values));
  };
  for (const char* rule : {"rowwise_adagrad", "sgd"}) {
    add(rule, "D128", {});
    add(rule, "D128_zipf1.05", {{"skew", "zipf:1.05"}});
  }
  for (const std::string dim : {"16", "32", "64", "256"})
    add("rowwise_adagrad", "D" + dim, {{"dim", dim}, {"rows", dim == "256" ? "500k" : "1M"}});
  for (const char* rule : {"sgd", "adagrad", "adam"}) add(rule, "D16", {{"dim", "16"}});
  for (const char* rule : {"adagrad", "adam"}) add(rule, "D128_T4", {{"tables", "4"}});
  for (const char* dim : {"16", "64", "128"}) points.push_back(Criteo("rowwise_adagrad", dim));
  for (const char* rule : {"sgd", "adagrad", "adam"}) points.push_back(Criteo(rule, "64"));
  add("rowwise_adagrad", "D128_mean", {{"mode", "mean"}});
  add("rowwise_adagrad", "D128_weighted", {{"weighted", "yes"}});
  for (const char* rule : {"rowwise_adagrad", "sgd"})
    add(rule, "D128_sequence", {{"mode", "none"}, {"pooling", "5"}});
  return points;
}

std::vector<Axis> UpdateAxes() {
  std::vector<Axis> axes = ShapeAxes({.states = true});
  axes.insert(axes.begin(),
              {"rule",
               {"rowwise_adagrad"},
               "the optimizer, by its name in docs/guide/optimizers.md, or that of --plugin",
               [](const std::string& name) { RuleOf(name); }});
  return axes;
}

}  // namespace

const Topic& UpdateTopic() {
  static const Topic topic = {
      .name = "update",
      .help = "Backward of embedding tables: gradients of bags summed by row, the rule applied.",
      .limit = "a bare gather-modify-scatter of the same rows, grouping given",
      .axes = UpdateAxes(),
      .suites = {{"rules", "every rule, on 4 tables of dim 16 and 128", RulePoints()},
                 {"peers", "the cases of the comparison with FBGEMM and torch", PeerPoints()},
                 GrowthSuite()},
      .make = MakeWork,
      .check = CheckPoint,
      .memory =
          [](const Point& point) {
            const AnyRule rule = RuleOf(point.Text("rule"));
            const DType type = ParseDType(point.Text("state-type"));
            return TableBytes(point, [&](int64_t dim) { return StateBytesARow(rule, type, dim); });
          },
      .plugins = true};
  return topic;
}

}  // namespace tessera::bench
