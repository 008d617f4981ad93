#ifndef TESSERA_TESTS_CONFORMANCE_CASE_H_
#define TESSERA_TESTS_CONFORMANCE_CASE_H_
// A conformance case: inputs, attributes and the answer that another system computed; and how an
// answer is compared.
//
// A kind (the folder a case lies in) is one function from a case to an Answer, computed with the
// library's public calls from `attrs` and the tensors `in.*` alone, which lie where the context
// works. kinds.h lists them.
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "runtime/tensor.h"

namespace tessera::conformance {

using Json = nlohmann::json;
using Tensors = std::map<std::string, Tensor>;

struct Case {
  std::string path, kind, name;
  Json attrs;
  Tensors in, out;  // names without the prefix
  bool exact = false;
  double rtol = 0, atol = 0;
  std::map<std::string, std::pair<double, double>> tolerances;  // by the name of an output

  // The input of that name. Throws Error if there is none.
  const Tensor& input(const std::string& input_name) const;
  // The input of that name, undefined if there is none.
  Tensor optional(const std::string& input_name) const;
};

struct Answer {
  Tensors tensors;
  Json expect;  // compared with attrs.expect, where the case has it
  Json text;    // compared with attrs.text, where the case has it
};

// Thrown by a kind for a case that asks for what the library does not have yet; the text says what.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reads a case file. Throws Error for a file that is not one.
Case ReadCase(Context& ctx, const std::string& path);

// Empty if `answer`, in host memory, is what the case expects, else the first difference: which
// tensor, index, both values.
std::string FirstDifference(const Case& c, const Answer& answer);

}  // namespace tessera::conformance
#endif  // TESSERA_TESTS_CONFORMANCE_CASE_H_
