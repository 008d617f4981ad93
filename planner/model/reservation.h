#ifndef TESSERA_PLANNER_MODEL_RESERVATION_H_
#define TESSERA_PLANNER_MODEL_RESERVATION_H_
// Memory that tables leave to the rest of the model. A rank's HBM for tables, with dense =
// round(multiplier · parameters + buffers) and kjt = ⌈8·Σ L·B⌉ · 20 (· 1 for inference) over all
// tables:
//
//   fixed_percentage   ⌊(1−p)·hbm⌋
//   fixed_absolute     hbm − hbm_reserved_bytes, at least 0
//   heuristical        ⌊(1−p)·hbm⌋ − dense − kjt
//   inference          ⌊(1−p)·hbm⌋ − dense − kjt, multiplier 1
//   sku_aware          hbm − margin_bytes (or model_base_bytes, and then no dense), at least 0,
//                      − runtime_overhead_bytes, at least 0, − dense − kjt
//
// On a CPU dense and kjt come off DDR. Of a rank's DDR, ⌊(1−q)·ddr⌋ is left before that, whatever
// the kind.
#include <optional>
#include <string>
#include <vector>

#include "planner/model/model.h"
#include "planner/model/sharding_option.h"

namespace tessera {

enum class ReservationKind {
  kFixedPercentage,
  kFixedAbsolute,
  kHeuristical,
  kInference,
  kSkuAware
};
std::string ToString(ReservationKind kind);  // "fixed_percentage", …
ReservationKind ParseReservationKind(const std::string& name);

struct Reservation {
  ReservationKind kind = ReservationKind::kHeuristical;
  double percentage = 0.15;         // p, of HBM
  double ddr_percentage = 0;        // q, of host memory; TorchRec knows none
  double parameter_multiplier = 6;  // 6 copies of dense parameters: gradients, optimizer, …
  std::optional<int64_t> dense_tensor_estimate = {};  // in place of dense, unless 0
  int64_t hbm_reserved_bytes = 0;
  int64_t margin_bytes = 0, runtime_overhead_bytes = 0;
  std::optional<int64_t> model_base_bytes = {};
};

struct ReservedMemory {
  std::vector<Storage> capacity;  // of each rank, for tables; may be negative
  int64_t dense_bytes = 0, kjt_bytes = 0;
  double hbm_share = 0, ddr_share = 0;  // the percentages
};

// Throws PlannerError if rank 0's HBM for tables is below 0 under heuristical, or not above 0 under
// sku_aware; Error for shares outside [0, 1], negative bytes, and bytes that only another kind asks
// for.
ReservedMemory Reserve(const Topology& topology, const PlannerModel& model,
                       const Reservation& reservation);

}  // namespace tessera
#endif  // TESSERA_PLANNER_MODEL_RESERVATION_H_
