#include "rounding.hpp"

#include "search/arms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "parallel.hpp"

namespace obp {
namespace {

constexpr std::size_t candidates_per_task = 64;

const float* row_of(const Candidates& candidates, std::size_t i) {
    return candidates.block.row(static_cast<std::size_t>(candidates.rows[i]));
}

}  // namespace

void add_build_moments(const Candidates& candidates, const BuildView& state, Moments* moments, int n_threads) {
    const Kernels& level = kernels();
    parallel_for_each(n_threads, candidates.n, candidates_per_task, [&](std::size_t i) {
        const Moments added = level.build_moments(state, row_of(candidates, i));
        moments[i].sum += added.sum;
        moments[i].squares += added.squares;
    });
}

void add_swap_moments(const Candidates& candidates, const SwapView& state, Moments* moments, int n_threads) {
    const Kernels& level = kernels();
    parallel_for_each(n_threads, candidates.n, candidates_per_task, [&](std::size_t i) {
        level.add_swap_moments(state, row_of(candidates, i), moments + i * (state.k + 1));
    });
}

void bound_gains(const Arms& arms, double n_points, double width, double* highest, double* surest, int n_threads) {
    parallel_for_each(n_threads, arms.n, candidates_per_task, [&](std::size_t i) {
        const Moments* shared = arms.moments + i * (arms.k + 1);
        highest[i] = surest[i] = -std::numeric_limits<double>::infinity();
        const auto take_in = [&](double sum, double squares) {
            const double mean = sum / n_points, variance = squares / n_points - mean * mean;
            const double half = width * std::sqrt(std::max(variance, 0.0));  // rounding may make a variance negative
            highest[i] = std::max(highest[i], mean + half);
            surest[i] = std::max(surest[i], mean - half);
        };
        if (arms.k == 0) take_in(shared->sum, shared->squares);
        for (std::size_t slot = arms.n_fixed; slot < arms.k; ++slot) {
            const Moments &own = shared[1 + slot], &removal = arms.removals[slot];
            take_in(shared->sum + removal.sum + own.sum, shared->squares + removal.squares + own.squares);
        }
    });
}

}  // namespace obp
