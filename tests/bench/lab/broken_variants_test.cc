// The lab refuses a variant that does one thing wrong: ten of a lookup, four of a grouping.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "bench/lab/variant_check.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

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
};

class Lookups {
 public:
  explicit Lookups(const Faults& faults) : faults_(faults) {}

  void operator()(Context& ctx, const LookupArgs& args) const {
    for (const LookupFeature& f : args.features)
      ParallelFor(ctx, f.num_bags, 8, [&](int64_t begin, int64_t end) {
        std::vector<float> own(static_cast<size_t>(f.dim));
        static std::vector<float> shared(1024);
        for (int64_t bag = begin; bag < end; ++bag)
          SumBag(args, f, bag, faults_.race ? shared.data() : own.data());
      });
  }

 private:
  void SumBag(const LookupArgs& args, const LookupFeature& f, int64_t bag, float* sum) const {
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
  void Add(const LookupArgs& args, const LookupFeature& f, int64_t begin, int64_t end,
           float* sum) const {
    for (int64_t i = begin; i < end; ++i) {
      int64_t id = f.ids[i];
      if (faults_.negative && id == -1) id = 0;
      if (faults_.last_row && id == f.num_rows - 1) continue;
      if (!IsRow(id, f.num_rows)) continue;
      const float weight =
          args.weights == nullptr ? 1.0f : args.weights[faults_.weight && i > 0 ? i - 1 : i];
      for (int64_t d = 0; d < f.dim; ++d) {
        sum[d] += weight * f.RowAt<float>(id)[d];
        if (faults_.type) sum[d] = static_cast<float>(Half(sum[d]));
      }
    }
  }
  void Store(const LookupFeature& f, int64_t bag, const float* sum) const {
    float* out =
        faults_.stride ? static_cast<float*>(f.output) + bag * f.dim : f.OutputAt<float>(bag);
    std::copy_n(sum, f.dim, out);
    if (faults_.lane) out[f.dim - 1] = sum[f.dim - 2];
  }

  Faults faults_;
};

Shape LookupShape() { return {.dim = 32, .weighted = true}; }

void ExpectRefused(const Faults& faults) {
  EXPECT_THAT([&] { CheckLookupVariant("broken", Lookups(faults), LookupShape()); },
              ThrowsMessage<Error>(HasSubstr("variant broken: ")));
}

TEST(BrokenLookups, AreRefusedAndTheRightOneIsNot) {
  EXPECT_NO_THROW(CheckLookupVariant("right", Lookups({}), LookupShape()));
  {
    SCOPED_TRACE("a lane");
    ExpectRefused({.lane = true});
  }
  {
    SCOPED_TRACE("a stride");
    ExpectRefused({.stride = true});
  }
  {
    SCOPED_TRACE("a bag's boundary");
    ExpectRefused({.boundary = true});
  }
  {
    SCOPED_TRACE("-1");
    ExpectRefused({.negative = true});
  }
  {
    SCOPED_TRACE("an empty bag");
    ExpectRefused({.empty = true});
  }
  {
    SCOPED_TRACE("the order of a sum");
    ExpectRefused({.order = true});
  }
  {
    SCOPED_TRACE("a weight");
    ExpectRefused({.weight = true});
  }
  {
    SCOPED_TRACE("a type");
    ExpectRefused({.type = true});
  }
  {
    SCOPED_TRACE("the last row");
    ExpectRefused({.last_row = true});
  }
  {
    SCOPED_TRACE("a race");
    ExpectRefused({.race = true});
  }
}

TEST(BrokenLookups, WhatIsWrittenBesideTheOutputIsSeen) {
  const LookupFunction beside = [](Context& ctx, const LookupArgs& args) {
    Lookups({})(ctx, args);
    const LookupFeature& last = args.features.back();
    last.OutputAt<float>(last.num_bags - 1)[last.dim] = 1;
  };
  EXPECT_THAT([&] { CheckLookupVariant("beside", beside, LookupShape()); },
              ThrowsMessage<Error>(HasSubstr("behind the last column of output row 599")));
}

TEST(BrokenLookups, ASmallErrorOfEveryOutputIsSeen) {
  const LookupFunction scaled = [](Context& ctx, const LookupArgs& args) {
    Lookups({})(ctx, args);
    for (const LookupFeature& f : args.features)
      for (int64_t b = 0; b < f.num_bags; ++b)
        for (int64_t d = 0; d < f.dim; ++d) f.OutputAt<float>(b)[d] *= 1.0001f;
  };
  EXPECT_THAT([&] { CheckLookupVariant("scaled", scaled, LookupShape()); },
              ThrowsMessage<Error>(HasSubstr("expected ")));
}

void ByRow(std::vector<RowOccurrence>& occurrences) {
  std::stable_sort(occurrences.begin(), occurrences.end(),
                   [](const RowOccurrence& a, const RowOccurrence& b) { return a.row < b.row; });
}

TEST(BrokenGroupings, AreRefusedAndTheRightOneIsNot) {
  const AnyRule rule = RowwiseAdagrad{.lr = 0.1f};
  const Shape shape = {.dim = 32};
  const auto check = [&](const Grouping& group) { CheckUpdateVariant("g", group, shape, rule); };
  EXPECT_NO_THROW(check(ByRow));
  EXPECT_THROW(check([](auto&) {}), Error);  // rows in several runs
  EXPECT_THROW(check([](auto& o) {           // the batch's order turned round
                 std::reverse(o.begin(), o.end());
                 ByRow(o);
               }),
               Error);
  EXPECT_THROW(check([](auto& o) {  // one occurrence is lost
                 ByRow(o);
                 o.pop_back();
               }),
               Error);
  EXPECT_THROW(check([](auto& o) {  // another bag's gradient
                 ByRow(o);
                 if (o[0].payload > 0) --o[0].payload;
               }),
               Error);
}

}  // namespace
}  // namespace tessera::bench
