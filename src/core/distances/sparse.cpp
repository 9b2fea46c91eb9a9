#include "rounding.hpp"

#include "distances/sparse.hpp"

#include <algorithm>
#include <cmath>

#include "distances/unit_length.hpp"
#include "parallel.hpp"

namespace obp {
namespace {

constexpr std::size_t rows_per_tile = 16;  // The size of a tile changes no result.
// A dissimilarity below this fraction of the two sizes has lost too many digits, because it is their difference.
constexpr double too_close = 1e-9;

struct Squares {
    static double size(double a) { return a * a; }
    static double overlap(double a, double b) { return 2 * a * b; }
    static double difference(double a, double b) { return (a - b) * (a - b); }
    static double finish(double sum, double, double) { return sum; }
};

struct Euclidean : Squares {
    static double finish(double sum, double, double) { return std::sqrt(sum); }
};

// Half the squared distance of rows of length 1. A row of zeros has no direction: it is at distance 1 from every row
// that has one, and at 0 from other rows of zeros.
struct Cosine : Squares {
    static double finish(double sum, double a, double b) { return (a == 0) != (b == 0) ? 1 : sum / 2; }
};

struct Manhattan {
    static double size(double a) { return std::abs(a); }
    static double overlap(double a, double b) { return std::abs(a) + std::abs(b) - std::abs(a - b); }
    static double difference(double a, double b) { return std::abs(a - b); }
    static double finish(double sum, double, double) { return sum; }
};

// Compares the sets of features that are not zero: the size of their symmetric difference, divided by that of their
// union.
struct Jaccard {
    static double size(double a) { return a != 0; }
    static double overlap(double a, double b) { return a != 0 && b != 0 ? 2 : 0; }
    static double difference(double a, double b) { return (a != 0) != (b != 0); }
    static double finish(double sum, double a, double b) { return sum == 0 ? 0 : 2 * sum / (a + b + sum); }
};

// Calls the task with the functor of a metric.
template <class Task>
void with_metric(SparseMetric metric, const Task& task) {
    switch (metric) {
        case SparseMetric::manhattan:
            return task(Manhattan());
        case SparseMetric::euclidean:
            return task(Euclidean());
        case SparseMetric::sqeuclidean:
            return task(Squares());
        case SparseMetric::cosine:
            return task(Cosine());
        case SparseMetric::jaccard:
            return task(Jaccard());
    }
}

template <class Metric>
double size_of(const double* values, std::size_t n) {
    double size = 0;
    for (std::size_t i = 0; i < n; ++i) size += Metric::size(values[i]);
    return size;
}

// Sums the differences over all features that at least one of two rows has.
template <class Metric, class Row>
double sum_of_differences(const Row& a, const Row& b) {
    double sum = 0;
    std::size_t i = 0, j = 0;
    while (i < a.n || j < b.n) {
        const bool take_a = j == b.n || (i < a.n && a.features[i] <= b.features[j]);
        const bool take_b = i == a.n || (j < b.n && b.features[j] <= a.features[i]);
        sum += Metric::difference(take_a ? a.values[i] : 0, take_b ? b.values[j] : 0);
        i += take_a;
        j += take_b;
    }
    return sum;
}

}  // namespace

SparseColumns::SparseColumns(SparseMetric metric, const SparseRows& points, std::size_t n_features)
    : metric_(metric),
      starts_(points.starts, points.starts + points.n_rows + 1),
      features_(points.features, points.features + starts_.back()),
      values_(points.values, points.values + starts_.back()),
      sizes_(points.n_rows),
      by_feature_(n_features + 1),
      entries_(features_.size()) {
    for (const std::int32_t feature : features_) ++by_feature_[static_cast<std::size_t>(feature) + 1];
    for (std::size_t f = 0; f < n_features; ++f) by_feature_[f + 1] += by_feature_[f];
    std::vector<std::size_t> next(by_feature_);
    for (std::size_t index = 0; index < points.n_rows; ++index) {
        const Row row = column(index);
        double* values = values_.data() + starts_[index];
        if (metric == SparseMetric::cosine) scale_to_unit_length(values, row.n, values);
        with_metric(metric, [&](auto kind) { sizes_[index] = size_of<decltype(kind)>(values, row.n); });
        for (std::size_t i = 0; i < row.n; ++i)
            entries_[next[static_cast<std::size_t>(row.features[i])]++] = {static_cast<std::int32_t>(index), values[i]};
    }
}

SparseColumns::Row SparseColumns::column(std::size_t index) const {
    const std::int64_t start = starts_[index];
    return {static_cast<std::size_t>(starts_[index + 1] - start), features_.data() + start, values_.data() + start};
}

template <class Metric, class Out>
void SparseColumns::fill_row(const Row& row, double* sums, Out* out) const {
    std::fill_n(sums, n_columns(), 0.0);
    for (std::size_t i = 0; i < row.n; ++i) {
        const double value = row.values[i];
        const auto feature = static_cast<std::size_t>(row.features[i]);
        const Entry* const stop = entries_.data() + by_feature_[feature + 1];
        for (const Entry* entry = entries_.data() + by_feature_[feature]; entry != stop; ++entry)
            sums[entry->column] += Metric::overlap(value, entry->value);
    }
    const double size = size_of<Metric>(row.values, row.n);
    for (std::size_t j = 0; j < n_columns(); ++j) {
        const double both = size + sizes_[j];
        double sum = both - sums[j];
        // The negation also holds for NaN, which is the sum if the sizes overflow.
        if (!(sum >= too_close * both)) sum = sum_of_differences<Metric>(row, column(j));
        out[j] = static_cast<Out>(Metric::finish(sum, size, sizes_[j]));
    }
}

template <class Metric, class Out>
void SparseColumns::fill_rows(const SparseRows& rows, Out* out, std::size_t out_stride, int n_threads) const {
    struct Scratch {
        std::vector<double> sums, values;
    };
    std::vector<Scratch> scratches(static_cast<std::size_t>(n_threads));
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < rows.n_rows; ++i) longest = std::max(longest, rows.starts[i + 1] - rows.starts[i]);
    for (Scratch& scratch : scratches) {  // The threads themselves allocate no memory, as in Comparison::reserve.
        scratch.sums.reserve(n_columns());
        scratch.values.reserve(static_cast<std::size_t>(longest));
    }
    parallel_for(n_threads, tiles_of(rows.n_rows, rows_per_tile), [&](std::size_t tile, int thread) {
        Scratch& scratch = scratches[static_cast<std::size_t>(thread)];
        scratch.sums.resize(n_columns());
        const std::size_t stop = std::min(rows.n_rows, (tile + 1) * rows_per_tile);
        for (std::size_t i = tile * rows_per_tile; i < stop; ++i) {
            const std::int64_t start = rows.starts[i];
            scratch.values.assign(rows.values + start, rows.values + rows.starts[i + 1]);
            const std::size_t n = scratch.values.size();
            double* values = scratch.values.data();
            if (metric_ == SparseMetric::cosine) scale_to_unit_length(values, n, values);
            fill_row<Metric>({n, rows.features + start, values}, scratch.sums.data(), out + i * out_stride);
        }
    });
}

template <class Out>
void SparseColumns::fill(const SparseRows& rows, Out* out, std::size_t out_stride, int n_threads) const {
    with_metric(metric_, [&](auto kind) { fill_rows<decltype(kind)>(rows, out, out_stride, n_threads); });
}

template void SparseColumns::fill(const SparseRows&, float*, std::size_t, int) const;
template void SparseColumns::fill(const SparseRows&, double*, std::size_t, int) const;

}  // namespace obp
