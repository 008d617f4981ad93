// Lines that no schema explains yet, as tessera describe looks at them: counts fit each other, and
// the configuration that is proposed reads the rows that were looked at.
#include "data/describe/column_role.h"
#include "data/describe/profile_rows.h"
#include "data/rows/text_row_source.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"
#include "train/config/train_config.h"
#include "train/data_sets.h"
#include "train/proposal/propose_config.h"

namespace tessera::fuzz {
namespace {

void CheckCounts(const RowsProfile& profile) {
  for (const ColumnProfile& column : profile.columns)
    if (column.missing < 0 || column.missing > column.rows || column.rows > profile.rows ||
        column.whole + column.numbers > column.items)
      __builtin_trap();
}

// Whoever trains on the proposal meets no error but for lines that describe told.
void CheckProposal(const std::string& path, const RowsProfile& profile) {
  const std::vector<ProposedColumn> columns = ProposeColumns(profile, {});
  for (size_t i = 0; i < columns.size(); ++i)
    if (RefusesEmptyItems(profile.columns[i], columns[i])) return;
  std::string config;
  MayRefuse([&] { config = ProposeConfig(profile, columns); });
  if (config.empty()) return;  // no column looks like a label, or like a feature
  const RowInputs inputs = RowInputsOf(ParseTrainConfig(config, "proposal"));
  if (inputs.data.schema == nullptr) return;
  const auto rules = std::make_shared<const RowRules>(*inputs.data.schema, inputs.features);
  Context ctx({.threads = 1});
  const AllRows rows = ReadAllRows(ctx, rules, {.paths = {path}, .skip_bad_lines = true});
  if (rows.skipped != profile.bad_lines || rows.batch.size() != profile.rows) __builtin_trap();
}

}  // namespace

std::vector<std::string> Seeds() {
  std::string clicks = "click;k\xc3\xa4ufer;tags;ts;price\n";
  for (int i = 0; i < 60; ++i)
    clicks += Format("{};u{};{};{};{}\n", i % 3 == 0, i % 7, i % 2 == 0 ? "1|22" : "",
                     1700000000 + 17 * i, 0.5 * i);
  return {
      "{\"y\": 1, \"d\": 2.5, \"a\": [1, 255], \"t\": [\"x:0.5\", \"y:1\"]}\n"
      "{\"y\": 0, \"a\": \"1|2\"}\n",
      "y,d,v,a,t\n1,2.5,1;2,1|255,x:0.5|y:1\n,,,,\n0,\"1\",\"1;2\",\"7\",\"2020-01-02\"\r\n",
      "y\td\tv\ta\tt\n1\t2,5\t1;2\t1|255\tx:0.5|y:1\n0\t-\t\t05db9164\tNA\n", clicks};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string path = fuzz::WriteTempFile("rows", fuzz::AsText(data, size));
  for (const RowFormat format : {RowFormat::kJsonl, RowFormat::kCsv, RowFormat::kTsv}) {
    std::optional<RowsProfile> profile;
    fuzz::MayRefuse([&] { profile = ProfileRows({.paths = {path}, .format = format}); });
    if (!profile) continue;
    fuzz::CheckCounts(*profile);
    fuzz::CheckProposal(path, *profile);
  }
  return 0;
}
