// One file of a day of Criteo rows in npy files, beside two that are good: rows that are given out
// have ids of their tables. The first byte says which file.
#include <numeric>

#include "data/files/npy_rows.h"
#include "runtime/files/files.h"
#include "tests/data/testing/npz_bytes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {
namespace {

constexpr int64_t kRows = 7;

struct DayFile {
  std::string end, good;
};

const std::vector<DayFile>& Files() {
  using testing::NpyOf;
  static const std::vector<DayFile> files = {
      {"_dense.npy", NpyOf("<f4", "(2, 3)", std::vector<float>{0, 1, 2.5, -1, 0, 9})},
      {"_sparse.npy", NpyOf("<i4", "(2, 2)", std::vector<int32_t>{1, -2, 3, 400})},
      {"_labels.npy", NpyOf("<i4", "(2, 1)", std::vector<int32_t>{0, 1})}};
  return files;
}

// The other files become good ones again.
NpyDay WriteDay(size_t bad, std::string_view bytes) {
  std::string paths[3];
  for (size_t i = 0; i < 3; ++i)
    paths[i] = WriteTempFile("day" + Files()[i].end, i == bad ? bytes : Files()[i].good);
  return {paths[0], paths[1], paths[2]};
}

}  // namespace

std::vector<std::string> Seeds() {
  using testing::NpyOf;
  std::vector<std::string> seeds = {
      '\1' + NpyOf("<i8", "(2, 2)", std::vector<int64_t>{9, 1LL << 40, -1, 0}),
      '\2' + NpyOf("<i4", "(2,)", std::vector<int32_t>{1, 0})};
  for (size_t i = 0; i < 3; ++i) seeds.push_back(static_cast<char>(i) + Files()[i].good);
  return seeds;
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  static Context ctx({.threads = 1});
  const NpyDay day = fuzz::WriteDay(data[0] % 3, fuzz::AsText(data + 1, size - 1));
  fuzz::MayRefuse([&] {
    const StoredRows rows(MapNpyDays({day}), {{"cat_0", fuzz::kRows}, {"cat_1", fuzz::kRows}});
    std::vector<int64_t> all(static_cast<size_t>(rows.rows()));
    std::iota(all.begin(), all.end(), 0);
    for (const int32_t id : rows.Gather(ctx, all).features.values().ToVector<int32_t>())
      if (id < 0 || id >= fuzz::kRows) __builtin_trap();
  });
  return 0;
}
