// The lab refuses an update, or a grouping of its ids, that does one thing wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "bench/lab/grouping_kernel.h"
#include "embedding/update/update.h"
#include "tests/bench/lab/lab_point.h"

namespace tessera::bench {
namespace {

// ---- updates by sgd

struct Faults {
  bool lane = false;      // the last column is left as it was
  bool negative = false;  // −1 stands for row 0
  bool last_row = false;  // is not updated
  bool order = false;     // all gradients of a row in one chain, without chunks
  bool weight = false;    // is 1
  bool race = false;      // threads share their sums
  bool beside = false;    // one number is written behind the table
  bool other = false;     // a row that no id names is changed
};

const std::pair<const char*, Faults> kFaults[] = {{"a lane", {.lane = true}},
                                                  {"-1", {.negative = true}},
                                                  {"last row", {.last_row = true}},
                                                  {"order of sums", {.order = true}},
                                                  {"a weight", {.weight = true}},
                                                  {"a race", {.race = true}},
                                                  {"beside the table", {.beside = true}},
                                                  {"another row", {.other = true}}};

struct Term {
  float weight;
  const float* gradient;
};

class Updates {
 public:
  explicit Updates(const Faults& faults) : faults_(faults) {}

  void operator()(Context& ctx, const UpdateArgs& args) const {
    ParallelFor(ctx, std::ssize(args.tables), 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        UpdateTableRows(args.lookup, args.tables[static_cast<size_t>(t)]);
    });
  }

 private:
  void UpdateTableRows(const LookupArgs& lookup, const UpdateTable& table) const {
    std::vector<float> own(static_cast<size_t>(table.dim));
    static std::vector<float> shared(1024);
    auto* weights = static_cast<float*>(table.weights);
    const float lr = std::get<Sgd>(*table.rule).lr;
    const std::map<int64_t, std::vector<Term>> rows = RowsOf(lookup, table);
    for (const auto& [row, terms] : rows) {
      if (faults_.last_row && row == table.num_rows - 1) continue;
      float* sum = faults_.race ? shared.data() : own.data();
      Sum(terms, table.dim, sum);
      for (int64_t d = 0; d < table.dim - (faults_.lane ? 1 : 0); ++d)
        weights[row * table.dim + d] -= lr * sum[d];
    }
    if (faults_.beside) weights[table.num_rows * table.dim] = 1;
    for (int64_t row = 0; faults_.other && row < table.num_rows; ++row)
      if (!rows.contains(row)) weights[row * table.dim] += 1;
  }
  std::map<int64_t, std::vector<Term>> RowsOf(const LookupArgs& lookup,
                                              const UpdateTable& table) const {
    const LookupFeature& f = lookup.features[static_cast<size_t>(table.features[0])];
    std::map<int64_t, std::vector<Term>> rows;
    for (int64_t bag = 0; bag < f.num_bags; ++bag)
      for (int64_t i = lookup.offsets[f.first_bag + bag]; i < lookup.offsets[f.first_bag + bag + 1];
           ++i) {
        const int64_t id = faults_.negative && f.ids[i] == -1 ? 0 : f.ids[i];
        const float weight = faults_.weight ? 1.0f : lookup.weights[i];
        if (IsRow(id, table.num_rows)) rows[id].push_back({weight, f.OutputAt<float>(bag)});
      }
    return rows;
  }
  void Sum(const std::vector<Term>& terms, int64_t dim, float* sum) const {
    const size_t chunk = faults_.order ? terms.size() : kChunk;
    std::fill_n(sum, dim, 0.0f);
    for (size_t begin = 0; begin < terms.size(); begin += chunk)
      for (int64_t d = 0; d < dim; ++d) {
        float part = 0;
        for (size_t i = begin; i < std::min(begin + chunk, terms.size()); ++i)
          part += terms[i].weight * terms[i].gradient[d];
        sum[d] += part;
      }
  }

