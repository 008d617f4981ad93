#ifndef TESSERA_TESTS_CROSSINGS_LIVE_TABLES_H_
#define TESSERA_TESTS_CROSSINGS_LIVE_TABLES_H_
// A collection of any kind behind one interface: pooled or sequences; rows, raw ids or pruning in
// front; in one process or over ranks.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "tests/crossings/tables_case.h"
#include "train/pipeline/train_pipeline.h"

namespace tessera::testing {

class LiveTables {
 public:
  virtual ~LiveTables() = default;

  virtual std::vector<Variable> Forward(Context& ctx, const KeyedJaggedTensor& features) = 0;
  virtual void SetLearningRate(float lr) = 0;
  virtual void AccumulateForwards(int forwards) = 0;
  virtual std::unique_ptr<PipelinedEmbeddings> Pipelined() = 0;
  // State of raw ids, beside the tables.
  virtual std::vector<NamedTensor> IdsState(Context& ctx) = 0;
  virtual void PutParts(Context& ctx, int rank, std::map<std::string, Tensor>& to) = 0;
  virtual void PutQuantized(Context& ctx, std::map<std::string, Tensor>& to) = 0;
  // Moves the tables to `next` by a checkpoint in `folder`, or, without ranks, by state dicts.
  // Every rank calls.
  virtual void MoveTo(Context& ctx, LiveTables& next, const std::string& folder) = 0;
};

// comm: null in one process.
std::unique_ptr<LiveTables> MakeLiveTables(Context& ctx, Communicator* comm, const TablesCase& c,
                                           bool after_checkpoint);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_LIVE_TABLES_H_
