#include "rounding.hpp"

#include "search/silhouette.hpp"

#include <algorithm>
#include <limits>

#include "parallel.hpp"

namespace obp {
namespace {

constexpr std::size_t candidates_per_task = 32;

// Returns d1 / d2, which is 0 if both are.
double ratio(float nearest, float second) {
    return nearest > 0 ? static_cast<double>(nearest) / static_cast<double>(second) : 0.0;
}

// Returns 1 / d. For 0 it returns 0, because it is then multiplied by a distance that is 0 as well.
double inverse(float d) { return d > 0 ? 1.0 / static_cast<double>(d) : 0.0; }

// Inserts a medoid into a list of the nearest ones, if it is near enough.
template <class Nearest>
void insert(Nearest& nearest, float distance, std::int32_t slot) {
    for (std::size_t rank = 0; rank < nearest.slots.size(); ++rank) {
        float& d = nearest.distances[rank];
        std::int32_t& s = nearest.slots[rank];
        if (distance < d || (distance == d && slot < s)) {
            std::swap(distance, d);
            std::swap(slot, s);
        }
    }
}

}  // namespace

SilhouetteSearch::SilhouetteSearch(std::size_t n_candidates, const std::int64_t* medoids, std::size_t k,
                                   const float* medoid_rows, std::size_t m, const double* weights, double tolerance,
                                   std::size_t n_fixed)
    : n_candidates_(n_candidates),
      medoids_(medoids, medoids + k),
      to_medoids_(m * k),
      weights_(weights, weights + m),
      nearest_(m),
      d3_(m),
      points_(m),
      removal_changes_(k),
      is_medoid_(n_candidates),
      n_fixed_(n_fixed),
      tolerance_(tolerance) {
    for (const std::int64_t medoid : medoids_) is_medoid_[static_cast<std::size_t>(medoid)] = true;
    for (std::size_t slot = 0; slot < k; ++slot)
        for (std::size_t j = 0; j < m; ++j) to_medoids_[j * k + slot] = known_distance(medoid_rows[slot * m + j]);
    for (std::size_t j = 0; j < m; ++j) find_nearest(j);
    sum_up();
}

void SilhouetteSearch::find_nearest(std::size_t j) {
    const std::size_t k = medoids_.size();
    nearest_[j].distances.fill(std::numeric_limits<float>::infinity());
    nearest_[j].slots.fill(static_cast<std::int32_t>(k));
    for (std::size_t slot = 0; slot < k; ++slot)
        insert(nearest_[j], to_medoids_[j * k + slot], static_cast<std::int32_t>(slot));
}

void SilhouetteSearch::sweep(const BlockView& rows, std::size_t first, int n_threads) {
    Team team(n_threads);
    std::vector<double> scratch(k() * static_cast<std::size_t>(team.size())), gains;
    for (std::size_t begin = 0; begin < rows.n_rows && !converged();) {
        const std::size_t end = std::min(rows.n_rows, (first + begin) / chunk_size * chunk_size + chunk_size - first);
        gains.resize(end - begin);
        team.run(tiles_of(gains.size(), candidates_per_task), [&](std::size_t task, int thread) {
            const std::size_t stop = std::min(gains.size(), (task + 1) * candidates_per_task);
            for (std::size_t i = task * candidates_per_task; i < stop; ++i)
                gains[i] = evaluate(rows.row(begin + i), scratch.data() + static_cast<std::size_t>(thread) * k()).gain;
        });
        n_idle_ += gains.size();
        for (std::size_t i = begin; i < end; ++i) {
            if (!(gains[i - begin] > least_gain_) || is_medoid_[first + i]) continue;
            const Swap swap = evaluate(rows.row(i), scratch.data());
            if (!(swap.gain > least_gain_)) continue;  // An earlier swap has made this one useless.
            make_swap(static_cast<std::size_t>(swap.slot), first + i, rows.row(i));
            n_idle_ = 0;
        }
        begin = end;
    }
}

// Only points to which the candidate is nearer than the third nearest medoid are looked at. For all others, the change
// of the loss is what removal_changes_ holds: that of the points that lose one of their two nearest medoids.
Swap SilhouetteSearch::evaluate(const float* row, double* scratch) const {
    if (n_fixed_ == k()) return {-std::numeric_limits<double>::infinity(), 0};
    std::copy(removal_changes_.begin(), removal_changes_.end(), scratch);
    double shared = 0;  // the change at points none of whose two nearest medoids is replaced
    for (std::size_t j = 0; j < m(); ++j) {
        if (!(row[j] < d3_[j])) continue;
        const Point& point = points_[j];
        const double x = row[j], d1 = point.d1, d2 = point.d2;
        // The loss at the point with the candidate as a further medoid, and with one of the two nearest removed
        // besides.
        double kept = point.loss, without_near, without_sec;
        if (x < d1) {
            kept = without_sec = x * point.inverse_d1;
            without_near = x * point.inverse_d2;
        } else {
            const double inverse_x = inverse(row[j]);
            without_sec = d1 * inverse_x;
            without_near = d2 * inverse_x;
            if (x < d2) {
                kept = without_sec;
                without_near = x * point.inverse_d2;
            }
        }
        // removal_changes_ took the third nearest medoid for the one that takes over; now the candidate is before it.
        kept -= point.loss;
        shared += point.weight * kept;
        scratch[point.near] += point.weight * (without_near - point.without_near - kept);
        scratch[point.sec] += point.weight * (without_sec - point.without_sec - kept);
    }
    std::size_t best = n_fixed_;
    for (std::size_t slot = n_fixed_ + 1; slot < k(); ++slot)
        if (scratch[slot] < scratch[best]) best = slot;
    return {-(shared + scratch[best]), static_cast<std::int32_t>(best)};
}

void SilhouetteSearch::make_swap(std::size_t slot, std::size_t candidate, const float* row) {
    is_medoid_[static_cast<std::size_t>(medoids_[slot])] = false;
    is_medoid_[candidate] = true;
    medoids_[slot] = static_cast<std::int64_t>(candidate);
    const auto changed = static_cast<std::int32_t>(slot);
    for (std::size_t j = 0; j < m(); ++j) {
        const float distance = known_distance(row[j]);
        to_medoids_[j * k() + slot] = distance;
        const auto& slots = nearest_[j].slots;
        if (std::find(slots.begin(), slots.end(), changed) != slots.end())
            find_nearest(j);
        else
            insert(nearest_[j], distance, changed);
    }
    ++n_swaps_;
    sum_up();
}

// Computes the loss and the changes by removals, from scratch after every swap, so that no rounding errors pile up. A
// swap must gain more than a fraction of the loss, and more than the rounding error of its gain: a sum of terms of at
// most the weight of a point.
void SilhouetteSearch::sum_up() {
    loss_ = 0;
    double total = 0;
    std::fill(removal_changes_.begin(), removal_changes_.end(), 0.0);
    for (std::size_t j = 0; j < m(); ++j) {
        const auto& [d, slots] = nearest_[j];
        const Point point{d[0],
                          d[1],
                          slots[0],
                          slots[1],
                          weights_[j],
                          ratio(d[0], d[1]),
                          ratio(d[1], d[2]),
                          ratio(d[0], d[2]),
                          inverse(d[0]),
                          inverse(d[1])};
        d3_[j] = d[2];
        points_[j] = point;
        loss_ += point.weight * point.loss;
        total += point.weight;
        removal_changes_[static_cast<std::size_t>(point.near)] += point.weight * (point.without_near - point.loss);
        removal_changes_[static_cast<std::size_t>(point.sec)] += point.weight * (point.without_sec - point.loss);
    }
    const double rounding = static_cast<double>(m()) * std::numeric_limits<double>::epsilon() * total;
    least_gain_ = std::max(tolerance_ * loss_, rounding);
}

}  // namespace obp