  Faults faults_;
};

TEST(BrokenUpdates, AreRefusedAndTheRightOneIsNot) {
  Checker<UpdateArgs> check(
      {{"kernel", "update"}, {"dim", "32"}, {"rule", "sgd"}, {"weighted", "yes"}});
  EXPECT_NO_THROW(check(check.ours()));
  EXPECT_NO_THROW(check(Updates({})));
  for (const auto& [name, faults] : kFaults) {
    SCOPED_TRACE(name);
    check.ExpectRefused(Updates(faults));
  }
  check.ExpectRefused(Updates({.lane = true}), ", column 31: expected ");
}

TEST(BrokenUpdates, AStateIsSeen) {
  Checker<UpdateArgs> check(Values{{"kernel", "update"}, {"dim", "32"}});
  check.ExpectRefused(
      [&](Context& ctx, const UpdateArgs& args) {
        check.ours()(ctx, args);
        static_cast<float*>(args.tables[0].states[0])[0] += 1;
      },
      "the state of row 0: expected ");
}

// ---- groupings

using Occurrences = std::span<RowOccurrence>;

void ByRow(Occurrences o) {
  std::stable_sort(o.begin(), o.end(),
                   [](const RowOccurrence& a, const RowOccurrence& b) { return a.row < b.row; });
}

KernelFunction<GroupingArgs> OfEachTable(const std::function<void(GroupingTable&)>& group) {
  return [group](Context& ctx, const GroupingArgs& args) { ForEachTable(ctx, args, group); };
}

// Counts in memory that all threads share.
void SharedCounts(GroupingTable& table) {
  static std::vector<uint32_t> next(257);
  for (int shift = 0; shift < 32; shift += 8) {
    std::fill(next.begin(), next.end(), 0);
    for (const RowOccurrence& o : table.all()) ++next[(o.row >> shift & 255) + 1];
    for (size_t v = 0; v < 256; ++v) next[v + 1] += next[v];
    for (const RowOccurrence& o : table.all()) {
      const uint32_t to = next[o.row >> shift & 255]++;
      if (to < table.size) table.scratch[to] = o;
    }
    std::swap(table.occurrences, table.scratch);
  }
}

TEST(BrokenGroupings, AreRefusedAndTheRightOneIsNot) {
  Checker<GroupingArgs> check(Values{{"kernel", "grouping"}});
  EXPECT_NO_THROW(check(check.ours()));
  EXPECT_NO_THROW(check(OfEachTable([](GroupingTable& t) { ByRow(t.all()); })));
  const std::pair<const char*, std::function<void(GroupingTable&)>> kBroken[] = {
      {"rows in several runs", [](GroupingTable&) {}},
      {"the order of a row",
       [](GroupingTable& t) {
         std::reverse(t.all().begin(), t.all().end());
         ByRow(t.all());
       }},
      {"the last occurrence is left where it was",
       [](GroupingTable& t) { ByRow(t.all().first(t.all().size() - (t.size > 0 ? 1 : 0))); }},
      {"another bag",
       [](GroupingTable& t) {
         ByRow(t.all());
         if (t.size > 0) ++t.occurrences[0].payload;
       }},
      {"the last row is taken for the one before",
       [](GroupingTable& t) {
         for (RowOccurrence& o : t.all())
           if (o.row > 0 && o.row == static_cast<uint32_t>(t.num_rows - 1)) --o.row;
         ByRow(t.all());
       }},
      {"rows above 2^31 are taken for negative ones, of which none is",
       [](GroupingTable& t) {
         for (RowOccurrence& o : t.all()) o.row &= 0x7fffffff;
         ByRow(t.all());
       }},
      {"an empty table is written to",
       [](GroupingTable& t) {
         ByRow(t.all());
         if (t.size == 0) t.occurrences[0] = {0, 0};
       }},
      {"one occurrence is written behind the last",
       [](GroupingTable& t) {
         ByRow(t.all());
         t.scratch[t.size] = {0, 0};
       }},
      {"a race", SharedCounts}};
  for (const auto& [name, group] : kBroken) {
    SCOPED_TRACE(name);
    check.ExpectRefused(OfEachTable(group));
  }
}

}  // namespace
}  // namespace tessera::bench
