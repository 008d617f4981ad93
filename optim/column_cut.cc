#include "optim/column_cut.h"

#include <type_traits>
#include <utility>

namespace tessera {
namespace {

template <typename Step>
constexpr bool SumsOverRow() {
  if constexpr (requires { Step::kLateStatistics; })
    return true;
  else
    return Step::kStatistics > 0;
}

// EmaInPlaceRowwiseAdagrad adds one half of a row to the other.
template <typename Rule>
constexpr ColumnCut CutOf() {
  if constexpr (std::is_same_v<Rule, EmaInPlaceRowwiseAdagrad>)
    return ColumnCut::kMustBeWhole;
  else if constexpr (std::is_same_v<Rule, CustomRule>)
    return ColumnCut::kEachBlock;
  else if constexpr (!requires { typename Rule::Step; })  // Dense and None
    return ColumnCut::kExact;
  else
    return SumsOverRow<typename Rule::Step>() ? ColumnCut::kEachBlock : ColumnCut::kExact;
}

template <size_t... kIndex>
ColumnCut CutByName(std::string_view name, std::index_sequence<kIndex...>) {
  ColumnCut cut = ColumnCut::kEachBlock;
  const auto look = [&]<typename Rule>(const Rule*) {
    if constexpr (requires { Rule::kName; })
      if (name == Rule::kName) cut = CutOf<Rule>();
  };
  (look(static_cast<const std::variant_alternative_t<kIndex, RuleVariant>*>(nullptr)), ...);
  return cut;
}

}  // namespace

ColumnCut ColumnCutOf(const AnyRule& rule) {
  return std::visit([](const auto& r) { return CutOf<std::decay_t<decltype(r)>>(); }, rule);
}

ColumnCut ColumnCutOf(std::string_view rule) {
  return CutByName(rule, std::make_index_sequence<std::variant_size_v<RuleVariant>>());
}

}  // namespace tessera
