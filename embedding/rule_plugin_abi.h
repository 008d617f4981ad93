#ifndef TESSERA_EMBEDDING_RULE_PLUGIN_ABI_H_
#define TESSERA_EMBEDDING_RULE_PLUGIN_ABI_H_
// The table between a shared object with a rule (embedding/rule_plugin.h) and the command that
// loads it: names, numbers and functions, in C's terms. It is constant, so it is read, and checked,
// before any code of the object runs.
#include <cstddef>
#include <cstdint>

#include "embedding/update/row_update.h"
#include "runtime/base/version.h"

namespace tessera::internal {

inline constexpr char kRulePluginSymbol[] = "tessera_rule_plugin";
inline constexpr char kRulePluginMagic[16] = "tessera rule 1";
inline constexpr int kMaxPluginOptions = 32;
inline constexpr size_t kMaxPluginRuleBytes = 512, kPluginRuleAlignment = 16;

enum class PluginOptionKind : int32_t { kFloat, kDouble, kBool, kInt, kInt64 };

// An option of a rule, and where it lies in the rule's bytes.
struct PluginOption {
  const char* name;
  PluginOptionKind kind;
  int32_t offset;
};

struct PluginState {
  const char* name;
  int64_t name_length;
  bool per_row, counts;
};

// A number that changes with what update() reads: sizes, and the places of the fields. It knows
// neither compiler nor C++ library: no type of theirs crosses.
constexpr uint64_t RulePluginLayout() {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const uint64_t part : {sizeof(RowUpdateArgs),
                              alignof(RowUpdateArgs),
                              offsetof(RowUpdateArgs, occurrences),
                              offsetof(RowUpdateArgs, wide_rows),
                              offsetof(RowUpdateArgs, begin),
                              offsetof(RowUpdateArgs, end),
                              offsetof(RowUpdateArgs, grad),
                              offsetof(RowUpdateArgs, grad_type),
                              offsetof(RowUpdateArgs, slot_stride),
                              offsetof(RowUpdateArgs, slot_offsets),
                              offsetof(RowUpdateArgs, slot_scales),
                              offsetof(RowUpdateArgs, slots),
                              offsetof(RowUpdateArgs, sample_weights),
                              offsetof(RowUpdateArgs, run_sum),
                              offsetof(RowUpdateArgs, summed),
                              sizeof(ExecutorTable),
                              offsetof(ExecutorTable, row_type),
                              offsetof(ExecutorTable, dim),
                              offsetof(ExecutorTable, element_states),
                              offsetof(ExecutorTable, row_states),
                              offsetof(ExecutorTable, rounding),
                              offsetof(ExecutorTable, step),
                              offsetof(ExecutorTable, gradient_scale),
                              sizeof(StateArray),
                              offsetof(StateArray, type),
                              sizeof(DType),
                              sizeof(RowRounding),
                              offsetof(RowRounding, first_row),
                              offsetof(RowRounding, first_column),
                              offsetof(RowRounding, row_ids),
                              sizeof(RunSum),
                              offsetof(RunSum, last),
                              offsetof(RunSum, block),
                              offsetof(RunSum, full_columns),
                              offsetof(RunSum, tail),
                              sizeof(Occurrence<uint32_t>),
                              sizeof(Occurrence<uint64_t>),
                              sizeof(PluginOption),
                              sizeof(PluginState)})
    hash = (hash ^ part) * 0x100000001b3u;
  return hash;
}

// The table, which the object exports as kRulePluginSymbol. A later form that begins otherwise has
// another magic. Texts lie in the table: a pointer to an inline constant would lead to that of the
// first object of the process which has one of the name.
struct RulePluginTable {
  char magic[16];
  char version[24];        // kVersion of the headers
  uint64_t layout;         // RulePluginLayout() of the headers
  char instructions[192];  // what the code may use beside the baseline: "avx2 fma"
  const char* rule;        // its name
  // Writes the struct with its defaults.
  void (*make)(void* rule);
  // Write what the rule has, and return how many.
  int (*options)(PluginOption* options);
  int (*states)(const void* rule, PluginState* states);
  // Whether the code multiplies and adds in one instruction where the source does so in two, or was
  // compiled with -ffast-math.
  bool (*contracts)();
  void (*update)(const void* rule, float lr, int64_t step, const RowUpdateArgs& args);
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_RULE_PLUGIN_ABI_H_
