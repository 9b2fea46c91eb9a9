#include "rounding.hpp"

#include "search/swap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace obp {
namespace {

constexpr std::size_t candidates_per_task = 32, max_chunks_ahead = 16;

bool nearer(float d, std::int32_t slot, float other_d, std::int32_t other_slot) {
    return d < other_d || (d == other_d && slot < other_slot);
}

}  // namespace

inline void SwapSearch::insert_medoid(std::size_t j, std::int32_t slot, float distance) {
    if (!nearer(distance, slot, d2_[j], sec_[j])) return;  // Most medoids are farther away.
    if (nearer(distance, slot, d1_[j], near_[j])) {
        d2_[j] = std::exchange(d1_[j], distance);
        sec_[j] = std::exchange(near_[j], slot);
    } else {
        d2_[j] = distance;
        sec_[j] = slot;
    }
}

inline void SwapSearch::find_nearest(std::size_t j) {
    d1_[j] = d2_[j] = std::numeric_limits<float>::infinity();
    near_[j] = sec_[j] = static_cast<std::int32_t>(medoids_.size());
    for (std::size_t slot = 0; slot < medoids_.size(); ++slot)
        insert_medoid(j, static_cast<std::int32_t>(slot), to_medoids_[j * medoids_.size() + slot]);
}

SwapSearch::SwapSearch(std::size_t n_candidates, const std::int64_t* medoids, std::size_t k, const float* medoid_rows,
                       std::size_t m, const double* weights, double tolerance, std::size_t n_fixed)
    : n_candidates_(n_candidates),
      medoids_(medoids, medoids + k),
      to_medoids_(m * k),
      weights_(weights, weights + m),
      d1_(m),
      d2_(m),
      near_(m),
      sec_(m),
      removal_gains_(k),
      is_medoid_(n_candidates),
      n_fixed_(n_fixed),
      tolerance_(tolerance) {
    for (const std::int64_t medoid : medoids_) is_medoid_[static_cast<std::size_t>(medoid)] = true;
    constexpr std::size_t points_per_tile = 64;  // Few points: their distances to all medoids stay in the cache.
    std::fill(d1_.begin(), d1_.end(), std::numeric_limits<float>::infinity());
    std::fill(d2_.begin(), d2_.end(), std::numeric_limits<float>::infinity());
    std::fill(near_.begin(), near_.end(), static_cast<std::int32_t>(k));
    std::fill(sec_.begin(), sec_.end(), static_cast<std::int32_t>(k));
    for (std::size_t start = 0; start < m; start += points_per_tile) {
        const std::size_t stop = std::min(m, start + points_per_tile);
        for (std::size_t slot = 0; slot < k; ++slot) {
            for (std::size_t j = start; j < stop; ++j)
                to_medoids_[j * k + slot] = known_distance(medoid_rows[slot * m + j]);
            if (slot < 2)
                for (std::size_t j = start; j < stop; ++j)
                    insert_medoid(j, static_cast<std::int32_t>(slot), to_medoids_[j * k + slot]);
            else
                insert_last(start, stop, static_cast<std::int32_t>(slot), medoid_rows + slot * m);
        }
    }
    sum_up();
}

// Inserts the medoid of a slot at some points for which only lower slots are known, and at least two of them. So a
// medoid that is equally far comes after those that are known. There is no branch, so that the loop takes many points
// at a time.
void SwapSearch::insert_last(std::size_t start, std::size_t stop, std::int32_t slot, const float* row) {
    for (std::size_t j = start; j < stop; ++j) {
        const float d = row[j];
        const bool is_first = d < d1_[j], is_second = d < d2_[j];  // both are false for NaN
        d2_[j] = is_first ? d1_[j] : is_second ? d : d2_[j];
        sec_[j] = is_first ? near_[j] : is_second ? slot : sec_[j];
        d1_[j] = is_first ? d : d1_[j];
        near_[j] = is_first ? slot : near_[j];
    }
}

void SwapSearch::sweep(const BlockView& rows, std::size_t first, int n_threads, const double* gains) {
    const auto try_found = [&](const Improving& found) {
        return try_candidates(found.candidates, [&](std::size_t i) {
            return rows.row(static_cast<std::size_t>(found.candidates[i]) - first);
        });
    };
    Improving found{0, {}};
    if (gains) {
        found = next_improving(gains, first, 0, rows.n_rows);
        try_found(found);
    }
    if (found.end == rows.n_rows || converged()) return;
    Team team(n_threads);
    while (found.end < rows.n_rows && !converged()) {
        found = find_improving(rows, first, found.end, team);
        try_found(found);
    }
}

