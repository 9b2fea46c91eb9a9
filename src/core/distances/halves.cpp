#include "rounding.hpp"

#include "distances/halves.hpp"

#include <algorithm>

#include "kernels/table.hpp"
#include "parallel.hpp"

namespace obp {

void widen_halves(const std::uint16_t* halves, std::size_t n, float* wide, int n_threads) {
    constexpr std::size_t per_task = 1 << 16;
    // The number of values below which one thread is used, because starting another takes as long.
    constexpr std::size_t min_work_for_threads = 500'000;
    const Kernels& table = kernels();
    parallel_for(n < min_work_for_threads ? 1 : n_threads, tiles_of(n, per_task), [&](std::size_t task, int) {
        const std::size_t first = task * per_task;
        table.widen_halves(halves + first, std::min(per_task, n - first), wide + first);
    });
}

}  // namespace obp
