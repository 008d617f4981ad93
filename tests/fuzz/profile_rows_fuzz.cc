// Lines that no schema explains yet, as tessera describe looks at them: counts fit each other.
#include "data/describe/profile_rows.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {
namespace {

void Check(const RowsProfile& profile) {
  for (const ColumnProfile& column : profile.columns)
    if (column.missing < 0 || column.missing > column.rows || column.rows > profile.rows ||
        column.whole + column.numbers > column.items)
      __builtin_trap();
}

}  // namespace

std::vector<std::string> Seeds() {
  return {
      "{\"y\": 1, \"d\": 2.5, \"a\": [1, 255], \"t\": [\"x:0.5\", \"y:1\"]}\n{\"a\": \"1|2\"}\n",
      "y,d,v,a,t\n1,2.5,1;2,1|255,x:0.5|y:1\n,,,,\n0,\"1\",\"1;2\",\"7\",\"2020-01-02\"\r\n",
      "y\td\tv\ta\tt\n1\t2,5\t1;2\t1|255\tx:0.5|y:1\n0\t-\t\t05db9164\tNA\n"};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string path = fuzz::WriteTempFile("rows", fuzz::AsText(data, size));
  for (const RowFormat format : {RowFormat::kJsonl, RowFormat::kCsv, RowFormat::kTsv})
    fuzz::MayRefuse([&] { fuzz::Check(ProfileRows({.paths = {path}, .format = format})); });
  return 0;
}
