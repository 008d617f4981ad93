#include "cli/quantize/written_model_report.h"

#include <cstdint>
#include <vector>

#include "cli/show/log.h"
#include "cli/show/model_directory_summary.h"
#include "cli/show/numbers.h"
#include "runtime/base/joined.h"
#include "serve/export/row_padding.h"

namespace tessera::cli {
namespace {

void SayTables(const serve::WrittenModel& model, const std::string& out) {
  std::vector<std::vector<std::string>> rows = {{"table", "rows", "kept", "dim", "codec", "size",
                                                 "of before", "RMS error", "largest", "worst row"}};
  int64_t bytes = 0, before = 0;
  const auto share = [](int64_t part, int64_t whole) {
    return Fixed(100 * static_cast<double>(part) / static_cast<double>(whole), 1) + " %";
  };
  for (const serve::WrittenTable& table : model.tables) {
    const int64_t stored = StoredBytes(table.spec);
    bytes += stored;
    before += table.checkpoint_bytes;
    rows.push_back({table.spec.name, Count(table.spec.num_ids()),
                    share(table.spec.rows, table.spec.num_ids()), std::to_string(table.spec.dim),
                    ToString(table.spec.codec), Bytes(stored),
                    share(stored, table.checkpoint_bytes), Format("{:.3g}", table.error.rms),
                    Format("{:.3g}", table.error.max), std::to_string(table.error.worst_row)});
    if (table.error.not_finite > 0)
      Warn(Format("table {}: {} not decode as finite numbers{}", table.spec.name,
                  Counted(table.error.not_finite, "row") +
                      (table.error.not_finite == 1 ? " does" : " do"),
                  table.error.default_row_not_finite
                      ? "; the default row, which unknown ids read, is one"
                      : ""),
           {{"table", table.spec.name}, {"rows", table.error.not_finite}});
  }
  rows.push_back({"all", "", "", "", "", Bytes(bytes), share(bytes, before), "", "", ""});
  Note(Format("{}\n{}: version {}", TextTable(rows), out, model.spec.version),
       {{"path", out},
        {"version", model.spec.version},
        {"tables", std::ssize(model.tables)},
        {"bytes", bytes}});
}

// Says of which tables padding takes what the fewer bits would save, and what saves it.
void SayPadding(const serve::ModelSpec& spec) {
  for (const serve::WastedPadding& w : serve::FindWastedPadding(spec)) {
    const int64_t bytes = RowBytes(w.codec, w.dim);
    Note(
        Format("{} of dim {}: a row of {} takes {} bytes, {} of them padding, so {} takes no more; "
               "one of {} takes {} (--codec {}, or --table TABLE={})",
               Counted(w.tables, "table"), w.dim, w.codec, bytes,
               bytes - UnpaddedRowBytes(w.codec, w.dim), w.wider, w.packed,
               RowBytes(w.packed, w.dim), w.packed, w.packed),
        {{"codec", ToString(w.codec)}, {"dim", w.dim}, {"tables", w.tables}});
  }
}

// Says which tables keep a row though all are named.
void WarnOfLastRows(const serve::WrittenModel& model) {
  std::vector<std::string> tables;
  for (const serve::WrittenTable& table : model.tables)
    if (table.all_rows_named) tables.push_back(table.spec.name);
  if (!tables.empty())
    Warn(
        Format("--prune, --prune-norm and --prune-untouched name every row of these tables; the "
               "row of the largest norm of each stays, as no table is empty: {}",
               internal::Joined(tables)));
}

}  // namespace

void ReportWrittenModel(const serve::WrittenModel& model, const std::string& out) {
  SayTables(model, out);
  SayPadding(model.spec);
  WarnOfLastRows(model);
}

}  // namespace tessera::cli
