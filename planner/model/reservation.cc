#include "planner/model/reservation.h"

#include <cmath>

#include "planner/model/planner_error.h"
#include "runtime/base/check.h"
#include "runtime/base/names.h"

namespace tessera {
namespace {

constexpr const char* kReservationNames[] = {"fixed_percentage", "fixed_absolute", "heuristical",
                                             "inference", "sku_aware"};
constexpr double kIdBytes = 8;
constexpr int64_t kTrainingKjtCopies = 20;

// Refuses bytes that the reservation would not look at.
void CheckBytesOfKind(const Reservation& r) {
  using enum ReservationKind;
  const auto refuse = [&](bool given, const char* field, ReservationKind of) {
    TESSERA_CHECK(!given, "reservation: {} beside {}, which does not know it; expected {}", field,
                  r.kind, of);
  };
  if (r.kind != kFixedAbsolute)
    refuse(r.hbm_reserved_bytes != 0, "hbm_reserved_bytes", kFixedAbsolute);
  if (r.kind == kSkuAware) return;
  refuse(r.margin_bytes != 0, "margin_bytes", kSkuAware);
  refuse(r.runtime_overhead_bytes != 0, "runtime_overhead_bytes", kSkuAware);
  refuse(r.model_base_bytes.has_value(), "model_base_bytes", kSkuAware);
}

void CheckReservation(const Reservation& r) {
  for (const double share : {r.percentage, r.ddr_percentage})
    TESSERA_CHECK(share >= 0 && share <= 1, "reservation: expected a percentage of 0 to 1, got {}",
                  share);
  TESSERA_CHECK(r.parameter_multiplier >= 0 && r.parameter_multiplier <= 1000,
                "reservation: expected a parameter_multiplier of 0 to 1000, got {}",
                r.parameter_multiplier);
  TESSERA_CHECK(r.hbm_reserved_bytes >= 0 && r.margin_bytes >= 0 && r.runtime_overhead_bytes >= 0 &&
                    r.model_base_bytes.value_or(0) >= 0 && r.dense_tensor_estimate.value_or(0) >= 0,
                "reservation: expected bytes that are not negative");
  CheckBytesOfKind(r);
}

// The batch of ids of one rank, all features.
int64_t KjtBytes(const PlannerModel& model) {
  double ids = 0;
  for (const PlannerTable& table : model.tables) {
    const TableConstraints& c = model.constraints_of(table);
    for (size_t f = 0; f < c.pooling_factors.size(); ++f)
      ids += c.pooling_factors[f] *
             (f < c.batch_sizes.size() ? c.batch_sizes[f] : static_cast<double>(model.batch_size));
  }
  return static_cast<int64_t>(std::ceil(ids * kIdBytes));
}

int64_t DenseBytes(const PlannerModel& model, const Reservation& r) {
  if (r.dense_tensor_estimate.value_or(0) != 0) return *r.dense_tensor_estimate;
  const double multiplier = r.kind == ReservationKind::kInference ? 1 : r.parameter_multiplier;
  return static_cast<int64_t>(
      std::nearbyint(multiplier * static_cast<double>(model.dense_parameter_bytes) +
                     static_cast<double>(model.dense_buffer_bytes)));
}

int64_t LeftOf(int64_t bytes, double share) {
  return share == 0 ? bytes : static_cast<int64_t>((1 - share) * static_cast<double>(bytes));
}

// The HBM that is left before dense parameters and batches are taken off.
int64_t HbmLeft(int64_t hbm, const Reservation& r) {
  const int64_t none = 0;
  switch (r.kind) {
    case ReservationKind::kFixedAbsolute:
      return std::max(none, hbm - r.hbm_reserved_bytes);
    case ReservationKind::kSkuAware:
      return std::max(none, std::max(none, hbm - r.model_base_bytes.value_or(r.margin_bytes)) -
                                r.runtime_overhead_bytes);
    default:
      return LeftOf(hbm, r.percentage);
  }
}

void CheckLeft(const ReservedMemory& memory, const Topology& topology, const Reservation& r) {
  const int64_t left = memory.capacity[0].hbm;
  const bool enough = r.kind == ReservationKind::kHeuristical ? left >= 0
                      : r.kind == ReservationKind::kSkuAware  ? left > 0
                                                              : true;
  if (enough) return;
  throw PlannerError(
      PlannerErrorKind::kInsufficientStorage,
      Format("nothing of rank 0's memory is left for tables: of {}, {} stay after the reservation "
             "of kind {}, of which dense parameters want {} and batches of ids {}; reserve less, "
             "or use ranks with more memory, a smaller dense model or a smaller batch",
             Storage{.hbm = topology.hbm_of(0)}, Storage{.hbm = HbmLeft(topology.hbm_of(0), r)},
             r.kind, Storage{.hbm = memory.dense_bytes}, Storage{.hbm = memory.kjt_bytes}));
}

}  // namespace

std::string ToString(ReservationKind kind) { return kReservationNames[static_cast<int>(kind)]; }
ReservationKind ParseReservationKind(const std::string& name) {
  return internal::ParseName<ReservationKind>(name, "reservation", kReservationNames);
}

ReservedMemory Reserve(const Topology& topology, const PlannerModel& model, const Reservation& r) {
  CheckReservation(r);
  ReservedMemory memory;
  const bool fixed =
      r.kind == ReservationKind::kFixedPercentage || r.kind == ReservationKind::kFixedAbsolute;
  const bool with_base = r.kind == ReservationKind::kSkuAware && r.model_base_bytes.has_value();
  memory.dense_bytes = fixed || with_base ? 0 : DenseBytes(model, r);
  memory.kjt_bytes =
      KjtBytes(model) * (r.kind == ReservationKind::kInference ? 1 : kTrainingKjtCopies);
  const bool has_share =
      r.kind != ReservationKind::kFixedAbsolute && r.kind != ReservationKind::kSkuAware;
  memory.hbm_share = has_share ? r.percentage : 0;
  memory.ddr_share = r.ddr_percentage;
  const int64_t taken = fixed ? 0 : memory.dense_bytes + memory.kjt_bytes;
  const bool cpu = topology.compute_device == ComputeDevice::kCpu;
  for (int rank = 0; rank < topology.world_size; ++rank)
    memory.capacity.push_back(
        {.hbm = HbmLeft(topology.hbm_of(rank), r) - (cpu ? 0 : taken),
         .ddr = LeftOf(topology.ddr_of(rank), r.ddr_percentage) - (cpu ? taken : 0),
         .ssd = topology.ssd_cap});
  CheckLeft(memory, topology, r);
  return memory;
}

}  // namespace tessera
