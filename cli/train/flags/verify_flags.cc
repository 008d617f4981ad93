#include "cli/train/flags/verify_flags.h"

#include <utility>

#include "cli/show/log.h"
#include "cli/train/flags/rank_flags.h"
#include "comm/leader.h"
#include "runtime/base/check.h"
#include "runtime/base/size_limits.h"

namespace tessera::cli {

void AddVerifyFlags(Command app, TrainFlags& flags) {
  app.Add("--verify", flags.verify,
          "Compare the training with another run of it whose digests are in this file, and add "
          "those of steps that it does not have; a difference ends the training and names step and "
          "place")
      .Value("FILE");
  app.Add("--verify-every", flags.verify_every,
          "With --verify: write digests of what every Nth step begins with (default 64; 1 finds "
          "the row that began to differ)")
      .Within(NumbersFrom(int64_t{1}, SizeLimits::kSteps))
      .Value("N");
}

void CheckVerify(const TrainFlags& flags, const TrainConfig& config) {
  if (flags.verify.empty()) return;
  CheckCanDigest(config, ParseDevice(flags.device), NumGroups(flags));
}

std::unique_ptr<RunRecord> ReadRecord(const TrainFlags& flags, const TrainConfig& config,
                                      const std::optional<TrainingRanks>& ranks) {
  if (flags.verify.empty()) return nullptr;
  return ThrowingAlike([&] {
    if (ranks) CheckCanDigest(config, ranks->plan);
    return std::make_unique<RunRecord>(flags.verify, config,
                                       TermsOf(ParsePipelineKind(flags.pipeline), ranks),
                                       ranks ? ranks->comm : nullptr);
  });
}

std::unique_ptr<RunVerifier> BeginVerify(const TrainFlags& flags, std::unique_ptr<RunRecord> record,
                                         Trainer& trainer) {
  constexpr int64_t kEvery = 64;
  if (record == nullptr) return nullptr;
  return std::make_unique<RunVerifier>(trainer, std::move(record),
                                       flags.verify_every.value_or(kEvery));
}

std::optional<VerifyReport> EndVerify(RunVerifier* verifier, bool is_leader) {
  if (verifier == nullptr) return {};
  verifier->End();
  const VerifyReport& report = verifier->report();
  if (!is_leader) return report;
  Note(Format("verify {}: equal digests: {}, added: {}", report.record, report.equal, report.added),
       {{"equal", report.equal}, {"added", report.added}});
  return report;
}

}  // namespace tessera::cli
