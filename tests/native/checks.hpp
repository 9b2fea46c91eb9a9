// Helpers of the native tests, and their list.
#pragma once

#include <cstddef>
#include <cstdio>
#include <random>
#include <vector>

inline int n_passed = 0, n_failed = 0;

inline void check(bool holds, const char* what, const char* level) {
    ++(holds ? n_passed : n_failed);
    if (!holds) std::printf("FAILED at level %s: %s\n", level, what);
}

// Returns n x p random values between 1 and 255.
template <class T>
std::vector<T> random_rows(std::size_t n, std::size_t p, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(1, 255);
    std::vector<T> rows(n * p);
    for (T& value : rows) value = static_cast<T>(uniform(generator));
    return rows;
}

// Tests that depend on the SIMD level in use. Failures are reported with its name.
void test_bits(const char* level);
void test_distances(const char* level);
void test_search(const char* level);
// Tests of code that is the same at every level.
void test_other_metrics();
