#ifndef TESSERA_SERVE_EXPORT_CHOOSE_TABLE_CODECS_H_
#define TESSERA_SERVE_EXPORT_CHOOSE_TABLE_CODECS_H_
// Codecs for the tables of a checkpoint, each table its own, under a budget
// (quant/choose_codecs.h): of f32, f16, int8, int4 and int2, those that take the table's dim.
#include <map>
#include <optional>
#include <string>

#include "runtime/context.h"
#include "serve/export/model_writer.h"

namespace tessera::serve {

struct CodecBudget {
  double share = 0;  // above 0: of the tables' bytes in the checkpoint, all tables together
  double error = 0;  // or above 0: of each table, relative to the RMS of its numbers
};

// Chooses codecs, by the names of the tables (WriteModelOptions::table_codecs). Throws Error where
// nothing is within the budget, and as WriteModel does.
std::map<std::string, RowCodec> ChooseTableCodecs(Context& ctx, const Checkpoint& checkpoint,
                                                  const std::optional<TrainConfig>& config,
                                                  const CodecBudget& budget,
                                                  const QuantizeOptions& options = {});

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_EXPORT_CHOOSE_TABLE_CODECS_H_
