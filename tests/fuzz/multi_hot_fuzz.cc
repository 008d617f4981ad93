// The archive of a day of multi-hot rows, beside dense features and labels that are good: rows that
// are given out have ids of their tables.
#include <numeric>

#include "data/files/multi_hot_rows.h"
#include "runtime/files/files.h"
#include "tests/data/testing/npz_bytes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {
namespace {

constexpr int64_t kRows = 7;

// Makes the two other files of the day.
const std::string& Day() {
  static const std::string day = [] {
    const std::string path = TempPath("day");
    ReplaceTextFile(path + "_dense.npy", testing::NpyOf("<f4", "(2, 3)", std::vector<float>(6)));
    ReplaceTextFile(path + "_labels.npy", testing::NpyOf("<i4", "(2, 1)", std::vector<int>(2)));
    return path;
  }();
  return day;
}

void Check(const Batch& batch) {
  for (const int32_t id : batch.features.values().ToVector<int32_t>())
    if (id < 0 || id >= kRows) __builtin_trap();
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string ids = testing::NpyOf("<i4", "(2, 2)", std::vector<int32_t>{1, -2, 3, 400});
  const std::string one = testing::NpyOf("<i8", "(2,)", std::vector<int64_t>{9, 1LL << 40});
  return {testing::NpzBytes({{"0", ids}, {"user", one}}),
          testing::NpzBytes({{"user", one}, {"0", ids}}, /*in_64=*/true)};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  static Context ctx({.threads = 1});
  const std::string& day = fuzz::Day();
  fuzz::WriteTempFile("day_sparse_multi_hot.npz", fuzz::AsText(data, size));
  fuzz::MayRefuse([&] {
    const StoredBags rows = MapMultiHotDays({day}, DataSchema{.format = RowFormat::kNpz},
                                            {{"cat_0", fuzz::kRows}, {"user", fuzz::kRows}});
    std::vector<int64_t> all(static_cast<size_t>(rows.rows()));
    std::iota(all.begin(), all.end(), 0);
    fuzz::Check(rows.Gather(ctx, all));
  });
  return 0;
}
