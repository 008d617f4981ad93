#ifndef TESSERA_TESTS_CONFORMANCE_QUANT_CASE_H_
#define TESSERA_TESTS_CONFORMANCE_QUANT_CASE_H_
// The ops of the kind quant that have tables: quant_tables.cc.
#include "tests/conformance/case.h"

namespace tessera::conformance {

Answer RunTbeRows(Context& ctx, const Case& c);
Answer RunTbeLookup(Context& ctx, const Case& c);
Answer RunQuantEbc(Context& ctx, const Case& c);
Answer RunQuantEc(Context& ctx, const Case& c);
Answer RunQuantDlrm(Context& ctx, const Case& c);

}  // namespace tessera::conformance
#endif  // TESSERA_TESTS_CONFORMANCE_QUANT_CASE_H_
