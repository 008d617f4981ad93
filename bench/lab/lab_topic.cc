#include "bench/lab/lab_topic.h"

#include <algorithm>
#include <set>

#include "bench/harness/sweep.h"
#include "bench/lab/kernel.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

using Names = std::vector<std::string>;

bool Contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "a+b": a, b.
Names Split(const std::string& text) {
  Names names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('+', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// By name.
const std::vector<Kernel>& SortedKernels() {
  static const std::vector<Kernel> kernels = [] {
    std::vector<Kernel> all = Kernels();
    std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.name < b.name; });
    return all;
  }();
  return kernels;
}

Names KernelNames() {
  Names names;
  for (const Kernel& kernel : SortedKernels()) names.push_back(kernel.name);
  return names;
}

const Kernel& KernelOfPoint(const Point& point) {
  const auto& kernels = SortedKernels();
  return *std::find_if(kernels.begin(), kernels.end(),
                       [&](const Kernel& k) { return k.name == point.Text("kernel"); });
}

// Throws Error where two have one name.
std::vector<Variant> SortedVariants(const Kernel& kernel) {
  std::vector<Variant> variants = kernel.variants();
  CheckNamesDiffer(variants, "--kernel " + kernel.name);
  std::sort(variants.begin(), variants.end(), [](auto& a, auto& b) { return a.name < b.name; });
  return variants;
}

Names VariantNames(const Kernel& kernel) {
  Names names;
  for (const Variant& variant : SortedVariants(kernel)) names.push_back(variant.name);
  return names;
}

// The variants that the point names and that take its shape. Those of "all" that do not take it are
// left out, and a note says so; one that the point names is an error.
std::vector<Variant> Chosen(const Kernel& kernel, const Point& point, Names& notes) {
  const std::string& text = point.Text("variants");
  const bool all = text == "all";
  const Names known = VariantNames(kernel), wanted = all ? known : Split(text);
  for (const std::string& name : wanted)
    TESSERA_CHECK(Contains(known, name), "--variants {} with --kernel {}: it has the variants {}",
                  name, kernel.name, ListOfNames(known));
  std::vector<Variant> chosen;
  for (const Variant& variant : SortedVariants(kernel)) {
    if (!Contains(wanted, variant.name)) continue;
    const std::string other = NotTaken(variant.takes, point);
    if (other.empty())
      chosen.push_back(variant);
    else if (all)
      notes.push_back(Format("variant {} does not take {}", variant.name, other));
    else
      TESSERA_FAIL("--variants {}: {} does not take {}", text, variant.name, other);
  }
  return chosen;
}

// An axis that no kernel or variant of the point reads must be left as it is.
void CheckOthersUnset(const Kernel& kernel, const std::vector<Variant>& chosen,
                      const Point& point) {
  std::set<std::string> read = {"kernel", "variants"};
  for (const Axis& axis : kernel.axes()) read.insert(axis.name);
  for (const Variant& variant : chosen)
    for (const Axis& parameter : variant.parameters) read.insert(parameter.name);
  Names flags;
  for (const Axis& axis : LabTopic().axes)
    if (read.contains(axis.name)) flags.push_back("--" + axis.name);
  for (const Axis& axis : LabTopic().axes)
    TESSERA_CHECK(read.contains(axis.name) || point.Text(axis.name) == axis.values[0],
                  "--{} {} with --kernel {}: nothing that is timed here reads it ({}); read are {}",
                  axis.name, point.Text(axis.name), kernel.name, axis.help,
                  internal::Joined(flags));
}

// Which of its axes a kernel reads shows when it is made.
void CheckPoint(const Point& point) {
  const Kernel& kernel = KernelOfPoint(point);
  Names notes;
  CheckOthersUnset(kernel, Chosen(kernel, point, notes), point);
  for (const Axis& axis : LabTopic().axes) point.Text(axis.name);
}

