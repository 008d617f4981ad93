// The whole update of the rows that a batch names (embedding/update/update.h), from ids and
// gradients to rows and states, under the rules sgd and rowwise_adagrad. A variant changes tables
// as ours does, step after step.
#include <vector>

#include "bench/embedding/shape_axes.h"
#include "bench/embedding/workload.h"
#include "bench/lab/hard_batch.h"
#include "bench/lab/kernel.h"
#include "bench/lab/named_rows.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

constexpr uint32_t kSeed = 11;
constexpr int kSteps = 3;

std::vector<Axis> Axes() {
  std::vector<Axis> axes = ShapeAxes({.states = true});
  axes.push_back(
      {"rule", {"rowwise_adagrad"}, "sgd or rowwise_adagrad", OneOf({"sgd", "rowwise_adagrad"})});
  return axes;
}

AnyRule RuleOf(const std::string& name) {
  if (name == "sgd") return Sgd{.lr = 1e-3f};
  return RowwiseAdagrad{.lr = 1e-3f};
}

// Row-wise Adagrad's, the larger one.
int64_t BytesOfState(int64_t) { return sizeof(float); }

// The closures of a point share this.
struct Data {
  Data(Context& ctx, const Shape& shape, const AnyRule& of)
      : rule(of),
        work(ctx, shape, 0, 1),
        tables(work.Tables(rule)),
        named({work.Lookup(0, true), tables, 1}) {}
  UpdateArgs Args(int round) { return {work.Lookup(round, true), tables, round + 1}; }

  AnyRule rule;
  Workload work;
  std::vector<UpdateTable> tables;
  NamedRows named;  // by the batch of round 0
};

// Some steps on the hard batch's tables.
void RunSteps(Context& ctx, const KernelFunction<UpdateArgs>& run, HardBatch& batch,
              const AnyRule& rule) {
  const std::vector<UpdateTable> tables = batch.Tables(rule);
  for (int step = 1; step <= kSteps; ++step) run(ctx, {batch.Gradient(), tables, step});
}

void Ours(Context& ctx, const UpdateArgs& args) { Update(ctx, args); }

// shape: of tables that are alike.
KernelPoint<UpdateArgs>::Check HardCheck(const Shape& shape, const AnyRule& rule) {
  const auto fresh = std::make_shared<const HardBatch>(shape, kSeed);
  const auto expected = std::make_shared<HardBatch>(*fresh);
  Context one({.threads = 1});
  RunSteps(one, Ours, *expected, rule);
  return [rule, fresh, expected](Context& ctx, const auto& run, bool) {
    HardBatch batch = *fresh;
    RunSteps(ctx, run, batch, rule);
    batch.CompareTables(*expected);
    batch.CheckGuards();
  };
}

KernelPoint<UpdateArgs>::Check HardChecks(const Shape& shape, const AnyRule& rule) {
  std::vector<KernelPoint<UpdateArgs>::Check> checks;
  for (const Shape& alike : shape.Alike()) checks.push_back(HardCheck(alike, rule));
  return [checks](Context& ctx, const auto& run, bool other_sums) {
    for (const auto& check : checks) check(ctx, run, other_sums);
  };
}

// One step of ours and one of the variant, from the same rows, which are then put back.
void CheckTimed(Context& ctx, Data& data, const KernelFunction<UpdateArgs>& run) {
  const NamedRows::Bytes before = data.named.Read();
  const uint64_t all = Fingerprint(ctx, data.tables);
  Ours(ctx, data.Args(0));
  const NamedRows::Bytes expected = data.named.Read();
  data.named.Write(before);
  run(ctx, data.Args(0));
  data.named.Compare(expected);
  data.named.Write(before);
  TESSERA_CHECK(Fingerprint(ctx, data.tables) == all,
                "a row that the timed batch does not name was changed");
}

KernelPoint<UpdateArgs> Make(Context& ctx, const Point& point) {
  Shape shape = ShapeOf(point);
  shape.state_type = ParseDType(point.Text("state-type"));
  const auto data = std::make_shared<Data>(ctx, shape, RuleOf(point.Text("rule")));
  const int64_t ahead = BestAhead(ctx, data->work, data->rule);
  return {.ours = Ours,
          .args = [data](int round) { return data->Args(round); },
          .check_hard = HardChecks(shape, data->rule),
          .check_timed = [data](Context& c, const auto& run, bool) { CheckTimed(c, *data, run); },
          .limit = {"bare update",
                    [&ctx, data, ahead](int round) {
                      data->work.RunBareUpdate(ctx, round, data->rule, ahead);
                    }},
          .bytes = data->work.UpdateBytes(data->rule),
          .items = data->work.num_ids(),
          .facts = data->work.UpdateFacts(data->rule),
          .details =
              [&ctx, data](bool cold) {
                return data->work.UpdateHits(data->rule, ctx.threads().threads(), cold);
              }};
}

const RegisterKernel<UpdateArgs> kUpdate({.name = "update",
                                          .limit = "a bare gather-modify-scatter of the same rows",
                                          .axes = Axes,
                                          .make = Make,
                                          .memory = [](const Point& point) {
                                            return TableBytes(point, BytesOfState);
                                          }});

}  // namespace
}  // namespace tessera::bench
