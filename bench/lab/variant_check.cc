#include "bench/lab/variant_check.h"

#include "bench/embedding/lookup_check.h"
#include "bench/lab/hard_batch.h"
#include "bench/lab/interruptions.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

constexpr uint32_t kSeed = 11;
constexpr int kSteps = 3;
constexpr int kThreads = 4, kRepeats = 10;

void RunAndCheck(Context& ctx, const LookupFunction& run, HardBatch& batch) {
  const LookupArgs args = batch.Lookup();
  run(ctx, args);
  CheckLookup(args);
  batch.CheckGuards();
}

void CompareBytes(const std::vector<char>& ours, const std::vector<char>& theirs, const char* what,
                  size_t table, int64_t rows) {
  if (ours == theirs) return;
  size_t at = 0;
  while (ours[at] == theirs[at]) ++at;
  TESSERA_FAIL("table {}: {} of row {}: not the bits of ours", table, what,
               static_cast<int64_t>(at) * rows / static_cast<int64_t>(ours.size()));
}

void RunAndCompare(Context& ctx, const Grouping& run, const Shape& shape, const AnyRule& rule) {
  HardBatch ours(shape, kSeed), theirs(shape, kSeed);
  const std::vector<UpdateTable> our_tables = ours.Tables(rule), tables = theirs.Tables(rule);
  for (int step = 1; step <= kSteps; ++step) {
    Update(ctx, {ours.Gradient(), our_tables, step});
    UpdateGrouped(ctx, {theirs.Gradient(), tables, step}, run);
  }
  for (size_t t = 0; t < tables.size(); ++t) {
    CompareBytes(ours.rows(t), theirs.rows(t), "the weights", t, ours.num_rows(t));
    CompareBytes(ours.row_states(t), theirs.row_states(t), "the state", t, ours.num_rows(t));
  }
}

template <typename Fn>
void OfVariant(const std::string& name, Fn&& check) {
  try {
    Context one({.threads = 1}), many({.threads = kThreads});
    check(one);
    const Interruptions interruptions(many);
    for (int i = 0; i < kRepeats; ++i) check(many);
  } catch (const Error& error) {
    throw Error(Format("variant {}: {}", name, error.what()));
  }
}

}  // namespace

void CheckLookupVariant(const std::string& name, const LookupFunction& run, const Shape& shape) {
  for (const Shape& alike : shape.Alike()) {
    HardBatch batch(alike, kSeed);
    OfVariant(name, [&](Context& ctx) { RunAndCheck(ctx, run, batch); });
  }
}

void CheckUpdateVariant(const std::string& name, const Grouping& run, const Shape& shape,
                        const AnyRule& rule) {
  for (const Shape& alike : shape.Alike())
    OfVariant(name, [&](Context& ctx) { RunAndCompare(ctx, run, alike, rule); });
}

}  // namespace tessera::bench
