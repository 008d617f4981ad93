#include "planner/calibration/calibrate.h"

#include <algorithm>

#include "planner/calibration/machine_profile_json.h"
#include "planner/calibration/measure_collectives.h"
#include "planner/calibration/measure_dense.h"
#include "planner/calibration/measure_dist.h"
#include "planner/calibration/measure_steps.h"
#include "planner/calibration/measure_tables.h"
#include "planner/calibration/measure_tiers.h"
#include "runtime/base/machine.h"
#include "runtime/device/device_properties.h"

namespace tessera {
namespace {

// Reports each step on rank 0. Shares of the time are those that steps took on two cores.
class Progress {
 public:
  Progress(const CalibrateOptions& options, const Communicator& comm)
      : tell_(IsLeader(comm) ? options.progress : nullptr) {}
  std::function<void(const std::string&)> Until(double end) {
    begin_ = end_;
    end_ = end;
    said_ = 0;
    return [this](const std::string& what) {
      constexpr double kSteps = 4;
      if (tell_) tell_(what, begin_ + (end_ - begin_) * std::min(1.0, said_++ / kSteps));
    };
  }

 private:
  std::function<void(const std::string&, double)> tell_;
  double begin_ = 0, end_ = 0, said_ = 0;
};

int CoresOf(const Context& ctx, const CalibrateOptions& options) {
  if (ctx.device() != Device::Cpu()) return options.cores;
  return options.cores > 0 ? options.cores : MachineCores();
}

MachineProfile Described(Context& ctx, Communicator& comm, const CalibrateOptions& options) {
  MachineProfile profile;
  const bool gpu = ctx.device() != Device::Cpu();
  profile.machine = gpu ? PropertiesOf(ctx.device()).name : MachineName();
  profile.device = gpu ? "cuda" : "cpu";
  profile.backend = comm.backend();
  profile.ranks = comm.size();
  profile.threads = ctx.threads().threads();
  profile.cores = CoresOf(ctx, options);
  const int at_a_time = std::max(1, profile.cores / profile.threads);
  profile.measuring_ranks = profile.cores == 0 ? comm.size() : std::min(comm.size(), at_a_time);
  return profile;
}

MachineProfile FromRank0(Communicator& comm, const MachineProfile& profile) {
  return MachineProfileFromJson(
      comm.GatherStringsSync(MachineProfileToJson(profile), "machine profile")[0], "rank 0");
}

}  // namespace

MachineProfile Calibrate(Context& ctx, Communicator& comm, const CalibrateOptions& options) {
  MachineProfile profile = Described(ctx, comm, options);
  Progress progress(options, comm);
  const int local_size = options.local_size > 0 ? options.local_size : comm.size();
  MeasureCollectives(ctx, comm, local_size, options.sizes, progress.Until(0.2), profile);
  const auto group = comm.Split(comm.rank() < profile.measuring_ranks ? 0 : -1, comm.rank());
  if (group) {
    Rounds rounds(ctx, *group, options.sizes.seconds_a_point);
    MeasureDist(rounds, options.sizes, progress.Until(0.4), profile);
    const auto dense = progress.Until(0.5);
    dense("dense layers and wire codecs");
    MeasureDense(rounds, options.sizes, profile);
    MeasureCodecs(rounds, options.sizes, profile);
    MeasureTables(rounds, options.sizes, progress.Until(0.7), profile);
    MeasureTiers(rounds, options.sizes, progress.Until(0.8), profile);
  }
  profile = FromRank0(comm, profile);  // to ranks that did not measure
  MeasureSteps(ctx, comm, options.sizes, progress.Until(1), profile);
  return FromRank0(comm, profile);  // which was in every group
}

}  // namespace tessera
