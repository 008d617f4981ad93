// tessera calibrate: measures this machine for the planner.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/gpu_ranks.h"
#include "cli/outputs.h"
#include "cli/rank_layout.h"
#include "cli/ranks/wrong_start.h"
#include "cli/show/log.h"
#include "cli/show/measure_progress.h"
#include "cli/show/numbers.h"
#include "comm/local_communicator.h"
#include "comm/mpi/mpi_communicator.h"
#include "planner/calibration/calibrate.h"
#include "planner/calibration/machine_profile_json.h"
#include "planner/model/topology_json.h"
#include "runtime/base/machine.h"
#include "runtime/context.h"
#include "runtime/device/device_properties.h"
#include "runtime/files/files.h"

namespace tessera::cli {
namespace {

constexpr char kCalibrateDescription[] =
    "Measure this machine for the planner: what lookup, update, exchanges and dense layers cost a "
    "rank, in under two minutes.";
constexpr char kCalibrateFooter[] =
    "\nExamples:\n"
    "  tessera calibrate --ranks 2 -o topology.json\n"
    "  mpirun -n 4 tessera calibrate -o topology.json\n"
    "  tessera calibrate --device cuda --ranks 4 -o topology.json\n"
    "\n"
    "Leave the machine alone meanwhile. The file describes the machine (its ranks and memory may "
    "be edited) and has a section `profile` with what was measured; tessera plan --topology reads "
    "both.\n";

struct CalibrateFlags {
  std::string device = "cpu", comm = "auto", out;
  int ranks = 0, threads = 0, cores = 0;
  bool json = false, quick = false;
};

// One rank for each GPU, or for each core; at least 2, so that there are exchanges.
int ChooseRanks(const CalibrateFlags& flags) {
  if (flags.ranks > 0) return flags.ranks;
  return std::max(
      2, ParseDevice(flags.device).type == DeviceType::kCuda ? CudaDeviceCount() : MachineCores());
}

ContextOptions MakeContextOptions(const CalibrateFlags& flags, const Communicator& comm) {
  const int threads =
      UnderMpirun() ? DefaultThreads(MpiLocalSize()) : DefaultThreads() / comm.size();
  ContextOptions options;
  options.device = DeviceOfRank(flags.device, comm);
  options.threads = flags.threads > 0 ? flags.threads : std::max(1, threads);
  return options;
}

CalibrateOptions OptionsOf(const CalibrateFlags& flags, MeasureProgress& progress) {
  CalibrateOptions options;
  options.cores = flags.cores;
  if (flags.quick) {
    options.sizes.seconds_a_point = 0.005;
    options.sizes.most_ids = 1 << 12;
    options.sizes.largest_table_bytes = 4 << 20;
    options.sizes.largest_message_bytes = 1 << 20;
  }
  options.progress = [&progress](const std::string& what, double done) {
    progress.Show(what, done);
  };
  return options;
}

// Measures the machine; the profile is present on the process that reports it.
std::optional<MachineProfile> Measure(const CalibrateFlags& flags) {
  std::optional<MachineProfile> profile;
  MeasureProgress progress;
  const auto measure = [&](Communicator& comm) {
    Context ctx(MakeContextOptions(flags, comm));
    const GpuRanks gpus = ConnectRanks(flags.comm, flags.device, ctx, comm);
    CalibrateOptions options = OptionsOf(flags, progress);
    options.local_size = RankLayoutSync(comm).local_size;
    const MachineProfile measured = Calibrate(ctx, gpus.nccl ? *gpus.nccl : comm, options);
    if (!IsLeader(comm)) return;
    profile = measured;
    if (!gpus.why_host.empty()) Note(gpus.why_host);
  };
  if (!UnderMpirun()) {
    RunLocalRanks(ChooseRanks(flags), measure);
    return profile;
  }
  const char* wrong =
      flags.ranks > 0 ? "--ranks under mpirun, which says itself how many there are" : "";
  RunMpiRank(MpiOptionsOf(/*own_thread=*/false), [&](Communicator& comm) {
    ThrowWrongSync({.claims = "", .start = wrong}, comm);
    measure(comm);
    return 0;
  });
  return profile;
}

// Bytes a second of the widest rows, in memory; 0 if unknown.
double LookupBandwidth(const MachineProfile& profile) {
  const auto rows = profile.lookup.rows.find(DType::kF32);
  if (rows == profile.lookup.rows.end() || rows->second.empty()) return 0;
  const RowPrices& widest = rows->second.back();
  if (widest.by_working_set.empty() || widest.by_working_set.back().seconds <= 0) return 0;
  return static_cast<double>(widest.row_bytes) / widest.by_working_set.back().seconds;
}

// The memory of one rank's share of its GPU; a rank has a GPU to itself where there are enough.
int64_t HbmOfRank(int local_ranks) {
  const int gpus = std::max(1, CudaDeviceCount());
  return PropertiesOf(Device::Cuda(0)).memory_bytes / ((local_ranks + gpus - 1) / gpus);
}

// The machine as it was measured: its ranks, and memory by rank.
Topology TopologyOf(const MachineProfile& profile) {
  const int here = UnderMpirun() ? MpiLocalSize() : profile.ranks;
  Topology topology;
  topology.world_size = profile.ranks;
  topology.local_world_size = profile.ranks % here == 0 ? here : profile.ranks;
  topology.cores_per_node = profile.cores;
  topology.ddr_cap = MachineMemoryBytes() / topology.local_world_size;
  topology.compute_device = profile.device == "cuda" ? ComputeDevice::kCuda : ComputeDevice::kCpu;
  // TorchRec's formulas ask for the bandwidth of a lookup in memory.
  if (const double speed = LookupBandwidth(profile); speed > 0)
    (profile.device == "cuda" ? topology.hbm_mem_bw : topology.ddr_mem_bw) = speed / 1e3;
  topology.hbm_cap = profile.device == "cuda" ? HbmOfRank(topology.local_world_size) : 0;
  return topology;
}

std::string Nanoseconds(double seconds) { return Fixed(1e9 * seconds, 1); }
std::string Microseconds(double seconds) { return Fixed(1e6 * seconds, 1); }

std::string RowTable(const std::string& title, const RowPriceTable& table) {
  std::vector<std::vector<std::string>> rows = {{title, "in cache, ns", "from memory, ns", "GB/s"}};
  for (const RowPrices& row : table) {
    if (row.by_working_set.empty()) continue;
    const double far = row.by_working_set.back().seconds;
    rows.push_back({Format("  {} bytes", row.row_bytes),
                    Nanoseconds(row.by_working_set.front().seconds), Nanoseconds(far),
                    far > 0 ? Fixed(static_cast<double>(row.row_bytes) / far / 1e9, 1) : "-"});
  }
  return TextTable(rows);
}

std::string CollectiveTable(const MachineProfile& profile) {
  std::vector<std::vector<std::string>> rows = {{"collective", "ranks", "small, us", "GB/s"}};
  for (const CollectivePrices& c : profile.collectives) {
    const double slope = SlopeOf(c.by_bytes);
    rows.push_back({"  " + ToString(c.op), std::to_string(c.ranks),
                    Microseconds(c.by_bytes.front().seconds),
                    slope > 0 ? Fixed(1 / slope / 1e9, 1) : "-"});
  }
  return TextTable(rows);
}

std::string Report(const MachineProfile& p) {
  std::string text = Format("{}: {} ({}), {} each\n\n", p.machine, Counted(p.ranks, "rank"),
                            p.backend, Counted(p.threads, "thread"));
  const auto rows = p.lookup.rows.find(DType::kF32);
  if (rows != p.lookup.rows.end()) text += RowTable("lookup of a row", rows->second) + "\n";
  for (const auto& [rule, prices] : p.update.rows)
    text += RowTable("update of a row, " + rule, prices) + "\n";
  text += CollectiveTable(p) + "\n";
  const double flop = p.dense.empty() ? 0 : p.dense.back().seconds;
  text += TextTable(
      {{"dense layers", flop > 0 ? Fixed(1e-9 / flop, 0) + " GFLOP/s" : "-"},
       {"a lookup's call", Microseconds(p.lookup.call) + " us"},
       {"an exchange of ids' own work", Microseconds(p.input_dist[kInputCalls]) + " us"}});
  return text;
}

int Run(const CalibrateFlags& flags) {
  Outputs(/*overwrite=*/false).AddReport(flags.out, kTopology);
  CheckComm(flags.comm, flags.device);
  if (flags.comm == "host" && ParseDevice(flags.device) == Device::Cpu())
    throw Error(
        "--comm host beside --device cpu, whose ranks exchange through the host anyway: leave "
        "--comm out");
  if (flags.json) NotesToStandardError();
  PrepareGpuRanks(flags.device, flags.comm);
  const std::optional<MachineProfile> measured = Measure(flags);
  if (!measured) return 0;
  const MachineProfile& profile = *measured;
  const std::string document = TopologyToJson({TopologyOf(profile), MachineProfileToJson(profile)});
  if (!flags.out.empty()) ReplaceTextFile(flags.out, document);
  std::fputs(flags.json ? document.c_str() : Report(profile).c_str(), stdout);
  if (!flags.out.empty() && !flags.json)
    Note(Format("\nwritten to {}", flags.out), {{"path", flags.out}});
  return 0;
}

}  // namespace

void AddCalibrateCommand(Command app) {
  Command command = app.AddCommand("calibrate", kCalibrateDescription);
  const auto f = std::make_shared<CalibrateFlags>();
  const auto count = NumbersFrom(1, 1 << 16);
  command.Add("--device", f->device, "Measure tables that lie on cpu or cuda")
      .ShowDefault()
      .Value("DEVICE");
  command.Add("--comm", f->comm, kCommHelp).Value("KIND");
  command
      .Add(
          "--ranks", f->ranks,
          "Number of ranks to measure, threads of this process; default: as many as cores or GPUs, "
          "at least 2")
      .Within(count)
      .Value("N");
  command
      .Add("--threads", f->threads, "Threads of each rank; default: the cores divided by the ranks")
      .Within(count)
      .Value("N");
  command
      .Add("--cores", f->cores,
           "Cores that the ranks of a node share; default: all cores of the machine")
      .Within(count)
      .Value("N");
  command.Add("--quick", f->quick, "Measure roughly, in seconds");
  command.Add("--json", f->json,
              "Print the topology as JSON instead of tables; this is a switch, and takes no "
              "FILE as --json of train, plan and predict does (--out FILE writes the same)");
  command.Add("-o,--out", f->out, "Write the topology to this file").Value("FILE");
  command.Footer(kCalibrateFooter);
  command.Run([f] { return Run(*f); });
}

}  // namespace tessera::cli
