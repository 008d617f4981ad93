#ifndef TESSERA_SERVE_EXPORT_CHOOSE_TABLE_CODECS_H_
#define TESSERA_SERVE_EXPORT_CHOOSE_TABLE_CODECS_H_
// Codecs for the tables of a checkpoint, each table its own, under a budget: of f32, f16, int8,
// int4 and int2, those that take the table's dim. quant/choose_codecs.h says which error is made
// small, and how near to the smallest it comes.
#include <map>
#include <optional>
#include <string>

#include "runtime/context.h"
#include "serve/export/model_writer.h"

namespace tessera::serve {

struct CodecBudget {
  static constexpr double kMaxShare = 1000;  // far above what any codec takes
  // Above 0: of the tables' bytes as f32, all tables together; at most kMaxShare.
  double share = 0;
  double error = 0;  // or above 0: of each table, relative to the RMS of its numbers
};

// Chooses codecs, by the names of the tables (WriteModelOptions::table_codecs). Throws Error where
// nothing is within the budget, for a share that is above kMaxShare or no number, and as WriteModel
// does.
std::map<std::string, RowCodec> ChooseTableCodecs(Context& ctx, const Checkpoint& checkpoint,
                                                  const std::optional<TrainConfig>& config,
                                                  const CodecBudget& budget,
                                                  const QuantizeOptions& options = {});

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_EXPORT_CHOOSE_TABLE_CODECS_H_
