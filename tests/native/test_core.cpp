// The native tests: the core without Python, so that it can run under sanitizers. All tests of kernels run at
// every SIMD level and with several threads.
#include "rounding.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "checks.hpp"
#include "distances/packed_columns.hpp"
#include "kernels/table.hpp"
#include "parallel.hpp"
#include "search/swap.hpp"

using namespace obp;

namespace {

// How many allocations succeed before one fails; no allocation fails if the number is negative.
std::atomic<long> allocations_left{-1};

void test_team() {
    std::vector<int> counts(1000);
    Team team(4);
    for (int round = 0; round < 50; ++round) team.run(counts.size(), [&](std::size_t i, int) { ++counts[i]; });
    check(std::all_of(counts.begin(), counts.end(), [](int c) { return c == 50; }), "each task runs once", "-");
    bool thrown = false;
    try {
        team.run(100, [](std::size_t i, int) {
            if (i == 37) throw std::runtime_error("task");
        });
    } catch (const std::runtime_error&) {
        thrown = true;
    }
    check(thrown, "an exception of a task reaches the caller", "-");
    std::atomic<int> after{0};
    team.run(10, [&](std::size_t, int) { ++after; });
    check(after == 10, "a team can be used again after an exception", "-");
}

// The sums of squares of some numbers, computed by several threads in memory of their own.
double sum_squares() {
    std::vector<double> sums(8);
    Team team(4);
    team.run(sums.size(), [&](std::size_t i, int) {
        const std::vector<double> numbers(100, static_cast<double>(i));
        for (const double number : numbers) sums[i] += number * number;
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// The loss of medoids that are found by a swap search on the distances of random rows.
double search_medoids() {
    constexpr std::size_t n = 100, p = 5;
    const std::vector<float> rows = random_rows<float>(n, p, 1);
    const std::vector<double> weights(n, 1.0);
    const std::vector<std::int64_t> start{0, 1, 2};
    std::vector<float> block(n * n);
    PackedColumns(Metric::euclidean, InputType::float32, rows.data(), n, p).fill(rows.data(), n, block.data(), n, 2);
    SwapSearch search(n, start.data(), start.size(), block.data(), n, weights.data(), 0);
    while (!search.converged()) search.sweep(BlockView{block.data(), n, n, n}, 0, 2);
    return search.loss();
}

// Lets each allocation of a function fail in turn.
void test_lack_of_memory(double (*compute)()) {
    const double expected = compute();
    int n_failures = 0;
    bool had_enough = false;
    for (long n_allocations = 0; !had_enough; ++n_allocations) {
        double result = expected;
        allocations_left = n_allocations;
        try {
            result = compute();
            had_enough = allocations_left >= 0;
        } catch (const std::bad_alloc&) {
            ++n_failures;
        }
        allocations_left = -1;
        check(result == expected, "little memory gives the right result or an error", "-");
    }
    check(n_failures > 0, "a lack of memory reaches the caller", "-");
}

}  // namespace

void* operator new(std::size_t size) {
    if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main() {
    test_team();
    test_lack_of_memory(sum_squares);
    test_lack_of_memory(search_medoids);
    test_other_metrics();
    for (const Kernels* level : available_kernels()) {
        check(force_kernels(level->name), "an available level can be chosen", level->name);
        test_bits(level->name);
        test_distances(level->name);
        test_search(level->name);
    }
    check(!force_kernels("none"), "an unknown level is refused", "-");
    std::printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed ? 1 : 0;
}
