// The native tests: the core without Python, so that it can run under sanitizers. All tests of kernels run at
// every SIMD level and with several threads.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "checks.hpp"
#include "kernels/table.hpp"
#include "parallel.hpp"

using namespace obp;

namespace {

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

}  // namespace

int main() {
    test_team();
    test_other_metrics();
    for (const Kernels* level : available_kernels()) {
        check(force_kernels(level->name), "an available level can be chosen", level->name);
        test_distances(level->name);
        test_search(level->name);
    }
    check(!force_kernels("none"), "an unknown level is refused", "-");
    std::printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed ? 1 : 0;
}