SwapSearch::Improving SwapSearch::find_improving(const BlockView& rows, std::size_t first, std::size_t begin,
                                                 int n_threads) {
    Team team(n_threads);
    return find_improving(rows, first, begin, team);
}

// Chunks are independent of each other until a swap is made. The longer there has been none, the more chunks are
// evaluated together, so that threads wait for each other less often. Chunks after the one that is returned are
// evaluated again in the next call, because the medoids may have changed.
SwapSearch::Improving SwapSearch::find_improving(const BlockView& rows, std::size_t first, std::size_t begin,
                                                 Team& team) {
    const std::size_t k = medoids_.size();
    std::vector<double> scratch(k * static_cast<std::size_t>(team.size())), gains;
    Improving found{begin, {}};
    while (found.end < rows.n_rows && found.candidates.empty() && !converged()) {
        begin = found.end;
        const std::size_t chunks_ahead = std::min(max_chunks_ahead, n_idle_ / (8 * chunk_size));
        const std::size_t end = std::min(rows.n_rows, end_of_chunk(first + begin + chunks_ahead * chunk_size) - first);
        gains.resize(end - begin);
        team.run(tiles_of(gains.size(), candidates_per_task), [&](std::size_t task, int thread) {
            const std::size_t stop = std::min(gains.size(), (task + 1) * candidates_per_task);
            for (std::size_t i = task * candidates_per_task; i < stop; ++i)
                gains[i] = evaluate(rows.row(begin + i), scratch.data() + static_cast<std::size_t>(thread) * k).gain;
        });
        found = next_improving(gains.data(), first, begin, end);
    }
    return found;
}

// Finds the next chunk with an improving candidate among the rows begin, ..., end - 1.
//
// gains  IN  end - begin gains, of these rows
SwapSearch::Improving SwapSearch::next_improving(const double* gains, std::size_t first, std::size_t begin,
                                                 std::size_t end) {
    Improving found{begin, {}};
    while (begin < end && found.candidates.empty() && !converged()) {
        found.end = std::min(end, end_of_chunk(first + begin) - first);
        n_idle_ += found.end - begin;
        for (; begin < found.end; ++begin, ++gains)
            if (improves(*gains) && !is_medoid_[first + begin])
                found.candidates.push_back(static_cast<std::int64_t>(first + begin));
    }
    return found;
}

bool SwapSearch::try_candidates(const std::vector<std::int64_t>& candidates,
                                const std::function<const float*(std::size_t)>& row_of) {
    std::vector<double> gains(medoids_.size());
    bool changed = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const auto candidate = static_cast<std::size_t>(candidates[i]);
        const float* row = row_of(i);
        const Swap swap = evaluate(row, gains.data());
        if (!improves(swap.gain) || is_medoid_[candidate]) continue;  // An earlier swap has made this one useless.
        make_swap(static_cast<std::size_t>(swap.slot), candidate, row);
        n_idle_ = 0;
        changed = true;
    }
    return changed;
}

Swap SwapSearch::evaluate(const float* row, double* scratch) const {
    if (n_fixed_ == medoids_.size()) return {-std::numeric_limits<double>::infinity(), 0};
    if (medoids_.size() == 1)  // After the swap, the candidate is the only medoid.
        return {loss_ - kernels().weighted_sum(row, weights_.data(), m()), 0};
    const SwapView view{weights_.size(), medoids_.size(), d1_.data(),           d2_.data(),
                        near_.data(),    weights_.data(), removal_gains_.data()};
    Swap swap = kernels().evaluate_swap(view, row, scratch);
    if (std::abs(swap.gain) <= uncertainty_) swap.gain = exact_gain(row, swap.slot);
    return swap;
}

// Sums what the swap changes at each point. No term is larger than the distances that it is about, so that a point far
// from all medoids but one, whose second distance dwarfs all others, takes no digits from the sum.
double SwapSearch::exact_gain(const float* row, std::int32_t slot) const {
    double gain = 0;
    for (std::size_t j = 0; j < m(); ++j) {
        const float kept = near_[j] == slot ? d2_[j] : d1_[j];
        gain += weights_[j] * (static_cast<double>(d1_[j]) - static_cast<double>(std::min(row[j], kept)));
    }
    return gain;
}

