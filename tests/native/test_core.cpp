// Tests of the native core without Python, to be run under sanitizers: every path is taken at every SIMD level and
// with several threads, and the search checks its own invariants after each swap (OBP_CHECKED).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "custom.hpp"
#include "distance.hpp"
#include "gower.hpp"
#include "parallel.hpp"
#include "reduce.hpp"
#include "sparse.hpp"
#include "swap.hpp"

using namespace obp;

namespace {

int n_passed = 0, n_failed = 0;

void check(bool holds, const char* what, const char* level) {
    ++(holds ? n_passed : n_failed);
    if (!holds) std::printf("FAILED at level %s: %s\n", level, what);
}

template <class T>
std::vector<T> random_rows(std::size_t n, std::size_t p, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(1, 255);
    std::vector<T> rows(n * p);
    for (T& value : rows) value = static_cast<T>(uniform(generator));
    return rows;
}

double naive_distance(Metric metric, const double* a, const double* b, std::size_t p) {
    double sum = 0, squares = 0, largest = 0, ab = 0, aa = 0, bb = 0;
    for (std::size_t f = 0; f < p; ++f) {
        const double d = std::abs(a[f] - b[f]);
        sum += d;
        squares += d * d;
        largest = std::max(largest, d);
        ab += a[f] * b[f];
        aa += a[f] * a[f];
        bb += b[f] * b[f];
    }
    switch (metric) {
        case Metric::manhattan:
            return sum;
        case Metric::euclidean:
            return std::sqrt(squares);
        case Metric::sqeuclidean:
            return squares;
        case Metric::chebyshev:
            return largest;
        default:
            return 1 - ab / std::sqrt(aa * bb);
    }
}

template <class T>
constexpr Source source_of() {
    return sizeof(T) == 8 ? Source::float64 : sizeof(T) == 4 ? Source::float32 : Source::uint8;
}

// Exactly sized buffers, so that the address sanitizer sees any step beyond them.
template <class T>
void test_distances(const char* level) {
    for (const Metric metric :
         {Metric::manhattan, Metric::euclidean, Metric::sqeuclidean, Metric::chebyshev, Metric::cosine})
        for (const std::size_t p : {1, 7, 40, 131})
            for (const std::size_t m : {1, 17, 70})
                for (const int n_threads : {1, 3}) {
                    const std::size_t n = 101;
                    const auto rows = random_rows<T>(n, p, 1), points = random_rows<T>(m, p, 2);
                    const std::vector<double> a(rows.begin(), rows.end()), b(points.begin(), points.end());
                    std::vector<float> out(n * m);
                    PackedColumns(metric, source_of<T>(), points.data(), m, p)
                        .fill(rows.data(), n, out.data(), m, n_threads);
                    double worst = 0, scale = 1e-9;
                    for (std::size_t i = 0; i < n; ++i)
                        for (std::size_t j = 0; j < m; ++j) {
                            const double expected = naive_distance(metric, &a[i * p], &b[j * p], p);
                            worst = std::max(worst, std::abs(out[i * m + j] - expected));
                            scale = std::max(scale, expected);
                        }
                    check(worst <= 1e-5 * scale, "distances equal the naive ones", level);
                }
}

// Floats that are bytes give the dissimilarities of floats.
void test_bytes(const char* level) {
    const std::size_t n = 101, p = 131, m = 70;
    for (const Metric metric : {Metric::manhattan, Metric::euclidean, Metric::sqeuclidean, Metric::chebyshev})
        for (const float steps : {1.0f, 255.0f}) {
            std::vector<float> rows(n * p), out(n * m), expected(n * m);
            const auto bytes = random_rows<std::uint8_t>(n, p, 3);
            for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(bytes[i]) / steps;
            check(are_bytes(rows.data(), rows.size(), steps), "bytes are recognised", level);
            PackedColumns(metric, Source::float32, rows.data(), m, p, steps).fill(rows.data(), n, out.data(), m, 2);
            PackedColumns(metric, Source::float32, rows.data(), m, p).fill(rows.data(), n, expected.data(), m, 2);
            double worst = 0;
            for (std::size_t i = 0; i < out.size(); ++i)
                worst = std::max(worst, std::abs(out[i] - expected[i]) / (1e-3 + expected[i]));
            check(worst <= 1e-5, "bytes are compared as floats are", level);
            rows.back() = 0.5f + 1e-3f;
            check(!are_bytes(rows.data(), rows.size(), steps), "other numbers are no bytes", level);
        }
}

void test_gower(const char* level) {
    for (const std::size_t p : {1, 5, 300})
        for (const std::size_t m : {1, 17, 70})
            for (const int n_threads : {1, 3}) {
                const std::size_t n = 101;
                auto rows = random_rows<float>(n, p, 5), points = random_rows<float>(m, p, 6);
                for (auto* values : {&rows, &points})
                    for (std::size_t i = 0; i < values->size(); ++i)
                        (*values)[i] = i % 3 ? (*values)[i] / 100 : std::nanf("");
                const std::vector<float> weights = random_rows<float>(1, p, 7);
                std::vector<float> out(n * m);
                GowerColumns(points.data(), m, p, weights.data()).fill(rows.data(), n, out.data(), m, n_threads);
                bool right = true;
                for (std::size_t i = 0; i < n; ++i)
                    for (std::size_t j = 0; j < m; ++j) {
                        double sum = 0, weight = 0;
                        for (std::size_t f = 0; f < p; ++f) {
                            const double d = std::abs(static_cast<double>(rows[i * p + f]) - points[j * p + f]);
                            if (std::isnan(d)) continue;
                            sum += weights[f] * std::min(d, 1.0);
                            weight += weights[f];
                        }
                        right &= std::abs(out[i * m + j] - (weight > 0 ? sum / weight : 1)) <= 1e-5;
                    }
                check(right, "Gower dissimilarities equal the naive ones", level);
            }
}

// A third of the values are not zero, and every tenth row is empty.
struct RandomSparseRows {
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> features;
    std::vector<double> values;
    std::vector<double> dense;

