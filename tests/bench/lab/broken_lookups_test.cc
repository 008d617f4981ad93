// The lab refuses a lookup, from plain or from stored rows, that does one thing wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "embedding/lookup/lookup.h"
#include "embedding/quantized/quantized_lookup.h"
#include "tests/bench/lab/lab_point.h"

namespace tessera::bench {
namespace {

// Mistakes that a lookup can make.
struct Faults {
  bool lane = false;      // the last column is its neighbour's
  bool stride = false;    // outputs lie close together
  bool boundary = false;  // a bag of more than 200 ids ends one id early
  bool negative = false;  // −1 stands for row 0
  bool empty = false;     // an empty bag is left as it was
  bool order = false;     // two halves of a bag are summed, then added
  bool weight = false;    // of the id before
  bool type = false;      // sums are kept in 16 bits
  bool last_row = false;  // is taken for none
  bool race = false;      // threads share their sums
  bool beside = false;    // one number is written behind the last output
  bool small = false;     // every output is a little too large
};

const std::pair<const char*, Faults> kFaults[] = {
    {"a lane", {.lane = true}},           {"a stride", {.stride = true}},
    {"boundary", {.boundary = true}},     {"-1", {.negative = true}},
    {"an empty bag", {.empty = true}},    {"order of sums", {.order = true}},
    {"a weight", {.weight = true}},       {"a type", {.type = true}},
    {"last row", {.last_row = true}},     {"a race", {.race = true}},
    {"beside outputs", {.beside = true}}, {"a small error", {.small = true}}};

// Number d of a row: of f32; stored as int8, behind a scale and a bias of 16 bits.
float NumberOf(const LookupFeature& f, int64_t id, int64_t d) { return f.RowAt<float>(id)[d]; }
float NumberOf(const QuantizedLookupFeature& f, int64_t id, int64_t d) {
  const uint8_t* row = static_cast<const uint8_t*>(f.rows) + id * f.layout.row_bytes;
  Half scale, bias;
  std::memcpy(&scale, row, sizeof scale);
  std::memcpy(&bias, row + sizeof scale, sizeof bias);
  return static_cast<float>(row[4 + d]) * static_cast<float>(scale) + static_cast<float>(bias);
}

template <typename Args>
class Lookups {
 public:
  explicit Lookups(const Faults& faults) : faults_(faults) {}

  void operator()(Context& ctx, const Args& args) const {
    for (const auto& f : args.features)
      ParallelFor(ctx, f.num_bags, 8, [&](int64_t begin, int64_t end) {
        std::vector<float> own(static_cast<size_t>(f.dim));
        static std::vector<float> shared(1024);
        for (int64_t bag = begin; bag < end; ++bag)
          SumBag(args, f, bag, faults_.race ? shared.data() : own.data());
      });
    const auto& last = args.features.back();
    if (faults_.beside) last.template OutputAt<float>(last.num_bags - 1)[last.dim] = 1;
  }

 private:
  void SumBag(const Args& args, const auto& f, int64_t bag, float* sum) const {
    const int64_t begin = args.offsets[f.first_bag + bag];
    int64_t end = args.offsets[f.first_bag + bag + 1];
    if (faults_.empty && begin == end) return;
    if (faults_.boundary && end - begin > 200) --end;
    std::fill_n(sum, f.dim, 0.0f);
    const int64_t half = begin + (end - begin) / 2;
    Add(args, f, begin, faults_.order ? half : end, sum);
    if (faults_.order) {
      std::vector<float> second(static_cast<size_t>(f.dim));
      Add(args, f, half, end, second.data());
      for (int64_t d = 0; d < f.dim; ++d) sum[d] += second[static_cast<size_t>(d)];
    }
    Store(f, bag, sum);
  }
  void Add(const Args& args, const auto& f, int64_t begin, int64_t end, float* sum) const {
    for (int64_t i = begin; i < end; ++i) {
      int64_t id = f.ids[i];
      if (faults_.negative && id == -1) id = 0;
      if (faults_.last_row && id == f.num_rows - 1) continue;
      if (!IsRow(id, f.num_rows)) continue;
      const float weight =
          args.weights == nullptr ? 1.0f : args.weights[faults_.weight && i > 0 ? i - 1 : i];
      for (int64_t d = 0; d < f.dim; ++d) {
        sum[d] += weight * NumberOf(f, id, d);
        if (faults_.type) sum[d] = static_cast<float>(Half(sum[d]));
      }
    }
  }
  void Store(const LookupFeature& f, int64_t bag, const float* sum) const {
    float* out =
        faults_.stride ? static_cast<float*>(f.output) + bag * f.dim : f.OutputAt<float>(bag);
    std::copy_n(sum, f.dim, out);
    if (faults_.lane) out[f.dim - 1] = sum[f.dim - 2];
    for (int64_t d = 0; faults_.small && d < f.dim; ++d) out[d] *= 1.0001f;
  }

