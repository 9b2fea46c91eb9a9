#include "rounding.hpp"

#include "distances/column.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "parallel.hpp"

namespace obp {
namespace {

// The number of values below which one thread is used, because starting another takes as long.
constexpr std::size_t min_work_for_threads = 2'000'000;
// The bytes of the rows that a thread takes at a time.
constexpr std::size_t task_bytes = 512 * 1024;
// The sum of the squares of this many bytes fits in 32 bits.
constexpr std::size_t bytes_per_sum = 1 << 16;

// The type in which values are compared: bytes as they are, unless they are scaled.
template <class T>
using Scaled = std::conditional_t<sizeof(T) == 8, double, float>;

// Vectors of 16 bytes, which every processor has. The lanes of four of them are added up apart, so that an addition
// need not wait for the last one.
template <class T>
struct VectorType {
    typedef T type __attribute__((vector_size(16)));
};
template <class T>
using Vector = typename VectorType<T>::type;
constexpr std::size_t n_vectors = 4;
template <class T>
constexpr std::size_t vector_width = 16 / sizeof(T);

inline Vector<float> absolute(Vector<float> x) { return (Vector<float>)((Vector<std::int32_t>)x & INT32_MAX); }
inline Vector<double> absolute(Vector<double> x) { return (Vector<double>)((Vector<std::int64_t>)x & INT64_MAX); }

// Returns the next values of a row in the type in which they are compared. If there are fewer than a vector has lanes,
// the other lanes are zero.
template <class Value, class T>
inline Vector<Value> load(const T* from, std::size_t count = vector_width<Value>) {
    Vector<Value> vector = {};
    if (std::is_same_v<Value, T> && count == vector_width<Value>)
        std::memcpy(&vector, from, sizeof vector);
    else
        for (std::size_t lane = 0; lane < count; ++lane) vector[lane] = static_cast<Value>(from[lane]);
    return vector;
}

// Takes all pairs of values of a and b into the lanes by lane = step(lane, a, b). The last pairs are filled up with
// zeros, which must not change a lane.
template <class Value, class T, class Step>
inline void for_vectors(const T* a, const Value* b, std::size_t n, Vector<Value>* lanes, const Step& step) {
    constexpr std::size_t width = vector_width<Value>, stride = n_vectors * width;
    std::size_t i = 0;
    for (; i + stride <= n; i += stride)
        for (std::size_t v = 0; v < n_vectors; ++v)
            lanes[v] = step(lanes[v], load<Value>(a + i + v * width), load<Value>(b + i + v * width));
    for (std::size_t v = 0; i < n; i += width, ++v) {
        const std::size_t count = std::min(width, n - i);
        lanes[v] = step(lanes[v], load<Value>(a + i, count), load<Value>(b + i, count));
    }
}

template <class Value, class T, class Term>
double sum_of(const T* a, const Value* b, std::size_t n, const Term& term) {
    Vector<Value> lanes[n_vectors] = {};
    for_vectors(a, b, n, lanes, [&](Vector<Value> sum, Vector<Value> x, Vector<Value> y) { return sum + term(x, y); });
    double sums[vector_width<Value>];
    for (std::size_t lane = 0; lane < vector_width<Value>; ++lane)
        sums[lane] = (static_cast<double>(lanes[0][lane]) + static_cast<double>(lanes[1][lane])) +
                     (static_cast<double>(lanes[2][lane]) + static_cast<double>(lanes[3][lane]));
    if constexpr (vector_width<Value> == 2) return sums[0] + sums[1];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class T>
double manhattan(const T* a, const T* b, std::size_t n) {
    return sum_of(a, b, n, [](Vector<T> x, Vector<T> y) { return absolute(x - y); });
}

template <class T>
double sum_of_squares(const T* a, const T* b, std::size_t n) {
    return sum_of(a, b, n, [](Vector<T> x, Vector<T> y) { return (x - y) * (x - y); });
}

template <class T>
double chebyshev(const T* a, const T* b, std::size_t n) {
    Vector<T> lanes[n_vectors] = {};
    for_vectors(a, b, n, lanes, [](Vector<T> largest, Vector<T> x, Vector<T> y) {
        const Vector<T> difference = absolute(x - y);
        return difference > largest ? difference : largest;
    });
    T largest = 0;
    for (const Vector<T>& vector : lanes)
        for (std::size_t lane = 0; lane < vector_width<T>; ++lane) largest = std::max(largest, vector[lane]);
    return static_cast<double>(largest);
}

// Adds up integers, in whatever order the compiler likes, because no sum is rounded.
template <class Term>
double sum_of_integers(std::size_t n, const Term& term) {
    std::uint64_t sum = 0;
    for (std::size_t start = 0; start < n; start += bytes_per_sum) {
        const std::size_t stop = std::min(n, start + bytes_per_sum);
        std::uint32_t part = 0;
        for (std::size_t i = start; i < stop; ++i) part += static_cast<std::uint32_t>(term(i));
        sum += part;
    }
    return static_cast<double>(sum);
}

double manhattan(const std::uint8_t* a, const std::uint8_t* b, std::size_t n) {
    return sum_of_integers(n, [=](std::size_t i) { return std::abs(a[i] - b[i]); });
}

double sum_of_squares(const std::uint8_t* a, const std::uint8_t* b, std::size_t n) {
    return sum_of_integers(n, [=](std::size_t i) { return (a[i] - b[i]) * (a[i] - b[i]); });
}

double chebyshev(const std::uint8_t* a, const std::uint8_t* b, std::size_t n) {
    int largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

// What a row is multiplied by to have length 1: first by `first`, then by `second`, because the squares of very large
// or very small values would overflow or vanish. Both factors are zero for a row of zeros.
template <class Value>
struct Factors {
    Value first, second;
};

// Adds up in float64, because an error in the length of a row would become a distance.
template <class T>
double sum_of_squares(const T* row, std::size_t n) {
    constexpr std::size_t n_lanes = 8;
    double lanes[n_lanes] = {};
    const auto square = [=](std::size_t i) { return static_cast<double>(row[i]) * static_cast<double>(row[i]); };
    std::size_t i = 0;
    for (; i + n_lanes <= n; i += n_lanes)
        for (std::size_t lane = 0; lane < n_lanes; ++lane) lanes[lane] += square(i + lane);
    for (; i < n; ++i) lanes[0] += square(i);
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    return sum;
}

double sum_of_squares(const std::uint8_t* row, std::size_t n) {
    return sum_of_integers(n, [=](std::size_t i) { return row[i] * row[i]; });
}

template <class T>
Factors<Scaled<T>> factors_of(const T* row, std::size_t n) {
    using Value = Scaled<T>;
    const double squares = sum_of_squares(row, n);
    if (squares > 1e-30 && squares < 1e30) return {static_cast<Value>(1 / std::sqrt(squares)), 1};
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(static_cast<double>(row[i])));
    if (largest == 0) return {0, 0};
    // A power of two changes no digit, and its inverse is finite even for the smallest value.
    const int exponent = std::clamp(std::ilogb(largest), -std::ilogb(std::numeric_limits<Value>::max()), 1000);
    const Value first = static_cast<Value>(std::ldexp(1.0, -exponent));
    double scaled_squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double value = static_cast<double>(static_cast<Value>(row[i]) * first);
        scaled_squares += value * value;
    }
    return {first, static_cast<Value>(1 / std::sqrt(scaled_squares))};
}

// The cosine distance is half the squared distance of the rows scaled to length 1.
template <class T>
double cosine(const T* row, const Scaled<T>* unit_point, bool is_zero, std::size_t n) {
    using Value = Scaled<T>;
    const Factors<Value> factors = factors_of(row, n);
    if (factors.first == 0 || is_zero) return factors.first == 0 && is_zero ? 0 : 1;
    const double squares = sum_of(row, unit_point, n, [=](Vector<Value> x, Vector<Value> y) {
        const Vector<Value> difference = x * factors.first * factors.second - y;
        return difference * difference;
    });
    // The values of two rows of the same direction, scaled to length 1, may differ by some roundings.
    constexpr double rounding = 4.0 * std::numeric_limits<Value>::epsilon();
    return squares <= rounding * rounding ? 0 : 0.5 * squares;
}

template <class T, class Out, class Compare>
void for_rows(const T* rows, std::size_t n_rows, std::size_t n_features, Out* out, std::size_t out_stride,
              int n_threads, const Compare& compare) {
    if (n_rows * n_features < min_work_for_threads) n_threads = 1;
    const std::size_t per_task = task_bytes / (n_features * sizeof(T) + 1) + 1;
    parallel_for_each(n_threads, n_rows, per_task,
                      [&](std::size_t i) { out[i * out_stride] = static_cast<Out>(compare(rows + i * n_features)); });
}

}  // namespace

template <class T, class Out>
void fill_column(Metric metric, const T* rows, std::size_t n_rows, std::size_t n_features, const T* point, Out* out,
                 std::size_t out_stride, int n_threads) {
    const auto fill = [&](const auto& compare) {
        for_rows(rows, n_rows, n_features, out, out_stride, n_threads, compare);
    };
    switch (metric) {
        case Metric::manhattan:
            return fill([=](const T* row) { return manhattan(row, point, n_features); });
        case Metric::euclidean:
            return fill([=](const T* row) { return std::sqrt(sum_of_squares(row, point, n_features)); });
        case Metric::sqeuclidean:
            return fill([=](const T* row) { return sum_of_squares(row, point, n_features); });
        case Metric::chebyshev:
            return fill([=](const T* row) { return chebyshev(row, point, n_features); });
        case Metric::cosine: {
            const Factors<Scaled<T>> factors = factors_of(point, n_features);
            std::vector<Scaled<T>> unit(n_features);
            for (std::size_t i = 0; i < n_features; ++i)
                unit[i] = static_cast<Scaled<T>>(point[i]) * factors.first * factors.second;
            const bool is_zero = factors.first == 0;
            return fill([&, is_zero](const T* row) { return cosine(row, unit.data(), is_zero, n_features); });
        }
    }
}

template void fill_column(Metric, const float*, std::size_t, std::size_t, const float*, float*, std::size_t, int);
template void fill_column(Metric, const double*, std::size_t, std::size_t, const double*, float*, std::size_t, int);
template void fill_column(Metric, const double*, std::size_t, std::size_t, const double*, double*, std::size_t, int);
template void fill_column(Metric, const std::uint8_t*, std::size_t, std::size_t, const std::uint8_t*, float*,
                          std::size_t, int);
template void fill_column(Metric, const std::uint8_t*, std::size_t, std::size_t, const std::uint8_t*, double*,
                          std::size_t, int);

}  // namespace obp