    RandomSparseRows(std::size_t n, std::size_t p, unsigned seed) : dense(random_rows<double>(n, p, seed)) {
        for (std::size_t i = 0; i < n; ++i, starts.push_back(static_cast<std::int64_t>(values.size())))
            for (std::size_t f = 0; f < p; ++f) {
                double& value = dense[i * p + f];
                value = i % 10 == 9 || static_cast<int>(value) % 3 ? 0 : value - 128;
                if (value == 0) continue;
                features.push_back(static_cast<std::int32_t>(f));
                values.push_back(value);
            }
    }
    SparseRows view() const { return {starts.size() - 1, starts.data(), features.data(), values.data()}; }
};

void test_sparse() {
    const std::pair<SparseMetric, Metric> metrics[] = {{SparseMetric::manhattan, Metric::manhattan},
                                                       {SparseMetric::euclidean, Metric::euclidean},
                                                       {SparseMetric::sqeuclidean, Metric::sqeuclidean}};
    for (const auto& [sparse, dense] : metrics)
        for (const std::size_t p : {1, 60})
            for (const int n_threads : {1, 3}) {
                const std::size_t n = 101, m = 37;
                const RandomSparseRows rows(n, p, 8), points(m, p, 9);
                std::vector<double> out(n * m);
                SparseColumns(sparse, points.view(), p).fill(rows.view(), out.data(), m, n_threads);
                bool right = true;
                for (std::size_t i = 0; i < n; ++i)
                    for (std::size_t j = 0; j < m; ++j) {
                        const double expected = naive_distance(dense, &rows.dense[i * p], &points.dense[j * p], p);
                        right &= std::abs(out[i * m + j] - expected) <= 1e-9 * expected;
                    }
                check(right, "sparse distances equal the dense ones", "-");
            }
    for (const SparseMetric metric : {SparseMetric::cosine, SparseMetric::jaccard}) {
        const RandomSparseRows rows(101, 60, 8);
        std::vector<float> out(101 * 101);
        SparseColumns(metric, rows.view(), 60).fill(rows.view(), out.data(), 101, 3);
        bool right = true;
        for (std::size_t i = 0; i < 101; ++i)
            right &= out[i * 101 + i] == 0 && out[i * 101 + 9] == (i % 10 == 9 ? 0 : 1);
        check(right, "a sparse row is at 0 from itself, and at 1 from an empty one", "-");
    }
}

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

void test_swap_search(const char* level) {
    const std::size_t n = 600, m = 83, k = 5, p = 3;
    const auto rows = random_rows<float>(n, p, 3);
    std::vector<float> block(n * m);
    PackedColumns(Metric::manhattan, Source::float32, rows.data(), m, p).fill(rows.data(), n, block.data(), m, 2);
    std::vector<double> weights(m);
    for (std::size_t j = 0; j < m; ++j) weights[j] = static_cast<double>(j % 4);
    const std::vector<std::int64_t> start{0, 1, 2, 3, 4};
    std::vector<std::int64_t> first_medoids;
    for (const int n_threads : {1, 2, 4}) {
        SwapSearch search(n, start.data(), k, block.data(), m, weights.data(), 0);
        while (!search.converged()) search.sweep({block.data(), n, m, m}, 0, n_threads);
        if (first_medoids.empty()) first_medoids = search.medoids();
        check(search.medoids() == first_medoids, "threads change no medoid", level);
        check(std::abs(search.loss() - batch_loss(block, m, search.medoids(), weights)) <= 1e-9 * search.loss(),
              "the loss is that of the medoids", level);
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

// The first medoids stay, the others end where no allowed swap improves; also if all are fixed, or the only one.
void test_fixed_medoids(const char* level) {
    const std::size_t n = 300, m = 150, p = 2;
    const auto rows = random_rows<float>(n, p, 5);
    std::vector<float> block(n * m);
    PackedColumns(Metric::manhattan, Source::float32, rows.data(), m, p).fill(rows.data(), n, block.data(), m, 2);
    const std::vector<double> weights(m, 1);
    std::vector<std::int64_t> start(20);
    for (std::size_t slot = 0; slot < start.size(); ++slot) start[slot] = static_cast<std::int64_t>(slot);
    // Numbers of medoids that fill no vector, one, and some more.
    for (const auto& [k, n_fixed] : std::vector<std::pair<std::size_t, std::size_t>>{
             {1, 0}, {1, 1}, {2, 1}, {2, 2}, {3, 2}, {8, 5}, {9, 8}, {16, 16}, {19, 17}, {20, 3}}) {
        SwapSearch search(n, start.data(), k, block.data(), m, weights.data(), 0, n_fixed);
        while (!search.converged()) search.sweep({block.data(), n, m, m}, 0, 2);
        const auto& medoids = search.medoids();
        const auto end_of_fixed = start.begin() + static_cast<std::ptrdiff_t>(n_fixed);
        check(std::equal(start.begin(), end_of_fixed, medoids.begin()), "fixed medoids stay", level);
        check((search.n_swaps() > 0) == (n_fixed < k), "the others move", level);
        bool is_optimal = true;
        for (std::size_t slot = n_fixed; slot < k; ++slot)
            for (std::size_t i = 0; i < n; ++i) {
                auto swapped = medoids;
                swapped[slot] = static_cast<std::int64_t>(i);
                is_optimal &= batch_loss(block, m, swapped, weights) >= search.loss() * (1 - 1e-12);
            }
        check(is_optimal, "no swap of another medoid improves", level);
        std::vector<double> gains(n);
        std::vector<std::int32_t> slots(n);
        search.best_swaps({block.data(), n, m, m}, gains.data(), slots.data(), 2);
        const bool none_is_fixed = std::all_of(slots.begin(), slots.end(), [first = n_fixed](std::int32_t slot) {
            return static_cast<std::size_t>(slot) >= first;
        });
        const bool none_gains = std::all_of(gains.begin(), gains.end(), [](double gain) { return std::isinf(gain); });
        check(n_fixed < k ? none_is_fixed && !none_gains : none_gains, "no fixed medoid is proposed to leave", level);
    }
}

void test_scans(const char* level) {
    for (const std::size_t m : {1, 5, 16, 33}) {
        const std::size_t n = 70;
        auto block = random_rows<float>(n, m, 4);
        const std::vector<double> weights(m, 2);
        std::vector<std::int32_t> nearest(n);
        std::vector<double> sums(n);
        const BlockScan scan = scan_rows({block.data(), n, m, m}, nearest.data(), 3);
        weighted_row_sums({block.data(), n, m, m}, weights.data(), sums.data(), 3);
        bool right = scan.valid && scan.max == *std::max_element(block.begin(), block.end());
        for (std::size_t i = 0; i < n; ++i) {
            const auto begin = block.begin() + static_cast<std::ptrdiff_t>(i * m),
                       end = begin + static_cast<std::ptrdiff_t>(m);
            double sum = 0;
            for (auto d = begin; d != end; ++d) sum += 2.0 * *d;
            right &= nearest[i] == std::min_element(begin, end) - begin && std::abs(sums[i] - sum) <= 1e-9 * sum;
        }
        check(right, "scans find the nearest, the largest and the sums", level);
        for (const float bad : {-1.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
            block[n * m - 1] = bad;
            check(!scan_rows({block.data(), n, m, m}, nearest.data(), 2).valid, "a bad entry is seen", level);
        }
    }
}

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
              "what is not below the second nearest medoid makes no difference", level);
    }
}

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
    check(thrown, "an exception of a task arrives", "-");
    std::atomic<int> after{0};
    team.run(10, [&](std::size_t, int) { ++after; });
    check(after == 10, "a team works on after an exception", "-");
}

