// Tests of distances/: dissimilarities must equal those of a naive loop.
#include "rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "checks.hpp"
#include "distances/custom.hpp"
#include "distances/gower.hpp"
#include "distances/halves.hpp"
#include "distances/packed_columns.hpp"
#include "distances/sparse.hpp"

using namespace obp;

namespace {

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
constexpr InputType input_type_of() {
    return sizeof(T) == 8 ? InputType::float64 : sizeof(T) == 4 ? InputType::float32 : InputType::uint8;
}

// The buffers have exactly the size that is needed, so that the address sanitizer sees any access beyond them.
template <class T>
void test_metrics(const char* level) {
    for (const Metric metric :
         {Metric::manhattan, Metric::euclidean, Metric::sqeuclidean, Metric::chebyshev, Metric::cosine})
        for (const std::size_t p : {1, 7, 40, 131})
            for (const std::size_t m : {1, 17, 70})
                for (const int n_threads : {1, 3}) {
                    const std::size_t n = 101;
                    const auto rows = random_rows<T>(n, p, 1), points = random_rows<T>(m, p, 2);
                    const std::vector<double> a(rows.begin(), rows.end()), b(points.begin(), points.end());
                    std::vector<float> out(n * m);
                    PackedColumns(metric, input_type_of<T>(), points.data(), m, p)
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

// A dissimilarity has the same bits, whichever rows are filled with it and by however many threads. The rows are of
// several runs of units, their number is not a multiple of a group, and there are more columns than one block holds.
template <class T>
void test_parts(const char* level) {
    const std::size_t n = 43, m = 530;
    for (const Metric metric :
         {Metric::manhattan, Metric::euclidean, Metric::sqeuclidean, Metric::chebyshev, Metric::cosine})
        for (const std::size_t p : {31, 128, 277}) {
            const auto rows = random_rows<T>(m, p, 8);  // so that each row has a column that equals it
            const PackedColumns columns(metric, input_type_of<T>(), rows.data(), m, p);
            std::vector<float> whole(n * m), by_threads(n * m), by_rows(n * m);
            columns.fill(rows.data(), n, whole.data(), m, 1);
            columns.fill(rows.data(), n, by_threads.data(), m, 3);
            for (std::size_t i = 0; i < n; ++i) columns.fill(&rows[i * p], 1, &by_rows[i * m], m, 1);
            check(whole == by_threads && whole == by_rows, "parts of a block have the bits of the whole", level);
            bool right = true;
            const std::vector<double> values(rows.begin(), rows.end());
            for (std::size_t i = 0; i < n; ++i) {
                right &= whole[i * m + i] == 0;
                const double expected = naive_distance(metric, &values[i * p], &values[(m - 1) * p], p);
                right &= std::abs(whole[i * m + m - 1] - expected) <= 1e-5 * expected;
            }
            check(right, "equal rows are at distance zero, and the last column is right", level);
        }
}

// Floats that stand for bytes have the same dissimilarities, whether they are compared as bytes or as floats.
void test_bytes(const char* level) {
    const std::size_t n = 101, p = 131, m = 70;
    for (const Metric metric : {Metric::manhattan, Metric::euclidean, Metric::sqeuclidean, Metric::chebyshev})
        for (const float byte_divisor : {1.0f, 255.0f}) {
            std::vector<float> rows(n * p), out(n * m), expected(n * m);
            const auto bytes = random_rows<std::uint8_t>(n, p, 3);
            for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(bytes[i]) / byte_divisor;
            check(are_bytes(rows.data(), rows.size(), byte_divisor), "bytes are recognised", level);
            PackedColumns(metric, InputType::float32, rows.data(), m, p, byte_divisor)
                .fill(rows.data(), n, out.data(), m, 2);
            PackedColumns(metric, InputType::float32, rows.data(), m, p).fill(rows.data(), n, expected.data(), m, 2);
            double worst = 0;
            for (std::size_t i = 0; i < out.size(); ++i)
                worst = std::max(worst, std::abs(out[i] - expected[i]) / (1e-3 + expected[i]));
            check(worst <= 1e-5, "bytes and floats give the same dissimilarities", level);
            rows.back() = 0.5f + 1e-3f;
            check(!are_bytes(rows.data(), rows.size(), byte_divisor),
                  "a value between two bytes is not taken for a byte", level);
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
                        (*values)[i] = i % 3 == 0   ? std::nanf("")
                                       : i % 5 == 0 ? std::numeric_limits<float>::infinity()
                                                    : (*values)[i] / 100;
                const std::vector<float> weights = random_rows<float>(1, p, 7);
                std::vector<float> out(n * m);
                GowerColumns(points.data(), m, p, weights.data()).fill(rows.data(), n, out.data(), m, n_threads);
                bool right = true;
                for (std::size_t i = 0; i < n; ++i)
                    for (std::size_t j = 0; j < m; ++j) {
                        double sum = 0, weight = 0, without = 1;
                        for (std::size_t f = 0; f < p; ++f) {
                            const double d = std::abs(static_cast<double>(rows[i * p + f]) - points[j * p + f]);
                            if (std::isinf(rows[i * p + f]) && std::isnan(d) && !std::isnan(points[j * p + f]))
                                without = 0;
                            if (std::isnan(d)) continue;
                            sum += weights[f] * std::min(d, 1.0);
                            weight += weights[f];
                        }
                        right &= std::abs(out[i * m + j] - (weight > 0 ? sum / weight : without)) <= 1e-5;
                    }
                check(right, "Gower dissimilarities equal the naive ones", level);
            }
}

// Random sparse rows, also as dense rows. About a third of the values are not zero, and every tenth row is empty.
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
        check(right, "a sparse row is at distance 0 from itself and 1 from an empty row", "-");
    }
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

// Returns a number in float16 from its digits and its exponent; there are no infinities and NaNs here.
float naive_half(std::uint16_t half) {
    const int exponent = half >> 10 & 31, digits = half & 1023;
    const float size = exponent == 0 ? std::ldexp(static_cast<float>(digits), -24)
                                     : std::ldexp(static_cast<float>(1024 + digits), exponent - 25);
    return half & 0x8000 ? -size : size;
}

void test_halves(const char* level) {
    for (const std::size_t n : {1, 63, 1 << 16, 600'000})
        for (const int n_threads : {1, 3}) {
            std::vector<std::uint16_t> halves(n);
            for (std::size_t i = 0; i < n; ++i) halves[i] = static_cast<std::uint16_t>(i);
            std::vector<float> wide(n);
            widen_halves(halves.data(), n, wide.data(), n_threads);
            bool right = true;
            for (std::size_t i = 0; i < n; ++i) {
                if ((halves[i] & 0x7fff) > 0x7c00)
                    right &= std::isnan(wide[i]);
                else if ((halves[i] & 0x7fff) == 0x7c00)
                    right &= std::isinf(wide[i]) && std::signbit(wide[i]) == (halves[i] >> 15 != 0);
                else
                    right &= wide[i] == naive_half(halves[i]) && std::signbit(wide[i]) == (halves[i] >> 15 != 0);
            }
            check(right, "numbers in float16 keep their value", level);
        }
}

}  // namespace

void test_distances(const char* level) {
    test_metrics<float>(level);
    test_metrics<double>(level);
    test_metrics<std::uint8_t>(level);
    test_parts<float>(level);
    test_parts<double>(level);
    test_parts<std::uint8_t>(level);
    test_bytes(level);
    test_gower(level);
    test_halves(level);
}

void test_other_metrics() {
    test_custom_metric();
    test_sparse();
}
