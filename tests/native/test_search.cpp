// Tests of search/ and block.hpp. In these tests, the search also checks its own invariants after each swap, because
// CMakeLists.txt defines OBP_CHECKED.
#include "rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "block.hpp"
#include "checks.hpp"
#include "distances/packed_columns.hpp"
#include "search/arms.hpp"
#include "search/dual.hpp"
#include "search/reduce.hpp"
#include "search/silhouette.hpp"
#include "search/swap.hpp"

using namespace obp;

namespace {

// Returns the loss of some medoids by its definition.
double batch_loss(const std::vector<float>& block, std::size_t m, const std::vector<std::int64_t>& medoids,
                  const std::vector<double>& weights) {
    double loss = 0;
    for (std::size_t j = 0; j < m; ++j) {
        float nearest = std::numeric_limits<float>::infinity();
        for (const std::int64_t medoid : medoids)
            nearest = std::min(nearest, block[static_cast<std::size_t>(medoid) * m + j]);
        loss += weights[j] * nearest;
    }
    return loss;
}

// Returns the sum of d1 / d2, the distances to the two nearest medoids; 0 where d1 is 0.
double silhouette_loss(const std::vector<float>& block, std::size_t m, const std::vector<std::int64_t>& medoids,
                       const std::vector<double>& weights) {
    double loss = 0;
    for (std::size_t j = 0; j < m; ++j) {
        std::vector<double> distances;
        for (const std::int64_t medoid : medoids) distances.push_back(block[static_cast<std::size_t>(medoid) * m + j]);
        std::sort(distances.begin(), distances.end());
        if (distances[0] > 0) loss += weights[j] * distances[0] / distances[1];
    }
    return loss;
}

void test_silhouette_search(const char* level) {
    const std::size_t n = 300, m = 83, p = 3;
    auto rows = random_rows<float>(n, p, 4);
    std::copy_n(rows.begin(), 5 * p, rows.begin() + 100 * p);  // some rows are equal
    std::vector<float> block(n * m);
    PackedColumns(Metric::manhattan, InputType::float32, rows.data(), m, p).fill(rows.data(), n, block.data(), m, 2);
    std::vector<double> weights(m), scratch(6);
    for (std::size_t j = 0; j < m; ++j) weights[j] = static_cast<double>(j % 4);
    for (const std::size_t k : {2, 3, 6})
        for (const std::size_t n_fixed : {std::size_t{0}, std::size_t{1}, k}) {
            std::vector<std::int64_t> start, first_medoids;
            for (std::size_t slot = 0; slot < k; ++slot) start.push_back(static_cast<std::int64_t>(7 * slot));
            std::vector<float> medoid_rows;
            for (const std::int64_t medoid : start) {
                const float* row = block.data() + static_cast<std::size_t>(medoid) * m;
                medoid_rows.insert(medoid_rows.end(), row, row + m);
            }
            for (const int n_threads : {1, 2, 4})
                for (const std::size_t tile : {n, SilhouetteSearch::chunk_size}) {
                    SilhouetteSearch search(n, start.data(), k, medoid_rows.data(), m, weights.data(), 0, n_fixed);
                    while (!search.converged())
                        for (std::size_t first = 0; first < n && !search.converged(); first += tile)
                            search.sweep({block.data() + first * m, std::min(tile, n - first), m, m}, first, n_threads);
                    if (first_medoids.empty()) first_medoids = search.medoids();
                    check(search.medoids() == first_medoids, "threads and tiles change no medoid", level);
                    const double loss = silhouette_loss(block, m, search.medoids(), weights);
                    check(std::abs(search.loss() - loss) <= 1e-9 * loss, "the silhouette equals its definition", level);
                    if (n_fixed == k || n_threads > 1 || tile < n) continue;
                    bool is_right = true, is_optimal = true;
                    for (std::size_t i = 0; i < n; ++i) {
                        if (std::count(first_medoids.begin(), first_medoids.end(), static_cast<std::int64_t>(i)))
                            continue;
                        double best = std::numeric_limits<double>::infinity();
                        for (std::size_t slot = n_fixed; slot < k; ++slot) {
                            auto swapped = first_medoids;
                            swapped[slot] = static_cast<std::int64_t>(i);
                            best = std::min(best, silhouette_loss(block, m, swapped, weights));
                        }
                        const Swap swap = search.evaluate(block.data() + i * m, scratch.data());
                        is_right &= std::abs(loss - swap.gain - best) <= 1e-6 * loss;
                        is_optimal &= best >= loss * (1 - 1e-9);
                    }
                    check(is_right, "the gain of the best swap equals its definition", level);
                    check(is_optimal, "no single swap improves the silhouette", level);
                }
            const bool keeps =
                std::equal(start.begin(), start.begin() + static_cast<std::ptrdiff_t>(n_fixed), first_medoids.begin());
            check(keeps, "fixed medoids stay where they are", level);
        }
}

void test_swap_search(const char* level) {
    const std::size_t n = 600, m = 83, k = 5, p = 3;
    const auto rows = random_rows<float>(n, p, 3);
    std::vector<float> block(n * m);
    PackedColumns(Metric::manhattan, InputType::float32, rows.data(), m, p).fill(rows.data(), n, block.data(), m, 2);
    std::vector<double> weights(m);
    for (std::size_t j = 0; j < m; ++j) weights[j] = static_cast<double>(j % 4);
    const std::vector<std::int64_t> start{0, 1, 2, 3, 4};
    std::vector<std::int64_t> first_medoids;
    for (const int n_threads : {1, 2, 4}) {
        SwapSearch search(n, start.data(), k, block.data(), m, weights.data(), 0);
        while (!search.converged()) search.sweep({block.data(), n, m, m}, 0, n_threads);
        if (first_medoids.empty()) first_medoids = search.medoids();
        check(search.medoids() == first_medoids, "the number of threads changes no medoid", level);
        check(std::abs(search.loss() - batch_loss(block, m, search.medoids(), weights)) <= 1e-9 * search.loss(),
              "the loss equals its definition", level);
    }
    const double loss = batch_loss(block, m, first_medoids, weights);
    bool is_optimal = true;
    for (std::size_t slot = 0; slot < k; ++slot)
        for (std::size_t i = 0; i < n; ++i) {
            auto swapped = first_medoids;
            swapped[slot] = static_cast<std::int64_t>(i);
            is_optimal &= batch_loss(block, m, swapped, weights) >= loss * (1 - 1e-12);
        }
    check(is_optimal, "no single swap improves", level);
}

// Fixed medoids stay, and the others end where no allowed swap improves the loss. This also holds if all medoids are
// fixed, or if there is only one.
void test_fixed_medoids(const char* level) {
    const std::size_t n = 300, m = 150, p = 2;
    const auto rows = random_rows<float>(n, p, 5);
    std::vector<float> block(n * m);
    PackedColumns(Metric::manhattan, InputType::float32, rows.data(), m, p).fill(rows.data(), n, block.data(), m, 2);
    const std::vector<double> weights(m, 1);
    std::vector<std::int64_t> start(20);
    for (std::size_t slot = 0; slot < start.size(); ++slot) start[slot] = static_cast<std::int64_t>(slot);
    // Some numbers of medoids are smaller than a vector, some fill one exactly, some are larger.
    for (const auto& [k, n_fixed] : std::vector<std::pair<std::size_t, std::size_t>>{
             {1, 0}, {1, 1}, {2, 1}, {2, 2}, {3, 2}, {8, 5}, {9, 8}, {16, 16}, {19, 17}, {20, 3}}) {
        SwapSearch search(n, start.data(), k, block.data(), m, weights.data(), 0, n_fixed);
        while (!search.converged()) search.sweep({block.data(), n, m, m}, 0, 2);
        const auto& medoids = search.medoids();
        const auto end_of_fixed = start.begin() + static_cast<std::ptrdiff_t>(n_fixed);
        check(std::equal(start.begin(), end_of_fixed, medoids.begin()), "fixed medoids stay", level);
        check((search.n_swaps() > 0) == (n_fixed < k), "there are swaps unless all medoids are fixed", level);
        bool is_optimal = true;
        for (std::size_t slot = n_fixed; slot < k; ++slot)
            for (std::size_t i = 0; i < n; ++i) {
                auto swapped = medoids;
                swapped[slot] = static_cast<std::int64_t>(i);
                is_optimal &= batch_loss(block, m, swapped, weights) >= search.loss() * (1 - 1e-12);
            }
        check(is_optimal, "no swap of a medoid that is not fixed improves", level);
        std::vector<double> gains(n);
        std::vector<std::int32_t> slots(n);
        SwapEvaluator evaluator(search, n, gains.data(), slots.data(), 2);
        show({block.data(), n, m, m}, evaluator);
        const bool none_is_fixed = std::all_of(slots.begin(), slots.end(), [first = n_fixed](std::int32_t slot) {
            return static_cast<std::size_t>(slot) >= first;
        });
        const bool none_gains = std::all_of(gains.begin(), gains.end(), [](double gain) { return std::isinf(gain); });
        check(n_fixed < k ? none_is_fixed && !none_gains : none_gains, "no evaluated swap removes a fixed medoid",
              level);
    }
}

void test_scans(const char* level) {
    for (const std::size_t m : {1, 5, 16, 33, 100, 70}) {
        const std::size_t n = m == 70 ? 4000 : 70;  // The last block is large enough for several threads.
        auto block = random_rows<float>(n, m, 4);
        for (float& d : block) d = std::floor(d / 8);  // This makes ties.
        const std::vector<double> weights(m, 2);
        const std::vector<float> caps(m, 9);
        std::vector<std::int32_t> nearest(n);
        std::vector<float> distances(n);
        std::vector<double> sums(n), capped_sums(n);
        RowScanner scan(n, nearest.data(), distances.data(), 3);
        show({block.data(), n, m, m}, scan);
        RowSummer summer(n, m, weights.data(), nullptr, sums.data(), 3);
        show({block.data(), n, m, m}, summer);
        RowSummer capped_summer(n, m, weights.data(), caps.data(), capped_sums.data(), 3);
        show({block.data(), n, m, m}, capped_summer);
        bool right = scan.valid() && summer.valid() && capped_summer.valid() &&
                     scan.largest() == *std::max_element(block.begin(), block.end());
        for (std::size_t i = 0; i < n; ++i) {
            const auto begin = block.begin() + static_cast<std::ptrdiff_t>(i * m),
                       end = begin + static_cast<std::ptrdiff_t>(m);
            double sum = 0, capped_sum = 0;
            for (auto d = begin; d != end; ++d) {
                sum += 2.0 * *d;
                capped_sum += 2.0 * std::min(*d, 9.0f);
            }
            right &= nearest[i] == std::min_element(begin, end) - begin;
            right &= sums[i] == sum && capped_sums[i] == capped_sum;  // Sums of integers are exact.
            right &= distances[i] == *std::min_element(begin, end);
        }
        check(right, "scans find the nearest, the largest and the sums", level);
        std::vector<float> transposed(m * (n + 2), -1);  // with a gap of two entries between its rows
        RowTransposer transposer(n, m, transposed.data(), n + 2, 3);
        show({block.data(), n, m, m}, transposer);
        right = transposer.valid();
        for (std::size_t j = 0; j < m; ++j) {
            for (std::size_t i = 0; i < n; ++i) right &= transposed[j * (n + 2) + i] == block[i * m + j];
            right &= transposed[j * (n + 2) + n] == -1;
        }
        check(right, "rows are transposed", level);
        for (const float bad : {-1.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
            block[n * m - 1] = bad;
            RowScanner bad_scan(n, nearest.data(), distances.data(), 2);
            show({block.data(), n, m, m}, bad_scan);
            RowTransposer bad_transposer(n, m, transposed.data(), n + 2, 2);
            show({block.data(), n, m, m}, bad_transposer);
            RowSummer bad_summer(n, m, weights.data(), caps.data(), sums.data(), 2);
            show({block.data(), n, m, m}, bad_summer);
            check(!bad_scan.valid() && !bad_transposer.valid() && !bad_summer.valid(),
                  "an entry that is negative, infinite or NaN is noticed", level);
        }
    }
}

// A search over rows that are reduced to the entries below the second nearest distances makes the same swaps.
void test_reduced_rows(const char* level) {
    for (const std::size_t m : {1, 5, 64, 150}) {
        const std::size_t n = 600, k = 4;
        const auto block = random_rows<float>(n, m, 6);
        const std::vector<double> weights(m, 1);
        const std::vector<std::int64_t> start{0, 1, 2, 3};
        SwapSearch whole(n, start.data(), k, block.data(), m, weights.data(), 0);
        while (!whole.converged()) whole.sweep({block.data(), n, m, m}, 0, 2);

        SwapSearch search(n, start.data(), k, block.data(), m, weights.data(), 0);
        std::vector<std::int64_t> starts(n + 1);
        std::vector<std::uint16_t> columns;
        std::vector<float> values, tile(n * m);
        const auto reduce = [&] {
            const auto& thresholds = search.second_distances();
            count_below({block.data(), n, m, m}, thresholds.data(), starts.data() + 1, 2);
            for (std::size_t i = 0; i < n; ++i) starts[i + 1] += starts[i];
            columns.resize(static_cast<std::size_t>(starts[n]));
            values.resize(columns.size());
            reduce_rows({block.data(), n, m, m}, thresholds.data(), starts.data(), columns.data(), values.data(), 2);
            expand_rows(n, m, starts.data(), columns.data(), values.data(), tile.data(), m, 2);
        };
        while (!search.converged()) {
            for (std::size_t begin = 0; begin < n && !search.converged();) {
                reduce();
                const auto found = search.find_improving({tile.data(), n, m, m}, 0, begin, 2);
                search.try_candidates(found.candidates, [&](std::size_t i) {
                    return block.data() + static_cast<std::size_t>(found.candidates[i]) * m;
                });
                begin = found.end;
            }
        }
        check(search.medoids() == whole.medoids() && search.loss() == whole.loss(),
              "a search over reduced rows finds the same medoids", level);
    }
}

// Reduced costs and the number of candidates that serve each column equal their definitions, for any number of threads.
void test_dual(const char* level) {
    for (const std::size_t m : {1, 7, 150}) {
        const std::size_t n = 50;
        const auto block = random_rows<float>(n, m, 8), thresholds = random_rows<float>(1, m, 9);
        std::vector<double> weights(m);
        for (std::size_t j = 0; j < m; ++j) weights[j] = 0.5 + static_cast<double>(j % 3);
        std::vector<std::int64_t> starts(n + 1);
        count_below({block.data(), n, m, m}, thresholds.data(), starts.data() + 1, 2);
        for (std::size_t i = 0; i < n; ++i) starts[i + 1] += starts[i];
        std::vector<std::uint32_t> columns(static_cast<std::size_t>(starts[n]));
        std::vector<float> values(columns.size());
        reduce_rows({block.data(), n, m, m}, thresholds.data(), starts.data(), columns.data(), values.data(), 2);

        bool are_equal = true;
        std::vector<double> first(n), costs(n);
        for (const int n_threads : {1, 2, 4}) {
            reduced_costs(n, starts.data(), columns.data(), values.data(), thresholds.data(), weights.data(),
                          costs.data(), n_threads);
            if (n_threads == 1) first = costs;
            are_equal &= costs == first;
        }
        check(are_equal, "the number of threads changes no reduced cost", level);
        for (std::size_t i = 0; i < n; ++i) {
            double cost = 0;
            for (std::size_t j = 0; j < m; ++j)
                cost += weights[j] * std::min(0.0, static_cast<double>(block[i * m + j]) - thresholds[j]);
            are_equal &= std::abs(costs[i] - cost) <= 1e-12 * std::abs(cost);
        }
        check(are_equal, "a reduced cost equals its definition", level);

        const std::vector<std::int64_t> chosen{3, 49};
        std::vector<std::int32_t> counts(m);
        count_serving(chosen.data(), 2, starts.data(), columns.data(), values.data(), thresholds.data(), m,
                      counts.data());
        for (std::size_t j = 0; j < m; ++j)
            are_equal &= counts[j] == (block[3 * m + j] < thresholds[j]) + (block[49 * m + j] < thresholds[j]);
        check(are_equal, "candidates serve the columns in which they are below the multiplier", level);
    }
}

// A viewer that sees rows while they are computed finds the same as one that sees them afterwards.
void test_viewers(const char* level) {
    for (const std::size_t m : {7, 300, 5000}) {
        const std::size_t n = 500, p = 9, k = 5;
        const auto rows = random_rows<float>(n, p, 7), columns = random_rows<float>(m, p, 8);
        const PackedColumns packed(Metric::manhattan, InputType::float32, columns.data(), m, p);
        std::vector<float> block(n * m), again(n * m), distances(2 * n);
        std::vector<std::int32_t> nearest(2 * n);
        packed.fill(rows.data(), n, block.data(), m, 3);
        RowScanner meanwhile(n, nearest.data(), distances.data(), 3), after(n, &nearest[n], &distances[n], 2);
        packed.fill(rows.data(), n, again.data(), m, meanwhile);
        show({block.data(), n, m, m}, after);
        check(again == block && meanwhile.largest() == after.largest() &&
                  std::equal(nearest.begin(), nearest.begin() + n, nearest.begin() + n) &&
                  std::equal(distances.begin(), distances.begin() + n, distances.begin() + n),
              "a scan during the computation finds the same as one afterwards", level);

        const std::vector<double> weights(m, 1);
        const std::vector<std::int64_t> start{0, 1, 2, 3, 4};
        SwapSearch told(n, start.data(), k, block.data(), m, weights.data(), 0), other = told;
        std::vector<double> gains(n);
        std::vector<std::int32_t> slots(n);
        SwapEvaluator evaluator(told, n, gains.data(), slots.data(), 3);
        packed.fill(rows.data(), n, again.data(), m, evaluator);
        told.sweep({block.data(), n, m, m}, 0, 2, gains.data());
        other.sweep({block.data(), n, m, m}, 0, 2);
        check(told.n_swaps() > 0 && told.medoids() == other.medoids() && told.loss() == other.loss(),
              "a sweep with known gains makes the same swaps", level);
    }
}

// Python refuses such blocks, but a metric or a file may change its values between two passes. The search must then
// stay within its memory, which the sanitizers watch, and must come to an end.
void test_any_entries(const char* level) {
    const std::size_t n = 300, m = 70;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const float odd_values[] = {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), -1, 3e38f, 0};
    const std::vector<double> weights(m, 1.0);
    for (unsigned seed = 0; seed < 20; ++seed) {
        auto block = random_rows<float>(n, m, seed);
        std::mt19937 generator(seed);
        for (float& entry : block)
            if (generator() % 20 < seed) entry = odd_values[generator() % 6];
        for (const std::size_t k : {1, 2, 5}) {
            std::vector<std::int64_t> medoids(k);
            for (std::size_t slot = 0; slot < k; ++slot) medoids[slot] = static_cast<std::int64_t>(slot);
            SwapSearch search(n, medoids.data(), k, block.data(), m, weights.data(), 1e-6);
            for (int pass = 0; pass < 10; ++pass) search.sweep({block.data(), n, m, m}, 0, 2);
            bool are_rows = true;
            for (const std::int64_t medoid : search.medoids())
                are_rows &= 0 <= medoid && medoid < static_cast<std::int64_t>(n);
            for (const std::int32_t slot : search.nearest()) are_rows &= 0 <= slot && slot < static_cast<int>(k);
            check(are_rows, "medoids are rows, and nearest medoids are medoids, whatever the entries are", level);
        }
    }
}

// The moments of every arm, and the bounds that follow from them, equal their definitions. All values are whole
// numbers, so that every sum is exact.
void test_arms(const char* level) {
    const std::size_t n = 150, m = 75, k = 4, n_fixed = 1;
    const double width = 0.25;
    auto block = random_rows<float>(n, m, 9);
    for (float& entry : block) entry = std::floor(entry);
    std::vector<double> weights(m);
    for (std::size_t j = 0; j < m; ++j) weights[j] = static_cast<double>(j % 3);
    std::vector<std::int64_t> medoids(k), rows(n);
    for (std::size_t slot = 0; slot < k; ++slot) medoids[slot] = static_cast<std::int64_t>(slot);
    for (std::size_t i = 0; i < n; ++i) rows[i] = static_cast<std::int64_t>(n - 1 - i);
    const SwapSearch search(n, medoids.data(), k, block.data(), m, weights.data(), 0, n_fixed);
    const float *d1 = search.nearest_distances().data(), *d2 = search.second_distances().data();
    const std::int32_t* near = search.nearest().data();
    const Candidates candidates{{block.data(), n, m, m}, n, rows.data()};
    std::vector<Moments> removals(k);
    for (std::size_t j = 0; j < m; ++j) {
        const double gain = weights[j] * (d1[j] - d2[j]);
        removals[static_cast<std::size_t>(near[j])].sum += gain;
        removals[static_cast<std::size_t>(near[j])].squares += gain * gain;
    }
    for (const int n_threads : {1, 3}) {
        for (const bool is_first : {false, true}) {
            const std::vector<float> zeros(m);
            const float least_gain = is_first ? -std::numeric_limits<float>::infinity() : 0;
            std::vector<Moments> moments(n);
            add_build_moments(candidates, {m, is_first ? zeros.data() : d1, weights.data(), least_gain}, moments.data(),
                              n_threads);
            bool are_equal = true;
            for (std::size_t i = 0; i < n; ++i) {
                Moments expected{};
                for (std::size_t j = 0; j < m; ++j) {
                    const float d = block[static_cast<std::size_t>(rows[i]) * m + j];
                    const double gain = weights[j] * (is_first ? -d : std::max(0.0f, d1[j] - d));
                    expected.sum += gain;
                    expected.squares += gain * gain;
                }
                are_equal &= moments[i].sum == expected.sum && moments[i].squares == expected.squares;
            }
            check(are_equal, "the moments of BUILD equal their definition", level);
        }
        std::vector<Moments> moments(n * (k + 1));
        std::vector<double> highest(n), surest(n);
        add_swap_moments(candidates, {m, k, d1, d2, near, weights.data(), nullptr}, moments.data(), n_threads);
        bound_gains({n, k, n_fixed, moments.data(), removals.data()}, m, width, highest.data(), surest.data(),
                    n_threads);
        bool are_equal = true;
        for (std::size_t i = 0; i < n; ++i) {
            double high = -std::numeric_limits<double>::infinity(), sure = high;
            for (std::size_t slot = n_fixed; slot < k; ++slot) {
                double sum = 0, squares = 0;
                for (std::size_t j = 0; j < m; ++j) {
                    const float kept = near[j] == static_cast<std::int32_t>(slot) ? d2[j] : d1[j];
                    const float d = std::min(block[static_cast<std::size_t>(rows[i]) * m + j], kept);
                    const double gain = weights[j] * static_cast<double>(d1[j] - d);
                    sum += gain;
                    squares += gain * gain;
                }
                const double mean = sum / m, deviation = std::sqrt(squares / m - mean * mean);
                high = std::max(high, mean + width * deviation);
                sure = std::max(sure, mean - width * deviation);
            }
            are_equal &= highest[i] == high && surest[i] == sure;
        }
        check(are_equal, "the bounds of swaps equal their definition", level);
    }
}

}  // namespace

void test_search(const char* level) {
    test_swap_search(level);
    test_silhouette_search(level);
    test_any_entries(level);
    test_fixed_medoids(level);
    test_scans(level);
    test_reduced_rows(level);
    test_dual(level);
    test_viewers(level);
    test_arms(level);
}
