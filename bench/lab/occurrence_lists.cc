#include "bench/lab/occurrence_lists.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "bench/embedding/shape_axes.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

bool ByRow(const RowOccurrence& a, const RowOccurrence& b) { return a.row < b.row; }

}  // namespace

std::vector<OccurrenceList> HardOccurrences() {
  struct Case {
    int64_t size, num_rows;
  };
  std::vector<OccurrenceList> lists;
  std::mt19937 random(11);
  for (const Case& c : {Case{0, 7},
                        {1, 1},
                        {300, 1},
                        {2000, 3},
                        {12'000, 70'000},
                        {5000, (int64_t{1} << 32) - 1}}) {
    OccurrenceList& list = lists.emplace_back(OccurrenceList{{}, c.num_rows});
    for (int64_t i = 0; i < c.size; ++i) {
      const auto any = static_cast<int64_t>(random()) % c.num_rows;
      const int64_t row = i % 8 == 0 ? c.num_rows - 1 : i % 8 == 1 ? 0 : any;
      list.occurrences.push_back({static_cast<uint32_t>(row), static_cast<uint32_t>(i)});
    }
  }
  return lists;
}

std::vector<OccurrenceList> OccurrencesOf(const Shape& shape, const IdBatch& drawn) {
  std::vector<OccurrenceList> lists;
  for (size_t t = 0; t < shape.rows.size(); ++t) {
    OccurrenceList& list = lists.emplace_back(OccurrenceList{{}, shape.rows[t]});
    const int64_t* offsets = drawn.offsets.data() + static_cast<int64_t>(t) * shape.batch;
    for (int64_t bag = 0; bag < shape.batch; ++bag)
      for (int64_t i = offsets[bag]; i < offsets[bag + 1]; ++i)
        list.occurrences.push_back(
            {static_cast<uint32_t>(drawn.ids[static_cast<size_t>(i)]), static_cast<uint32_t>(bag)});
  }
  return lists;
}

std::vector<Axis> GroupingAxes(bool files) {
  std::vector<Axis> axes = ShapeAxes({.rows = false}, files);
  std::erase_if(axes, [](const Axis& axis) {
    return axis.name == "dim" || axis.name == "mode" || axis.name == "weighted";
  });
  return axes;
}

ExpectedRuns::ExpectedRuns(std::vector<RowOccurrence> given) : sorted_(std::move(given)) {
  std::stable_sort(sorted_.begin(), sorted_.end(), ByRow);
}

// So many runs in so many places are all.
void ExpectedRuns::Check(std::span<const RowOccurrence> got, const std::string& what) const {
  TESSERA_CHECK_EQ(got.size(), sorted_.size(), "{}: occurrences", what);
  std::set<uint32_t> rows;
  for (size_t i = 0; i < got.size();) {
    const uint32_t row = got[i].row;
    const auto [begin, end] =
        std::equal_range(sorted_.begin(), sorted_.end(), RowOccurrence{row, 0}, ByRow);
    TESSERA_CHECK(begin != end, "{}: no occurrence names row {}", what, row);
    TESSERA_CHECK(rows.insert(row).second, "{}: row {} lies in two runs", what, row);
    TESSERA_CHECK(i + static_cast<size_t>(end - begin) <= got.size(),
                  "{}: the last run, of row {}, is too short", what, row);
    for (auto expected = begin; expected != end; ++expected, ++i)
      TESSERA_CHECK(got[i].row == row && got[i].payload == expected->payload,
                    "{}: place {}: occurrence {} of row {} is expected, got {} of row {}", what, i,
                    expected->payload, row, got[i].payload, got[i].row);
  }
}

}  // namespace tessera::bench
