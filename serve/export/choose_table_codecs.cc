#include "serve/export/choose_table_codecs.h"

#include "quant/choose_codecs.h"
#include "runtime/base/check.h"

namespace tessera::serve {
namespace {

bool Takes(const RowCodec& codec, int64_t dim) {
  try {
    return RowBytes(codec, dim) > 0;
  } catch (const Error&) {
    return false;
  }
}

std::vector<RowCodec> CodecsFor(int64_t dim) {
  std::vector<RowCodec> codecs;
  for (const RowType type :
       {RowType::kInt2, RowType::kInt4, RowType::kInt8, RowType::kF16, RowType::kF32})
    if (Takes({type}, dim)) codecs.push_back({type});
  return codecs;
}

}  // namespace

std::map<std::string, RowCodec> ChooseTableCodecs(Context& ctx, const Checkpoint& checkpoint,
                                                  const std::optional<TrainConfig>& config,
                                                  const CodecBudget& budget,
                                                  const QuantizeOptions& options) {
  TESSERA_CHECK((budget.share > 0) != (budget.error > 0), "a budget of memory or of error: {}, {}",
                budget.share, budget.error);
  TESSERA_CHECK(budget.share <= CodecBudget::kMaxShare,
                "a budget of {} times the tables' size; expected at most {}", budget.share,
                CodecBudget::kMaxShare);
  const std::vector<RowSource> sources = RowsOf(checkpoint, ReadConfig(checkpoint, config));
  if (options.nan == NanPolicy::kError) CheckNoNan(ctx, sources);
  QuantizeOptions trial = options;
  trial.encode.search = false;  // some codecs don't take it, and the order of errors is the same
  if (trial.nan == NanPolicy::kError) trial.nan = NanPolicy::kChecked;
  std::vector<TableTrials> trials;
  double bytes = 0;
  for (const RowSource& source : sources) {
    trials.push_back(TryCodecs(ctx, std::span(&source, 1), CodecsFor(source.dim), trial).front());
    bytes += static_cast<double>(source.rows * source.dim) * sizeof(float);
  }
  const CodecChoice choice =
      budget.share > 0 ? ChooseByMemory(trials, static_cast<int64_t>(budget.share * bytes))
                       : ChooseByError(trials, budget.error);
  std::map<std::string, RowCodec> codecs;
  for (size_t t = 0; t < sources.size(); ++t)
    codecs[sources[t].table] = trials[t].trials[choice.trials[t]].codec;
  return codecs;
}

}  // namespace tessera::serve
