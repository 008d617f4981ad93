#include "bench/lab/lab_topic.h"

#include <algorithm>
#include <memory>

#include "bench/embedding/lookup_check.h"
#include "bench/embedding/shape_axes.h"
#include "bench/harness/sweep.h"
#include "bench/lab/lookup_variant.h"
#include "bench/lab/update_variant.h"
#include "bench/lab/variant_check.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

constexpr char kOurs[] = "tessera";

// Whether the axis "variants" ("all", or names joined by '+') has the name.
bool Wanted(const std::string& text, const std::string& name) {
  return text == "all" || ("+" + text + "+").find("+" + name + "+") != std::string::npos;
}

std::vector<std::string> NamesOf(const std::string& text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('+', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

template <typename Variant>
void AddNames(std::vector<std::string>& names) {
  for (const Variant& variant : RegisteredVariants<Variant>()) names.push_back(variant.name);
}

// Each is a variant of this kernel.
template <typename Variant>
void CheckNames(const Point& point) {
  std::vector<std::string> known;
  AddNames<Variant>(known);
  for (const std::string& name : NamesOf(point.Text("variants")))
    if (name != "all" && std::find(known.begin(), known.end(), name) == known.end())
      throw Error(Format("--variants {} with --kernel {}: it has the variants {}", name,
                         point.Text("kernel"), ListOfNames(known)));
}

// A parameter that no chosen variant has must be left as it is.
template <typename Variant>
void CheckParameters(const Point& point, const std::vector<std::string>& chosen) {
  for (const Variant& variant : RegisteredVariants<Variant>())
    for (const Axis& parameter : variant.parameters)
      if (point.Text(parameter.name) != parameter.values[0] &&
          std::find(chosen.begin(), chosen.end(), variant.name) == chosen.end())
        throw Error(Format("--{} {}: a parameter of variant {}, which is not timed here",
                           parameter.name, point.Text(parameter.name), variant.name));
}

// The variants that the point names and that take its shape. Those of "all" that do not take it are
// left out, and a note of the work says so; one that the point names is an error.
template <typename Variant>
std::vector<Variant> Chosen(const Point& point, const Shape& shape, Work& work) {
  CheckNames<Variant>(point);
  const std::string& names = point.Text("variants");
  std::vector<Variant> chosen;
  for (const Variant& variant : RegisteredVariants<Variant>()) {
    if (!Wanted(names, variant.name)) continue;
    std::string not_taken;
    if constexpr (requires { variant.takes; }) not_taken = NotTaken(variant.takes, shape);
    if (not_taken.empty())
      chosen.push_back(variant);
    else if (names == "all")
      work.notes.push_back(Format("variant {} does not take {}", variant.name, not_taken));
    else
      throw Error(Format("--variants {}: {} does not take {}", names, variant.name, not_taken));
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const Variant& a, const Variant& b) { return a.name < b.name; });
  std::vector<std::string> timed;
  for (const Variant& variant : chosen) timed.push_back(variant.name);
  CheckParameters<LookupVariant>(point, timed);
  CheckParameters<UpdateVariant>(point, timed);
  return chosen;
}

// Every output of the batch that is timed, too.
void CheckTimedLookup(Context& ctx, Workload& data, const std::string& name,
                      const LookupFunction& run) {
  data.ClearOutput();
  const LookupArgs args = data.Lookup(0, false);
  run(ctx, args);
  try {
    CheckLookup(args);
  } catch (const Error& error) {
    throw Error(Format("variant {}: {}", name, error.what()));
  }
}

Work LookupWork(Context& ctx, const Point& point, const Shape& shape) {
  const auto data = std::make_shared<Workload>(ctx, shape, 0, 0);
  Work work;
  std::vector<std::pair<std::string, LookupFunction>> functions = {
      {kOurs, [](Context& c, const LookupArgs& args) { Lookup(c, args); }}};
  for (const LookupVariant& variant : Chosen<LookupVariant>(point, shape, work))
    functions.emplace_back(variant.name, variant.At(point));
  work.check = [&ctx, data, functions, shape] {
    for (const auto& [name, run] : functions) {
      CheckLookupVariant(name, run, shape);
      CheckTimedLookup(ctx, *data, name, run);
    }
  };
  for (const auto& [name, run] : functions)
    work.contenders.push_back(
        {name, [&ctx, data, run = run](int round) { run(ctx, data->Lookup(round, false)); }});
  work.limit = {"bare gather", [&ctx, data](int round) { data->RunGather(ctx, round); }};
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
  Work work;
  std::vector<std::pair<std::string, Grouping>> groupings;
  for (const UpdateVariant& variant : Chosen<UpdateVariant>(point, shape, work))
    groupings.emplace_back(variant.name, variant.At(point));
  work.check = [data, groupings, shape] {
    for (const auto& [name, group] : groupings) CheckUpdateVariant(name, group, shape, data->rule);
  };
  work.contenders = {{kOurs, [&ctx, data](int round) { Update(ctx, data->Args(round)); }}};
  for (const auto& [name, group] : groupings)
    work.contenders.push_back({name, [&ctx, data, group = group](int round) {
                                 UpdateGrouped(ctx, data->Args(round), group);
                               }});
  const int64_t ahead = BestAhead(ctx, data->work, data->rule);
  work.limit = {"bare update", [&ctx, data, ahead](int round) {
                  data->work.RunBareUpdate(ctx, round, data->rule, ahead);
                }};
  work.bytes = data->work.UpdateBytes(data->rule);
  work.items = data->work.num_ids();
  return work;
}

Work MakeWork(Context& ctx, const Point& point) {
  const Shape shape = ShapeOf(point);
  const bool lookup = point.Text("kernel") == "lookup";
  TESSERA_CHECK(!lookup || shape.state_type == DType::kF32,
                "--state-type {} with --kernel lookup: a lookup reads no states", shape.state_type);
  TESSERA_CHECK(!lookup || point.Text("rule") == "rowwise_adagrad",
                "--rule {} with --kernel lookup: a lookup updates nothing", point.Text("rule"));
  TESSERA_CHECK(lookup || shape.output_type == DType::kF32,
                "--output-type {} with --kernel update: gradients are f32", shape.output_type);
  return lookup ? LookupWork(ctx, point, shape) : UpdateWork(ctx, point, shape);
}

void CheckVariantNames(const std::string& text) {
  if (text == "all") return;
  std::vector<std::string> names;
  AddNames<LookupVariant>(names);
  AddNames<UpdateVariant>(names);
  std::sort(names.begin(), names.end());
  for (const std::string& name : NamesOf(text)) OneOf(names)(name);
}

// The parameters of all variants; several may share one.
template <typename Variant>
void AddParameters(std::vector<Axis>& axes) {
  for (const Variant& variant : RegisteredVariants<Variant>())
    for (Axis parameter : variant.parameters) {
      const auto same = std::find_if(axes.begin(), axes.end(),
                                     [&](const Axis& a) { return a.name == parameter.name; });
      if (same != axes.end()) continue;
      parameter.help = Format("of variant {}: {}", variant.name, parameter.help);
      axes.push_back(parameter);
    }
}

std::vector<Axis> LabAxes() {
  std::vector<Axis> axes = ShapeAxes({.outputs = true, .states = true});
  axes.insert(axes.begin(),
              {"kernel", {"lookup"}, "lookup or update", OneOf({"lookup", "update"})});
  axes.push_back({"rule",
                  {"rowwise_adagrad"},
                  "of an update: sgd or rowwise_adagrad",
                  OneOf({"sgd", "rowwise_adagrad"})});
  axes.push_back({"variants", {"all"}, "all, or names joined by +", CheckVariantNames});
  AddParameters<LookupVariant>(axes);
  AddParameters<UpdateVariant>(axes);
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
      .memory =
          [](const Point& point) {
            return TableBytes(point, [](int64_t) { return int64_t{sizeof(float)}; });
          },
      .ranked = true};
  return topic;
}

}  // namespace tessera::bench
