#ifndef TESSERA_BENCH_LAB_CRASH_NAMES_H_
#define TESSERA_BENCH_LAB_CRASH_NAMES_H_
// Says whose code a process died of: while one is alive, a signal that ends the process by a fault
// (a read past a table, a division by zero, abort) first writes a line to standard error.
#include <string>

namespace tessera::bench {

class CrashNames {
 public:
  // who: "variant mine". REQUIRES: no other one is alive.
  explicit CrashNames(const std::string& who);
  ~CrashNames();
  CrashNames(const CrashNames&) = delete;
  CrashNames& operator=(const CrashNames&) = delete;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_CRASH_NAMES_H_
