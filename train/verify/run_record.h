#ifndef TESSERA_TRAIN_VERIFY_RUN_RECORD_H_
#define TESSERA_TRAIN_VERIFY_RUN_RECORD_H_
// The record of a training: its configuration and the digests of steps (training_digest.h), a line
// of JSON each, by which another run of it is compared:
//
//   {"tessera_verify":2,"pipeline":"none","ranks":1,"wire_codecs":"fp32","cuts":{},"config":{…}}
//   {"step":1,"batch":"…","rows":"…","dense":"…"}     what step 1 began with
//   {"state_after":218,"rows":"…","dense":"…"}        all rows when step 218 was done
//
// A digest is three numbers of 16 hexadecimal digits. A last line that was cut off is left out, but
// for the first one, without which nobody knows what the digests are of.
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "comm/communicator.h"
#include "train/config/train_config.h"
#include "train/pipeline/pipeline_kind.h"
#include "train/ranks.h"
#include "train/verify/step_digest.h"

namespace tessera {

// A training's bits depend on these, beside its configuration. Sums over a batch have an order for
// each number of ranks. Cuts of tables: sums over a bag's rows on several ranks, and states of a
// row in blocks of columns, may differ with them.
struct RunTerms {
  PipelineKind pipeline = PipelineKind::kNone;
  int64_t ranks = 1;
  std::string wire_codecs = "fp32";
  std::map<std::string, std::string> cuts = {};  // by table, in parts: "cut at rows 0, 30"
};
RunTerms TermsOf(PipelineKind pipeline, const std::optional<TrainingRanks>& ranks);

class RunRecord {
 public:
  // Reads the record there; without one, the first line that is added begins it. Throws Error
  // naming file and line for what is no record, naming the key for one of another configuration,
  // and for one of other ranks or codecs; keys that change no bit (epochs, metrics, evaluations,
  // where tables lie) may differ, and so may pipelines but kSemiSync, and cuts. On ranks the first
  // one alone reads and writes the file; every rank calls.
  RunRecord(std::string path, const TrainConfig& config, const RunTerms& terms,
            Communicator* comm = nullptr);

  // Return the digest of a step, counted from 1, or of the state after one; nullptr if the record
  // has none.
  const StepDigest* FindStep(int64_t step) const { return Find(steps_, step); }
  const StepDigest* FindState(int64_t step) const { return Find(states_, step); }
  // Add a line to the file. Throw Error if it cannot be written.
  void AddStep(int64_t step, const StepDigest& digest);
  void AddState(int64_t step, const StepDigest& digest);
  // The last recorded step before this one; 0: none.
  int64_t LastBefore(int64_t step) const;

  // Says which table this run cuts otherwise than the record's, where one does: "".
  std::string OtherCuts() const;

  const std::string& path() const { return path_; }

 private:
  using Digests = std::map<int64_t, StepDigest>;
  static const StepDigest* Find(const Digests& digests, int64_t key);
  std::string TextHere() const;
  void Read(const std::string& text, const TrainConfig& config);
  void ReadLine(const std::string& line, const std::string& where);
  void ReadBegin(const std::string& line, const TrainConfig& config);
  void CheckTerms(const RunTerms& recorded, const std::string& recorded_pipeline) const;
  // Opens the file for lines behind the last whole one.
  void Open();
  void AddLine(const std::string& line);

  std::string path_, first_line_;  // of a new record, which has no line yet
  RunTerms terms_;
  std::map<std::string, std::string> recorded_cuts_;
  bool writes_ = true;
  size_t bytes_ = 0;  // of whole lines when the record was read
  Digests steps_, states_;
  std::ofstream file_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_VERIFY_RUN_RECORD_H_
