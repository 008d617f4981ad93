#ifndef TESSERA_BENCH_LAB_KERNEL_H_
#define TESSERA_BENCH_LAB_KERNEL_H_
// A kernel of the lab is one file, bench/lab/<kernel>_kernel.cc: its axes, and what a point of them
// is, with one line that makes it known. Its variants are those that take the same arguments
// (variant.h).
//
//   const RegisterKernel<LookupArgs> kLookup({.name = "lookup", …, .make = MakeLookup});
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/topic.h"
#include "bench/lab/variant.h"
#include "runtime/context.h"

namespace tessera::bench {

// One point of a kernel, made ready. Its data live as long as the closures.
template <typename Args>
struct KernelPoint {
  // Runs a function once and throws Error unless all that it wrote is right: every bit, or, with
  // `other_sums`, every element within the tolerance; and nothing beside its outputs.
  using Check = std::function<void(Context&, const KernelFunction<Args>&, bool other_sums)>;

  KernelFunction<Args> ours;
  std::function<Args(int round)> args;              // of a timed call
  std::function<void(int round)> before = nullptr;  // done before each timed call, and not timed
  Check check_hard;                                 // on small batches full of edges
  Check check_timed;                                // on the batch of round 0
  // By how much a sum's order may change an element, as a share of what its terms' magnitudes add
  // up to. 0: a variant has our bits.
  double tolerance = 0;
  Contender limit;
  double bytes = 0;
  int64_t items = 0;
  std::string item = "ids";
  // Those of Work.
  std::vector<std::pair<std::string, double>> facts = {};
  std::function<std::vector<std::pair<std::string, double>>(bool cold)> details = nullptr;
};

template <typename Args>
struct KernelOf {
  std::string name;   // what --kernel takes
  std::string limit;  // what the limit is: "a bare gather of the same rows"
  // All that it reads; others must be left as they are.
  std::vector<Axis> (*axes)();
  KernelPoint<Args> (*make)(Context&, const Point&);
  double (*memory)(const Point&);  // bytes that a point takes, about
};

// Any kernel, as the topic knows it.
struct Kernel {
  std::string name, limit;
  std::function<std::vector<Axis>()> axes;
  std::function<std::vector<Variant>()> variants;
  // Ours beside the variants named.
  std::function<Work(Context&, const Point&, const std::vector<std::string>& variants)> make;
  std::function<double(const Point&)> memory;
};

// Filled before main by objects of static storage.
std::vector<Kernel>& Kernels();

// Calls `hard` on one thread, then several times on four that are interrupted all the time
// (interruptions.h), then `timed`. What they throw becomes an Error that names the variant.
void CheckOnThreads(const std::string& variant, const std::function<void(Context&)>& hard,
                    const std::function<void()>& timed);
// Calls `timed` alone, when the variant has been timed.
void CheckAfterRounds(const std::string& variant, const std::function<void()>& timed);

// Throws Error that names the variant and what it got wrong.
template <typename Args>
void CheckVariant(Context& ctx, const std::string& name, const KernelFunction<Args>& run,
                  const KernelPoint<Args>& point, bool other_sums = false) {
  CheckOnThreads(
      name, [&](Context& threads) { point.check_hard(threads, run, other_sums); },
      [&] { point.check_timed(ctx, run, other_sums); });
}

// A contender with other sums is called "eigen (6e-05)", after the tolerance, which a note
// explains. Throws Error where the kernel knows none.
std::string NameWithTolerance(const std::string& variant, double tolerance);
std::string ToleranceNote(const std::string& variant, double tolerance);

// Adds a function to what a point checks and times.
template <typename Args>
void Contend(Context& ctx, const std::shared_ptr<const KernelPoint<Args>>& point,
             const Variant& variant, const KernelFunction<Args>& run, Work& work) {
  const bool other_sums = variant.other_sums;
  std::string name = variant.name;
  if (other_sums) {
    name = NameWithTolerance(variant.name, point->tolerance);
    work.notes.push_back(ToleranceNote(name, point->tolerance));
  }
  work.contenders.push_back(
      {.name = name,
       .run = [&ctx, point, run](int round) { run(ctx, point->args(round)); },
       .before = point->before,
       .check = [&ctx, point, name, run,
                 other_sums] { CheckVariant(ctx, name, run, *point, other_sums); },
       .check_after =
           [&ctx, point, name, run, other_sums] {
             CheckAfterRounds(name, [&] { point->check_timed(ctx, run, other_sums); });
           }});
}

// Ours, and the variants with these names in their order.
template <typename Args>
Work MakeKernelWork(const KernelOf<Args>& kernel, Context& ctx, const Point& point,
                    const std::vector<std::string>& names) {
  const auto made = std::make_shared<const KernelPoint<Args>>(kernel.make(ctx, point));
  Work work;
  work.limit = made->limit;
  work.bytes = made->bytes;
  work.items = made->items;
  work.item = made->item;
  work.facts = made->facts;
  work.details = made->details;
  Contend<Args>(ctx, made, {.name = "tessera", .about = "ours"}, made->ours, work);
  for (const std::string& name : names)
    for (const RegisteredVariant<Args>& registered : VariantsOf<Args>())
      if (registered.variant.name == name)
        Contend<Args>(ctx, made, registered.variant, registered.make(point), work);
  return work;
}

// The kernel of these arguments.
template <typename Args>
KernelOf<Args>& KernelWith() {
  static KernelOf<Args> kernel;
  return kernel;
}

template <typename Args>
struct RegisterKernel {
  explicit RegisterKernel(const KernelOf<Args>& kernel) {
    KernelWith<Args>() = kernel;
    Kernels().push_back(
        {.name = kernel.name,
         .limit = kernel.limit,
         .axes = kernel.axes,
         .variants =
             [] {
               std::vector<Variant> variants;
               for (const auto& registered : VariantsOf<Args>())
                 variants.push_back(registered.variant);
               return variants;
             },
         .make =
             [](Context& ctx, const Point& point, const std::vector<std::string>& names) {
               return MakeKernelWork(KernelWith<Args>(), ctx, point, names);
             },
         .memory = kernel.memory});
  }
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_KERNEL_H_