Work MakeWork(Context& ctx, const Point& point) {
  const Kernel& kernel = KernelOfPoint(point);
  Names notes, names;
  const std::vector<Variant> chosen = Chosen(kernel, point, notes);
  CheckOthersUnset(kernel, chosen, point);
  for (const Variant& variant : chosen) names.push_back(variant.name);
  Work work = kernel.make(ctx, point, names);
  work.notes.insert(work.notes.begin(), notes.begin(), notes.end());
  return work;
}

bool IsVariantOfAnyKernel(const std::string& name) {
  return std::ranges::any_of(
      SortedKernels(), [&](const Kernel& kernel) { return Contains(VariantNames(kernel), name); });
}

void CheckVariantNames(const std::string& text) {
  if (text == "all") return;
  for (const std::string& name : Split(text)) {
    if (IsVariantOfAnyKernel(name)) continue;
    std::string known;
    for (const Kernel& kernel : SortedKernels())
      known += Format("; {} has {}", kernel.name, internal::Joined(VariantNames(kernel)));
    throw Error(Format("no kernel has a variant '{}'{}", name, known));
  }
}

// An axis, and who reads it.
struct Reader {
  Axis axis;
  std::string name;
  bool is_variant = false;  // else a kernel
};

std::vector<Reader> Readers() {
  std::vector<Reader> readers;
  for (const Kernel& kernel : SortedKernels())
    for (const Axis& axis : kernel.axes()) readers.push_back({axis, "kernel " + kernel.name});
  for (const Kernel& kernel : SortedKernels())
    for (const Variant& variant : SortedVariants(kernel))
      for (const Axis& axis : variant.parameters)
        readers.push_back({axis, Format("variant {} of {}", variant.name, kernel.name), true});
  return readers;
}

// Adds the reader's axis, unless another one's has been added. Throws Error where they differ.
void AddAxis(const Reader& reader, const std::vector<Reader>& readers, std::vector<Axis>& axes) {
  Axis axis = reader.axis;
  const auto same = [&](const Axis& other) { return other.name == axis.name; };
  if (const auto found = std::find_if(axes.begin(), axes.end(), same); found != axes.end()) {
    TESSERA_CHECK(found->values == axis.values,
                  "{} has the axis {} with the first value {}; another reader has it with {}",
                  reader.name, axis.name, axis.values[0], found->values[0]);
    return;
  }
  Names names;
  for (const Reader& other : readers)
    if (same(other.axis)) names.push_back(other.name);
  if (names.size() == 1 || reader.is_variant)
    axis.help = Format("of {}: {}", ListOfNames(names), axis.help);
  axes.push_back(std::move(axis));
}

// "grouping (limit: a copy of the ids), …".
std::string KernelsHelp() {
  std::string text;
  for (const Kernel& kernel : SortedKernels())
    text += (text.empty() ? "" : ", ") + Format("{} (limit: {})", kernel.name, kernel.limit);
  return text;
}

// Those of all kernels, then those of variants; several may share one.
std::vector<Axis> LabAxes() {
  std::vector<Axis> axes = {{"kernel", {"lookup"}, KernelsHelp(), OneOf(KernelNames())},
                            {"variants", {"all"}, "all, or names joined by +", CheckVariantNames}};
  const std::vector<Reader> readers = Readers();
  for (const Reader& reader : readers) AddAxis(reader, readers, axes);
  return axes;
}

double MemoryOf(const Point& point) {
  const Kernel& kernel = KernelOfPoint(point);
  return kernel.memory ? kernel.memory(point) : 0;
}

}  // namespace

const Topic& LabTopic() {
  static const Topic topic = {
      .name = "lab",
      .help = "Variants of kernels, checked and ranked beside ours.",
      .limit = "a bare loop with the kernel's memory traffic or arithmetic (--kernel in --help)",
      .axes = LabAxes(),
      .suites = {},
      .make = MakeWork,
      .check = CheckPoint,
      .memory = MemoryOf,
      .ranked = true};
  return topic;
}

}  // namespace tessera::bench
