// Prints, as JSON, what the instructions of each metric cost on this machine if they work on registers only: the limit
// that `python -m bench kernels` compares the kernels with. The steps are those of src/core/kernels/metrics.hpp.
//
// clock     GHz, from a chain of additions, each of which waits for the one before it
// the rest  steps of one metric in 10^9 per second
#include "rounding.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "kernels/metrics.hpp"

using namespace obp::OBP_LEVEL;

namespace {

double seconds() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Returns the time of the quickest of several calls.
template <class Call>
double quickest(const Call& call) {
    double best = 1e9;
    for (int i = 0; i < 20; ++i) {
        const double start = seconds();
        call();
        best = std::min(best, seconds() - start);
    }
    return best;
}

double clock_rate() {
    constexpr int n = 2'000'000;
    unsigned long x = 1;
    return n / 1e9 / quickest([&] {
               for (int i = 0; i < n / 8; ++i)
                   for (int j = 0; j < 8; ++j)
#if defined(__x86_64__)
                       __asm__ volatile("add %0, %0" : "+r"(x));
#else
                       __asm__ volatile("add %0, %0, %0" : "+r"(x));
#endif
           });
}

// Makes the compiler forget what it knows about a register, so that it computes with it again.
template <class V>
inline void forget(V& vector) {
#if defined(__x86_64__)
    __asm__ volatile("" : "+v"(vector));
#else
    __asm__ volatile("" : "+w"(vector));
#endif
}

template <class Metric>
double step_rate() {
    using T = typename Metric::Unit;
    constexpr int n = 20'000, rows = Metric::rows_per_group, vectors = Metric::vectors;
    double used = 0;
    const double time = quickest([&] {
        Vector<T> sums[rows][vectors], a = {}, b = {};
        forget(a);
        forget(b);
        unrolled<rows>([&](auto row) __attribute__((always_inline)) {
            unrolled<vectors>([&](auto v) __attribute__((always_inline)) { sums[row][v] = a; });
        });
        for (int i = 0; i < n; ++i)
            unrolled<rows>([&](auto row) __attribute__((always_inline)) {
                unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
                    forget(b);
                    sums[row][v] = Metric::template step<row>(sums[row][v], a, b);
                });
            });
        unrolled<rows>([&](auto row) __attribute__((always_inline)) {
            unrolled<vectors>([&](auto v)
                                  __attribute__((always_inline)) { used += static_cast<double>(sums[row][v][0]); });
        });
    });
    return used == 1 ? 0 : 1e-9 * n * rows * vectors * static_cast<double>(lanes<T>) / time;
}

}  // namespace

int main() {
    std::printf("{\"clock\": %.3f, \"product\": %.2f", clock_rate(), step_rate<DotProduct>());
    std::printf(", \"manhattan float32\": %.2f", step_rate<Manhattan<float>>());
    std::printf(", \"manhattan float64\": %.2f", step_rate<Manhattan<double>>());
    std::printf(", \"squares float32\": %.2f", step_rate<SquaredEuclidean<float>>());
    std::printf(", \"squares float64\": %.2f", step_rate<SquaredEuclidean<double>>());
    std::printf(", \"chebyshev float32\": %.2f", step_rate<Chebyshev<float>>());
    std::printf(", \"chebyshev float64\": %.2f}\n", step_rate<Chebyshev<double>>());
}