void test_custom_metric() {
    const std::size_t n_rows = 7, n_columns = 150;
    std::vector<double> rows(n_rows), columns(n_columns), out(n_rows * n_columns);
    for (std::size_t i = 0; i < n_rows; ++i) rows[i] = static_cast<double>(i);
    for (std::size_t j = 0; j < n_columns; ++j) columns[j] = static_cast<double>(1000 * j);
    double factor = 3;
    const CustomMetric metric(
        [](const double* a, const double* b, std::ptrdiff_t n, void* data) {
            return *a + *static_cast<const double*>(data) * *b + static_cast<double>(n);
        },
        &factor);
    for (const bool rows_first : {true, false}) {
        metric.fill(rows.data(), n_rows, columns.data(), n_columns, 1, rows_first, out.data(), 3);
        bool right = true;
        for (std::size_t i = 0; i < n_rows; ++i)
            for (std::size_t j = 0; j < n_columns; ++j)
                right &=
                    out[i * n_columns + j] == (rows_first ? rows[i] + 3 * columns[j] : columns[j] + 3 * rows[i]) + 1;
        check(right, "a compiled metric gets its arguments in order", "-");
    }
}

}  // namespace

int main() {
    test_team();
    test_custom_metric();
    test_sparse();
    for (const Kernels* level : available_kernels()) {
        check(force_kernels(level->name), "an available level can be chosen", level->name);
        test_distances<float>(level->name);
        test_distances<double>(level->name);
        test_distances<std::uint8_t>(level->name);
        test_bytes(level->name);
        test_gower(level->name);
        test_swap_search(level->name);
        test_fixed_medoids(level->name);
        test_scans(level->name);
        test_reduced_rows(level->name);
    }
    check(!force_kernels("none"), "an unknown level is refused", "-");
    std::printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed ? 1 : 0;
}
