// Rows of many tables, pooled (embedding/lookup/lookup.h). A variant is held against the obvious
// loop (bench/embedding/lookup_check.h), and so is the library's own lookup.
#include <vector>

#include "bench/embedding/lookup_check.h"
#include "bench/embedding/shape_axes.h"
#include "bench/embedding/workload.h"
#include "bench/lab/hard_batch.h"
#include "bench/lab/kernel.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

constexpr uint32_t kSeed = 11;

std::vector<Axis> Axes() { return ShapeAxes({.outputs = true}); }

KernelPoint<LookupArgs> Make(Context& ctx, const Point& point) {
  const Shape shape = ShapeOf(point);
  const auto data = std::make_shared<Workload>(ctx, shape, 0, 0);
  const auto hard = std::make_shared<std::vector<HardBatch>>();
  for (const Shape& alike : shape.Alike()) hard->emplace_back(alike, kSeed);
  return {.ours = [](Context& c, const LookupArgs& args) { Lookup(c, args); },
          .args = [data](int round) { return data->Lookup(round, false); },
          .check_hard =
              [hard](Context& c, const auto& run, bool) {
                for (HardBatch& batch : *hard) {
                  const LookupArgs args = batch.Lookup();
                  run(c, args);
                  CheckLookup(args);
                  batch.CheckGuards();
                }
              },
          .check_timed =
              [data](Context& c, const auto& run, bool) {
                data->ClearOutput();
                const LookupArgs args = data->Lookup(0, false);
                run(c, args);
                CheckLookup(args);
              },
          .limit = {"bare gather", [&ctx, data](int round) { data->RunGather(ctx, round); }},
          .bytes = data->LookupBytes(),
          .items = data->num_ids(),
          .facts = data->LookupFacts(),
          .details = [&ctx,
                      data](bool cold) { return data->LookupHits(ctx.threads().threads(), cold); }};
}

const RegisterKernel<LookupArgs> kLookup({.name = "lookup",
                                          .limit = "a bare gather of the same rows",
                                          .axes = Axes,
                                          .make = Make,
                                          .memory = [](const Point& point) {
                                            return TableBytes(point);
                                          }});

}  // namespace
}  // namespace tessera::bench
