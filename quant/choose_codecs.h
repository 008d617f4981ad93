#ifndef TESSERA_QUANT_CHOOSE_CODECS_H_
#define TESSERA_QUANT_CHOOSE_CODECS_H_
// Which codec each table gets, under a budget of memory or of error, from what each codec did to
// each table (quantize_table.h).
//
//   error of a table   QuantizationError::relative: rms of the differences / rms of the values,
//                      numbers that are lost as wrong by 100 %; times its weight
//   error budget       the smallest codec of each table whose error is within the budget
//   memory budget      Σ error² over the tables is made small: from the smallest codec of each
//                      table, always that step up which takes most error² off a byte, while it
//                      fits. Steps are not taken back: the sum may be above the smallest there is.
#include <span>
#include <string>
#include <vector>

#include "quant/quantize_table.h"
#include "runtime/context.h"

namespace tessera {

struct CodecTrial {
  RowCodec codec;
  QuantizationError error;
  int64_t bytes = 0;  // of all rows
};

struct TableTrials {
  std::string table;
  double weight = 1;  // how much an error of this table counts beside one of others
  std::vector<CodecTrial> trials = {};
};

// Quantizes every table with each codec, keeping no rows.
std::vector<TableTrials> TryCodecs(Context& ctx, std::span<const RowSource> sources,
                                   std::span<const RowCodec> codecs,
                                   const QuantizeOptions& options = {});

struct CodecChoice {
  std::vector<size_t> trials;  // of each table: which of its trials
  int64_t bytes = 0;           // of all tables
  double error = 0;            // root of the mean of the tables' error²
};

// Throws Error, with the best that there is, where no codec of a table is within the budget.
CodecChoice ChooseByError(std::span<const TableTrials> tables, double budget);
// Throws Error, with the fewest bytes that there are, where even these are more than the budget.
CodecChoice ChooseByMemory(std::span<const TableTrials> tables, int64_t budget_bytes);

}  // namespace tessera
#endif  // TESSERA_QUANT_CHOOSE_CODECS_H_