  Faults faults_;
};

template <typename Args>
void ExpectBrokenOnesRefused() {
  Checker<Args> check({{"dim", "32"}, {"weighted", "yes"}});
  EXPECT_NO_THROW(check(check.ours()));
  EXPECT_NO_THROW(check(Lookups<Args>({})));
  for (const auto& [name, faults] : kFaults) {
    SCOPED_TRACE(name);
    check.ExpectRefused(Lookups<Args>(faults));
  }
  check.ExpectRefused(Lookups<Args>({.beside = true}), "behind the last column of row 599");
}

TEST(BrokenLookups, AreRefusedAndTheRightOneIsNot) { ExpectBrokenOnesRefused<LookupArgs>(); }

TEST(BrokenLookups, FromStoredRowsAreRefusedAndTheRightOneIsNot) {
  ExpectBrokenOnesRefused<QuantizedLookupArgs>();
}

TEST(BrokenLookups, AMistakeIsShownWithItsIds) {
  Checker<LookupArgs> check(Values{{"dim", "32"}});
  check.ExpectRefused(Lookups<LookupArgs>({.empty = true}),
                      "on a batch of edge cases, with 1 thread: feature 0, output 0 (of no ids), "
                      "column 0");
}

TEST(BrokenLookups, AMistakeOfManyThreadsIsShownWithTheirNumber) {
  Checker<LookupArgs> check(Values{{"dim", "32"}});
  check.ExpectRefused(
      [&](Context& ctx, const LookupArgs& args) {
        if (ctx.threads().threads() == 1) check.ours()(ctx, args);
      },
      "on a batch of edge cases, with 4 threads: feature 0");
}

TEST(BrokenLookups, OneThatThrowsAnythingIsNamed) {
  Checker<LookupArgs> check(Values{{"dim", "32"}});
  check.ExpectRefused([](Context&, const LookupArgs&) { throw 1; },
                      "on a batch of edge cases, with 1 thread: it threw something that is no "
                      "std::exception");
  check.ExpectRefused(
      [](Context&, const LookupArgs&) { throw std::out_of_range("vector::_M_range_check"); },
      "on a batch of edge cases, with 1 thread: it threw 'vector::_M_range_check'");
}

TEST(BrokenLookups, OneThatOnlyWorksWhileItIsCheckedIsRefusedAfterwards) {
  Context ctx({.threads = 2, .seed = 3});
  const Values values = {{"dim", "32"}};
  const auto point = std::make_shared<const KernelPoint<LookupArgs>>(
      KernelWith<LookupArgs>().make(ctx, LabPoint(values)));
  bool works = true;
  Work work;
  Contend<LookupArgs>(
      ctx, point, {.name = "lazy", .about = ""},
      [&](Context& c, const LookupArgs& args) {
        if (works) point->ours(c, args);
      },
      work);
  const Contender& lazy = work.contenders[0];
  EXPECT_NO_THROW(lazy.check());
  EXPECT_NO_THROW(lazy.check_after());
  works = false;
  lazy.run(0);
  EXPECT_THAT(lazy.check_after,
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr(
                  "variant lazy: on the timed batch, after it was timed: feature 0")));
}

TEST(BrokenLookupsDeathTest, OneThatCrashesIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Checker<LookupArgs> check(Values{{"dim", "32"}});
  EXPECT_DEATH(check([](Context&, const LookupArgs&) { *static_cast<volatile int*>(nullptr) = 1; }),
               "variant broken crashed while it was checked");
}

}  // namespace
}  // namespace tessera::bench
