#include "bench/lab/lab_topic.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "bench/embedding/lookup_check.h"
#include "bench/embedding/shape_axes.h"
#include "bench/harness/run_bare.h"
#include "bench/lab/lookup_variants.h"
#include "bench/lab/update_check.h"
#include "bench/lab/update_variants.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

// Whether the axis "variants" ("all", or names joined by '+') has the name.
bool Wanted(const Point& point, const std::string& name) {
  const std::string& text = point.Text("variants");
  return text == "all" || ("+" + text + "+").find("+" + name + "+") != std::string::npos;
}

void CheckVariant(Context& ctx, Workload& data, const LookupVariant& variant) {
  data.output().Fill(ctx, std::numeric_limits<double>::quiet_NaN());
  const LookupArgs args = data.Lookup(0, false);
  variant.run(ctx, args);
  try {
    CheckLookup(args);
  } catch (const Error& error) {
    TESSERA_FAIL("variant {}: {}", variant.name, error.what());
  }
}

Work LookupWork(Context& ctx, const Point& point, const Shape& shape) {
  const auto data = std::make_shared<Workload>(ctx, shape, 0, 0);
  std::vector<LookupVariant> variants = {
      {"tessera", "ours", [](Context& c, const LookupArgs& args) { Lookup(c, args); }}};
  for (const LookupVariant& variant : LookupVariants())
    if (Wanted(point, variant.name)) variants.push_back(variant);
  Work work;
  work.check = [&ctx, data, variants] {
    for (const LookupVariant& variant : variants) CheckVariant(ctx, *data, variant);
  };
  for (const LookupVariant& variant : variants)
    work.contenders.push_back({variant.name, [&ctx, data, run = variant.run](int round) {
                                 run(ctx, data->Lookup(round, false));
                               }});
  work.limit = {"bare gather", [&ctx, data](int round) { RunBare(ctx, data->Gather(round)); }};
  work.bytes = data->LookupBytes();
  work.items = data->num_ids();
  return work;
}

AnyRule RuleOf(const std::string& name) {
  if (name == "sgd") return Sgd{.lr = 1e-3f};
  return RowwiseAdagrad{.lr = 1e-3f};
}

// The data that the closures of an update share.
struct UpdateData {
  UpdateData(Context& ctx, const Shape& shape, const AnyRule& of)
      : rule(of), work(ctx, shape, 0, 1), tables(work.Tables(rule)) {}
  UpdateArgs Args(int round) { return {work.Lookup(round, true), tables, round + 1}; }
  AnyRule rule;
  Workload work;
  std::vector<UpdateTable> tables;
};

Work UpdateWork(Context& ctx, const Point& point, const Shape& shape) {
  const auto data = std::make_shared<UpdateData>(ctx, shape, RuleOf(point.Text("rule")));
  std::vector<UpdateVariant> variants;
  for (const UpdateVariant& variant : UpdateVariants())
    if (Wanted(point, variant.name)) variants.push_back(variant);
  Work work;
  work.check = [&ctx, data, variants, shape] {
    for (const UpdateVariant& variant : variants)
      CheckUpdateVariant(ctx, shape, data->rule, variant);
  };
  work.contenders = {{"tessera", [&ctx, data](int round) { Update(ctx, data->Args(round)); }}};
  for (const UpdateVariant& variant : variants)
    work.contenders.push_back({variant.name, [&ctx, data, group = variant.group](int round) {
                                 UpdateGrouped(ctx, data->Args(round), group);
                               }});
  const int64_t ahead = BestAhead(ctx, data->work, data->rule);
  work.limit = {"bare update", [&ctx, data, ahead](int round) {
                  RunBare(ctx, data->work.Bare(round, data->rule, ahead));
                }};
  work.bytes = data->work.UpdateBytes(data->rule);
  work.items = data->work.num_ids();
  return work;
}

Work MakeWork(Context& ctx, const Point& point) {
  const Shape shape = ShapeOf(point);
  TESSERA_CHECK(shape.pooling == PoolingType::kSum && !shape.weighted,
                "the lab's variants take --mode sum --weighted no");
  TESSERA_CHECK(IsBareDim(shape.dim),
                "the lab's variants take --dim 16, 32, 64, 128 or 256; got {}", shape.dim);
  return point.Text("kernel") == "lookup" ? LookupWork(ctx, point, shape)
                                          : UpdateWork(ctx, point, shape);
}

void CheckVariantNames(const std::string& text) {
  if (text == "all") return;
  std::vector<std::string> names;
  for (const LookupVariant& v : LookupVariants()) names.push_back(v.name);
  for (const UpdateVariant& v : UpdateVariants()) names.push_back(v.name);
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('+', begin), text.size());
    OneOf(names)(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

std::vector<Axis> LabAxes() {
  std::vector<Axis> axes = ShapeAxes();
  axes.insert(axes.begin(),
              {"kernel", {"lookup"}, "lookup or update", OneOf({"lookup", "update"})});
  axes.push_back({"rule",
                  {"rowwise_adagrad"},
                  "of an update: sgd or rowwise_adagrad",
                  OneOf({"sgd", "rowwise_adagrad"})});
  axes.push_back({"variants", {"all"}, "all, or names joined by +", CheckVariantNames});
  return axes;
}

}  // namespace

const Topic& LabTopic() {
  static const Topic topic = {
      .name = "lab",
      .help = "Variants of the kernels of lookup and update, checked and ranked beside ours.",
      .limit = "a bare gather, or gather-modify-scatter, of the same rows",
      .axes = LabAxes(),
      .suites = {},
      .make = MakeWork,
      .memory = [](const Point& point) { return TableBytes(point, sizeof(float)); }};
  return topic;
}

}  // namespace tessera::bench
