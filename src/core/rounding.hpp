// Every product and every sum is rounded by itself. A compiler may otherwise fuse the two into one operation wherever
// the machine has an instruction for it, and the bits of a result would depend on the machine and on the SIMD level.
//
// Every .cpp file of the core and of its tests includes this file before all others. The rule stands in the source,
// because a build can lose a compiler flag: clang-cl, for one, ignores -ffp-contract=off.
#pragma once

#if defined(__FAST_MATH__)
#error "onebatchpam gives the same bits on every machine, which -ffast-math and -Ofast do not allow"
#endif

#if defined(__clang__)
#pragma clang fp contract(off)
#else
#pragma GCC optimize("fp-contract=off")  // GCC ignores the standard's pragma FP_CONTRACT
#endif
