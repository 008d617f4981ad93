#ifndef TESSERA_TRAIN_VERIFY_RUN_VERIFIER_H_
#define TESSERA_TRAIN_VERIFY_RUN_VERIFIER_H_
// Compares a training with the record of another run of it, step by step, while it runs; steps that
// the record does not have are added to it. So the first run writes the record, and one on another
// machine, or one that was killed and goes on, is held against it. A difference ends the training
// before the step that it was found at, with a RunDifference that names the step and the place.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "train/trainer.h"
#include "train/verify/run_record.h"
#include "train/verify/training_digest.h"

namespace tessera {

// The result of holding a training against a record.
struct VerifyReport {
  std::string record;            // its file
  int64_t equal = 0, added = 0;  // digests of steps and states
  std::string difference = {};   // the error's text; "": none
};

// A training has other values than its record, or its ranks than each other. All ranks throw it.
class RunDifference : public ErrorOfAllRanks {
 public:
  explicit RunDifference(VerifyReport report)
      : ErrorOfAllRanks(report.difference), report_(std::move(report)) {}
  const VerifyReport& report() const { return report_; }

 private:
  VerifyReport report_;
};

class RunVerifier {
 public:
  // Watches the trainer's steps from now on: those that the record has, and beside them every
  // `every`th. If the record has the state that the trainer is in, it is compared now. Throws Error
  // as TrainingDigest does, and RunDifference. The trainer must outlive this. Every rank calls.
  // REQUIRES: a record that was read for the trainer's configuration and ranks.
  RunVerifier(Trainer& trainer, std::unique_ptr<RunRecord> record, int64_t every);
  ~RunVerifier();
  RunVerifier(const RunVerifier&) = delete;
  RunVerifier& operator=(const RunVerifier&) = delete;

  // Compares or adds the state that the training ended in, with the rows that no batch named. Every
  // rank calls.
  void End();
  const VerifyReport& report() const { return report_; }

 private:
  void OnStep(const Batch& part);
  // `recorded` is null where the record has nothing: then ranks are held against the first one.
  void Compare(const std::string& what, int64_t step, const StepDigest* recorded,
               const std::vector<StepDigest>& ranks);
  std::string DifferencesOf(const StepDigest& recorded, const std::vector<StepDigest>& ranks) const;
  // "table t_user, row 5, weight": in what two digests differ.
  std::string DifferenceOf(const StepDigest& recorded, const StepDigest& now) const;

  Trainer& trainer_;
  TrainingDigest digest_;
  std::unique_ptr<RunRecord> record_;
  const int64_t every_;
  VerifyReport report_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_VERIFY_RUN_VERIFIER_H_
