#include "quant/choose_codecs.h"

#include <cmath>
#include <limits>

#include "runtime/tensor.h"

namespace tessera {
namespace {

double ErrorOf(const TableTrials& table, const CodecTrial& trial) {
  return table.weight * trial.error.relative();
}

void CheckTrials(std::span<const TableTrials> tables) {
  for (const TableTrials& table : tables)
    TESSERA_CHECK(!table.trials.empty(), "table {}: no codec was tried", table.table);
}

CodecChoice Totals(std::span<const TableTrials> tables, std::vector<size_t> trials) {
  CodecChoice choice;
  for (size_t t = 0; t < tables.size(); ++t) {
    const CodecTrial& trial = tables[t].trials[trials[t]];
    choice.bytes += trial.bytes;
    choice.error += std::pow(ErrorOf(tables[t], trial), 2);
  }
  choice.error = tables.empty() ? 0 : std::sqrt(choice.error / static_cast<double>(tables.size()));
  choice.trials = std::move(trials);
  return choice;
}

// The trial with the fewest bytes for which ok; of several, that with the smallest error. -1: none.
template <typename Ok>
int64_t Smallest(const TableTrials& table, const Ok& ok) {
  int64_t best = -1;
  for (size_t i = 0; i < table.trials.size(); ++i) {
    const CodecTrial& trial = table.trials[i];
    if (!ok(trial)) continue;
    const CodecTrial* so_far = best < 0 ? nullptr : &table.trials[static_cast<size_t>(best)];
    if (so_far == nullptr || trial.bytes < so_far->bytes ||
        (trial.bytes == so_far->bytes && ErrorOf(table, trial) < ErrorOf(table, *so_far)))
      best = static_cast<int64_t>(i);
  }
  return best;
}

// A step up of one table.
struct Step {
  size_t table = 0, trial = 0;
  double gain = 0;  // error² a byte
};

// The best that takes no more than `free` bytes; gain is 0 if there is none.
Step BestStep(std::span<const TableTrials> tables, const std::vector<size_t>& trials,
              int64_t free) {
  Step best;
  for (size_t t = 0; t < tables.size(); ++t) {
    const CodecTrial& now = tables[t].trials[trials[t]];
    const double error = ErrorOf(tables[t], now);
    for (size_t i = 0; i < tables[t].trials.size(); ++i) {
      const CodecTrial& to = tables[t].trials[i];
      const double to_error = ErrorOf(tables[t], to);
      if (to.bytes <= now.bytes || to.bytes - now.bytes > free || !(to_error < error)) continue;
      const double gain =
          (error * error - to_error * to_error) / static_cast<double>(to.bytes - now.bytes);
      if (gain > best.gain) best = {t, i, gain};
    }
  }
  return best;
}

}  // namespace

std::vector<TableTrials> TryCodecs(Context& ctx, std::span<const RowSource> sources,
                                   std::span<const RowCodec> codecs,
                                   const QuantizeOptions& options) {
  std::vector<TableTrials> all;
  for (const RowSource& source : sources) {
    TableTrials table{source.table};
    for (const RowCodec& codec : codecs)
      table.trials.push_back(
          {codec, QuantizeTable(ctx, source, codec, options, [](int64_t, const Tensor&) {}),
           source.rows * RowBytes(codec, source.dim)});
    all.push_back(std::move(table));
  }
  return all;
}

CodecChoice ChooseByError(std::span<const TableTrials> tables, double budget) {
  CheckTrials(tables);
  std::vector<size_t> trials;
  for (const TableTrials& table : tables) {
    const int64_t chosen =
        Smallest(table, [&](const CodecTrial& trial) { return ErrorOf(table, trial) <= budget; });
    double least = std::numeric_limits<double>::infinity();
    for (const CodecTrial& trial : table.trials) least = std::min(least, ErrorOf(table, trial));
    TESSERA_CHECK(chosen >= 0, "table {}: no codec has an error within {}; the best has {}",
                  table.table, budget, least);
    trials.push_back(static_cast<size_t>(chosen));
  }
  return Totals(tables, std::move(trials));
}

CodecChoice ChooseByMemory(std::span<const TableTrials> tables, int64_t budget_bytes) {
  CheckTrials(tables);
  std::vector<size_t> trials;
  for (const TableTrials& table : tables)
    trials.push_back(static_cast<size_t>(Smallest(table, [](const CodecTrial&) { return true; })));
  CodecChoice choice = Totals(tables, trials);
  TESSERA_CHECK(choice.bytes <= budget_bytes,
                "the smallest codecs of {} tables need {} bytes, more than the budget of {}",
                tables.size(), choice.bytes, budget_bytes);
  for (;;) {
    const Step step = BestStep(tables, choice.trials, budget_bytes - choice.bytes);
    if (step.gain == 0) return choice;
    choice.trials[step.table] = step.trial;
    choice = Totals(tables, std::move(choice.trials));
  }
}

}  // namespace tessera