void SwapSearch::make_swap(std::size_t slot, std::size_t candidate, const float* row) {
    is_medoid_[static_cast<std::size_t>(medoids_[slot])] = false;
    is_medoid_[candidate] = true;
    medoids_[slot] = static_cast<std::int64_t>(candidate);
    const auto changed = static_cast<std::int32_t>(slot);
    for (std::size_t j = 0; j < m(); ++j) {
        const float distance = known_distance(row[j]);
        to_medoids_[j * medoids_.size() + slot] = distance;
        if (near_[j] == changed || sec_[j] == changed)
            find_nearest(j);
        else
            insert_medoid(j, changed, distance);
    }
    ++n_swaps_;
    sum_up();
    check_invariants();
}

// Computes the loss and the removal gains. It starts from scratch after every swap, because that takes only O(m) and
// lets no rounding errors pile up.
//
// A gain is a difference of sums, and uncertain by their rounding error. A swap must gain more than the rounding error
// of the loss, because otherwise it might raise the loss; and more than a fraction of the loss, in which the farthest
// point does not count, because a single far point would otherwise end the search for all others.
void SwapSearch::sum_up() {
    loss_ = kernels().weighted_sum(d1_.data(), weights_.data(), m());
    const double rounding = static_cast<double>(m()) * std::numeric_limits<double>::epsilon();
    double largest_loss = 0;
    for (std::size_t j = 0; j < m(); ++j)
        largest_loss = std::max(largest_loss, weights_[j] * static_cast<double>(d1_[j]));
    least_gain_ = std::max(tolerance_ * (loss_ - largest_loss), rounding * loss_);
    if (medoids_.size() == 1) return;
    std::fill(removal_gains_.begin(), removal_gains_.end(), 0.0);
    for (std::size_t j = 0; j < m(); ++j)
        removal_gains_[static_cast<std::size_t>(near_[j])] +=
            weights_[j] * (static_cast<double>(d1_[j]) - static_cast<double>(d2_[j]));
    // A fixed medoid is never the best one to remove, because minus infinity plus any gain remains minus infinity.
    std::fill_n(removal_gains_.begin(), n_fixed_, -std::numeric_limits<double>::infinity());
    uncertainty_ = rounding * kernels().weighted_sum(d2_.data(), weights_.data(), m());
}

void SwapEvaluator::see(const BlockView& rows, std::size_t first, int thread) {
    for (std::size_t i = 0; i < rows.n_rows; ++i) {
        const Swap swap =
            search_.evaluate(rows.row(i), scratch_.data() + static_cast<std::size_t>(thread) * search_.k());
        gains_[first + i] = swap.gain;
        slots_[first + i] = swap.slot;
        are_valid_[static_cast<std::size_t>(thread)] &= kernels().is_valid_row(rows.row(i), rows.n_columns);
    }
}

bool SwapEvaluator::valid() const {
    return std::all_of(are_valid_.begin(), are_valid_.end(), [](char is_valid) { return is_valid; });
}

#ifdef OBP_CHECKED
void SwapSearch::check_invariants() const {
    const auto require = [](bool holds, const char* what) {
        if (!holds) throw std::logic_error(what);
    };
    require(n_fixed_ <= medoids_.size(), "more medoids are fixed than there are");
    require(static_cast<std::size_t>(std::count(is_medoid_.begin(), is_medoid_.end(), true)) == medoids_.size(),
            "medoids are not distinct");
    for (std::size_t j = 0; j < m(); ++j) {
        require(d1_[j] <= d2_[j], "the second nearest medoid is nearer than the nearest");
        require(near_[j] != sec_[j], "nearest and second nearest medoid are the same");
        for (std::size_t slot = 0; slot < medoids_.size(); ++slot) {
            const auto s = static_cast<std::int32_t>(slot);
            const float d = to_medoids_[j * medoids_.size() + slot];
            require(s == near_[j] || s == sec_[j] || nearer(d2_[j], sec_[j], d, s), "a nearer medoid was missed");
        }
    }
}
#else
void SwapSearch::check_invariants() const {}
#endif

}  // namespace obp
