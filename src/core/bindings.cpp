// The Python module _core. No other file of the core knows Python. A binding checks its arguments (arguments.hpp),
// releases the interpreter lock and calls the core.
#include "rounding.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "arguments.hpp"
#include "block.hpp"
#include "distances/column.hpp"
#include "distances/custom.hpp"
#include "distances/gower.hpp"
#include "distances/halves.hpp"
#include "distances/packed_columns.hpp"
#include "distances/sparse.hpp"
#include "kernels/table.hpp"
#include "parallel.hpp"
#include "search/arms.hpp"
#include "search/dual.hpp"
#include "search/reduce.hpp"
#include "search/silhouette.hpp"
#include "search/swap.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace obp;

// An array whose numbers lie at addresses that their type admits. Python has arrays of which this is not true.
template <class... Options>
struct Aligned : nb::ndarray<Options...> {
    using nb::ndarray<Options...>::ndarray;
    bool holds() const {
        return reinterpret_cast<std::uintptr_t>(this->data()) % alignof(typename nb::ndarray<Options...>::Scalar) == 0;
    }
};

template <class... Options>
struct nanobind::detail::type_caster<Aligned<Options...>> {
    using Plain = make_caster<nb::ndarray<Options...>>;
    NB_TYPE_CASTER(Aligned<Options...>, Plain::Name)

    bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
        Plain plain;
        if (!plain.from_python(source, flags, cleanup)) return false;
        static_cast<nb::ndarray<Options...>&>(value) = std::move(plain.value);
        return value.holds();
    }
};

namespace {

// Raises the exception of a signal that Python has received meanwhile, such as KeyboardInterrupt. Python is asked only
// from time to time, because asking takes the interpreter lock.
void raise_for_signals() {
    using clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds interval{100};
    thread_local clock::time_point last_asked = clock::now();
    const clock::time_point now = clock::now();
    if (now - last_asked < interval) return;
    last_asked = now;
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

template <class T>
using Matrix = Aligned<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using MatrixOut = Aligned<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Block = Aligned<T, nb::ndim<2>, nb::device::cpu>;  // There may be gaps between its rows.
template <class T>
using Array = Aligned<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using ArrayOut = Aligned<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Metric metric_of(std::string_view name) {
    if (name == "manhattan") return Metric::manhattan;
    if (name == "euclidean") return Metric::euclidean;
    if (name == "sqeuclidean") return Metric::sqeuclidean;
    if (name == "chebyshev") return Metric::chebyshev;
    if (name == "cosine") return Metric::cosine;
    refuse("no native metric '", name, "': expected 'manhattan', 'euclidean', 'sqeuclidean', 'chebyshev' or 'cosine'");
}

template <class T>
constexpr InputType input_type_of() {
    if constexpr (sizeof(T) == 8) return InputType::float64;
    if constexpr (sizeof(T) == 4) return InputType::float32;
    return InputType::uint8;
}

const char* name_of(InputType type) {
    return type == InputType::float64 ? "float64" : type == InputType::float32 ? "float32" : "uint8";
}

template <class T>
void init_columns(PackedColumns* self, Matrix<T> points, std::string_view metric, double byte_divisor) {
    check_not_empty("points", points);
    new (self) PackedColumns(metric_of(metric), input_type_of<T>(), points.data(), points.shape(0), points.shape(1),
                             byte_divisor);
}

BlockView view_of(const Block<const float>& block) {
    return {block.data(), block.shape(0), block.shape(1), row_stride(block)};
}

template <class T, class Out>
void check_fill(const PackedColumns& self, const Matrix<T>& rows, const Block<Out>& out) {
    require(input_type_of<T>() == self.input_type(), "rows are of type ", name_of(input_type_of<T>()), ": expected ",
            name_of(self.input_type()), ", the type of the packed points");
    check_row_length("rows", rows, self.n_features(), "features");
    check_shape("out", out, {rows.shape(0), self.n_columns()}, "rows x columns");
}

template <class T, class Out>
void fill(const PackedColumns& self, Matrix<T> rows, Block<Out> out, int n_threads) {
    check_fill(self, rows, out);
    self.fill(rows.data(), rows.shape(0), out.data(), row_stride(out), threads(n_threads));
}

template <class T>
void fill_viewed(const PackedColumns& self, Matrix<T> rows, Block<float> out, Viewer& viewer) {
    check_fill(self, rows, out);
    check_viewed("out", out, viewer);
    self.fill(rows.data(), rows.shape(0), out.data(), row_stride(out), viewer);
}

template <class T, class Out>
void fill_one_column(std::string_view metric, Matrix<T> rows, Array<T> point, Block<Out> out, int n_threads) {
    require(point.shape(0) > 0, "point is empty: expected a value for each feature");
    check_row_length("rows", rows, point.shape(0), "features");
    check_shape("out", out, {rows.shape(0), 1}, "rows x 1");
    fill_column(metric_of(metric), rows.data(), rows.shape(0), rows.shape(1), point.data(), out.data(), row_stride(out),
                threads(n_threads));
}

void see_all(Viewer& self, Block<const float> rows) {
    require(rows.shape(1) > 0, "rows has shape ", shape_of(rows), ": expected a column");
    check_viewed("rows", rows, self);
    show(view_of(rows), self);
}

void init_scanner(RowScanner* self, ArrayOut<std::int32_t> nearest, ArrayOut<float> distances, int n_threads) {
    check_length("distances", distances, nearest.shape(0), "the length of nearest");
    new (self) RowScanner(nearest.shape(0), nearest.data(), distances.data(), threads(n_threads));
}

void init_summer(RowSummer* self, Array<double> weights, ArrayOut<double> sums, int n_threads,
                 std::optional<Array<float>> caps) {
    require(weights.shape(0) > 0, "weights is empty: expected a weight for each column");
    if (caps) check_length("caps", *caps, weights.shape(0), "the length of weights");
    new (self) RowSummer(sums.shape(0), weights.shape(0), weights.data(), caps ? caps->data() : nullptr, sums.data(),
                         threads(n_threads));
}

void init_transposer(RowTransposer* self, Block<float> transposed, int n_threads) {
    require(transposed.shape(0) > 0, "transposed has shape ", shape_of(transposed), ": expected a row for each column");
    new (self) RowTransposer(transposed.shape(1), transposed.shape(0), transposed.data(), row_stride(transposed),
                             threads(n_threads));
}

void init_evaluator(SwapEvaluator* self, const SwapSearch& search, ArrayOut<double> gains, ArrayOut<std::int32_t> slots,
                    int n_threads) {
    check_length("slots", slots, gains.shape(0), "the length of gains");
    new (self) SwapEvaluator(search, gains.shape(0), gains.data(), slots.data(), threads(n_threads));
}

void init_gower(GowerColumns* self, Matrix<float> points, Array<float> weights) {
    check_not_empty("points", points);
    check_length("weights", weights, points.shape(1), "an entry for each feature");
    new (self) GowerColumns(points.data(), points.shape(0), points.shape(1), weights.data());
}

void fill_gower(const GowerColumns& self, Matrix<float> rows, Block<float> out, int n_threads) {
    check_row_length("rows", rows, self.n_features(), "features");
    check_shape("out", out, {rows.shape(0), self.n_columns()}, "rows x columns");
    self.fill(rows.data(), rows.shape(0), out.data(), row_stride(out), threads(n_threads));
}

SparseMetric sparse_metric_of(std::string_view name) {
    if (name == "manhattan") return SparseMetric::manhattan;
    if (name == "euclidean") return SparseMetric::euclidean;
    if (name == "sqeuclidean") return SparseMetric::sqeuclidean;
    if (name == "cosine") return SparseMetric::cosine;
    if (name == "jaccard") return SparseMetric::jaccard;
    refuse("no sparse metric '", name, "': expected 'manhattan', 'euclidean', 'sqeuclidean', 'cosine' or 'jaccard'");
}

SparseRows sparse_rows(const Array<std::int64_t>& starts, const Array<std::int32_t>& features,
                       const Array<double>& values, std::size_t n_features) {
    check_starts(starts.data(), starts.shape(0), values.shape(0));
    check_length("features", features, values.shape(0), "an entry for each value");
    check_indices("features", features.data(), features.shape(0), n_features);
    return {starts.shape(0) - 1, starts.data(), features.data(), values.data()};
}

void init_sparse(SparseColumns* self, Array<std::int64_t> starts, Array<std::int32_t> features, Array<double> values,
                 std::size_t n_features, std::string_view metric) {
    new (self) SparseColumns(sparse_metric_of(metric), sparse_rows(starts, features, values, n_features), n_features);
}

template <class Out>
void fill_sparse(const SparseColumns& self, Array<std::int64_t> starts, Array<std::int32_t> features,
                 Array<double> values, Block<Out> out, int n_threads) {
    const SparseRows rows = sparse_rows(starts, features, values, self.n_features());
    check_shape("out", out, {rows.n_rows, self.n_columns()}, "rows x columns");
    self.fill(rows, out.data(), row_stride(out), threads(n_threads));
}

// Search   SwapSearch or SilhouetteSearch
// least_k  the least number of medoids that it takes
template <class Search, std::size_t least_k>
void init_search(Search* self, std::size_t n_candidates, Array<std::int64_t> medoids, Matrix<float> medoid_rows,
                 Array<double> weights, double tol, std::size_t n_fixed) {
    const std::size_t k = medoids.shape(0), m = weights.shape(0);
    require(n_candidates <= static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()),
            "n_candidates=", n_candidates, ": expected a number of rows that int64 can count");
    require(k >= least_k, "medoids has length ", k, ": expected at least ", least_k);
    check_shape("medoid_rows", medoid_rows, {k, m}, "medoids x batch points");
    check_indices("medoids", medoids.data(), k, n_candidates);
    require(n_fixed <= k, "n_fixed=", n_fixed, ": more medoids are fixed than there are: expected at most ", k);
    new (self) Search(n_candidates, medoids.data(), k, medoid_rows.data(), m, weights.data(), tol, n_fixed);
}

template <class Search>
void check_candidates(const Search& self, const Block<const float>& rows, std::size_t first) {
    check_row_length("rows", rows, self.m(), "columns");
    require(rows.shape(0) <= self.n_candidates() && first <= self.n_candidates() - rows.shape(0), "first=", first,
            " with ", rows.shape(0),
            " rows reaches beyond the last candidate: expected first + rows <= ", self.n_candidates());
}

void sweep(SwapSearch& self, Block<const float> rows, std::size_t first, int n_threads,
           std::optional<Array<double>> gains) {
    check_candidates(self, rows, first);
    if (gains) check_length("gains", *gains, rows.shape(0), "an entry for each row");
    self.sweep(view_of(rows), first, threads(n_threads), gains ? gains->data() : nullptr);
}

void sweep_silhouettes(SilhouetteSearch& self, Block<const float> rows, std::size_t first, int n_threads) {
    check_candidates(self, rows, first);
    self.sweep(view_of(rows), first, threads(n_threads));
}

std::pair<std::size_t, std::vector<std::int64_t>> find_improving(SwapSearch& self, Block<const float> rows,
                                                                 std::size_t first, std::size_t begin, int n_threads) {
    check_candidates(self, rows, first);
    SwapSearch::Improving found = self.find_improving(view_of(rows), first, begin, threads(n_threads));
    return {found.end, std::move(found.candidates)};
}

bool try_candidates(SwapSearch& self, Array<std::int64_t> candidates, Block<const float> rows) {
    const std::size_t n = candidates.shape(0);
    check_shape("rows", rows, {n, self.m()}, "a row for each candidate, an entry for each batch point");
    check_indices("candidates", candidates.data(), n, self.n_candidates());
    const BlockView view = view_of(rows);
    return self.try_candidates({candidates.data(), candidates.data() + n}, [&](std::size_t i) { return view.row(i); });
}

// Returns an array that shares its memory with a vector of the search, so that it follows the search.
template <class T, const std::vector<T>& (SwapSearch::*member)() const>
nb::ndarray<nb::numpy, const T, nb::ndim<1>, nb::c_contig> view_of_state(nb::handle_t<SwapSearch> self) {
    const std::vector<T>& values = (nb::cast<const SwapSearch&>(self).*member)();
    return {values.data(), {values.size()}, self};
}

nb::ndarray<nb::numpy, const float, nb::ndim<2>, nb::c_contig> medoid_distances(nb::handle_t<SwapSearch> self) {
    const auto& search = nb::cast<const SwapSearch&>(self);
    return {search.medoid_distances().data(), {search.m(), search.k()}, self};
}

// Moments of gains: pairs of doubles, a row for each candidate.
using MomentsIn = Aligned<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using MomentsOut = Aligned<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <class Array>
auto moments_of(const char* name, const Array& moments, std::size_t n, std::size_t n_moments) {
    require(moments.shape(0) == n && moments.shape(1) == n_moments && moments.shape(2) == 2, name, " has shape (",
            moments.shape(0), ", ", moments.shape(1), ", ", moments.shape(2), "): expected (", n, ", ", n_moments,
            ", 2)");
    using Pair =
        std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(moments.data())>>, const Moments, Moments>;
    return reinterpret_cast<Pair*>(moments.data());
}

Candidates candidates_of(const Block<const float>& block, const Array<std::int64_t>& rows) {
    check_indices("rows", rows.data(), rows.shape(0), block.shape(0));
    return {view_of(block), rows.shape(0), rows.data()};
}

void add_build(Block<const float> block, Array<std::int64_t> rows, Array<float> nearest_distances,
               Array<double> weights, float least_gain, MomentsOut moments, int n_threads) {
    check_length("nearest_distances", nearest_distances, block.shape(1), "an entry for each column");
    check_length("weights", weights, block.shape(1), "an entry for each column");
    add_build_moments(candidates_of(block, rows),
                      {block.shape(1), nearest_distances.data(), weights.data(), least_gain},
                      moments_of("moments", moments, rows.shape(0), 1), threads(n_threads));
}

void add_swaps(Block<const float> block, Array<std::int64_t> rows, Array<float> nearest_distances,
               Array<float> second_distances, Array<std::int32_t> nearest, Array<double> weights, MomentsOut moments,
               int n_threads) {
    const std::size_t m = block.shape(1);
    check_length("nearest_distances", nearest_distances, m, "an entry for each column");
    check_length("second_distances", second_distances, m, "an entry for each column");
    check_length("nearest", nearest, m, "an entry for each column");
    check_length("weights", weights, m, "an entry for each column");
    require(moments.shape(1) >= 2, "moments has no slots: expected one more than there are medoids");
    const std::size_t k = moments.shape(1) - 1;
    check_indices("nearest", nearest.data(), m, k);
    const SwapView state{m,      k, nearest_distances.data(), second_distances.data(), nearest.data(), weights.data(),
                         nullptr};
    add_swap_moments(candidates_of(block, rows), state, moments_of("moments", moments, rows.shape(0), k + 1),
                     threads(n_threads));
}

void bound(MomentsIn moments, MomentsIn removals, std::size_t n_fixed, double n_points, double width,
           ArrayOut<double> highest, ArrayOut<double> surest, int n_threads) {
    const std::size_t n = moments.shape(0), k = removals.shape(1);
    check_length("highest", highest, n, "an entry for each candidate");
    check_length("surest", surest, n, "an entry for each candidate");
    const Arms arms{n, k, n_fixed, moments_of("moments", moments, n, k + 1), moments_of("removals", removals, 1, k)};
    bound_gains(arms, n_points, width, highest.data(), surest.data(), threads(n_threads));
}

void count(Block<const float> rows, Array<float> thresholds, ArrayOut<std::int64_t> counts, int n_threads) {
    check_length("thresholds", thresholds, rows.shape(1), "an entry for each column");
    check_length("counts", counts, rows.shape(0), "an entry for each row");
    count_below(view_of(rows), thresholds.data(), counts.data(), threads(n_threads));
}

template <class Column>
void reduce(Block<const float> rows, Array<float> thresholds, Array<std::int64_t> starts, ArrayOut<Column> columns,
            ArrayOut<float> values, int n_threads) {
    check_length("thresholds", thresholds, rows.shape(1), "an entry for each column");
    check_reduced(starts, rows.shape(0), columns, values);
    require(
        reduce_rows(view_of(rows), thresholds.data(), starts.data(), columns.data(), values.data(), threads(n_threads)),
        "starts does not count the entries below the thresholds: expected the sums of count_below");
}

template <class Column>
void expand(Array<std::int64_t> starts, Array<Column> columns, Array<float> values, Block<float> out, int n_threads) {
    check_reduced(starts, out.shape(0), columns, values);
    require(expand_rows(out.shape(0), out.shape(1), starts.data(), columns.data(), values.data(), out.data(),
                        row_stride(out), threads(n_threads)),
            "columns holds an index out of range: expected 0 <= index < ", out.shape(1), ", the columns of out");
}

template <class Column>
void check_columns(const Array<Column>& columns, std::size_t n_columns) {
    require(are_columns_below(columns.data(), columns.shape(0), n_columns),
            "columns holds an index out of range: expected 0 <= index < ", n_columns, ", the length of multipliers");
}

template <class Column>
void price_reduced(Array<std::int64_t> starts, Array<Column> columns, Array<float> values, Array<float> multipliers,
                   Array<double> weights, ArrayOut<double> costs, int n_threads) {
    check_reduced(starts, costs.shape(0), columns, values);
    check_length("weights", weights, multipliers.shape(0), "the length of multipliers");
    check_columns(columns, multipliers.shape(0));
    reduced_costs(costs.shape(0), starts.data(), columns.data(), values.data(), multipliers.data(), weights.data(),
                  costs.data(), threads(n_threads));
}

template <class Column>
void serve(Array<std::int64_t> rows, Array<std::int64_t> starts, Array<Column> columns, Array<float> values,
           Array<float> multipliers, ArrayOut<std::int32_t> counts) {
    require(starts.shape(0) > 0, "starts is empty: expected an entry for each row, and one more");
    check_reduced(starts, starts.shape(0) - 1, columns, values);
    check_indices("rows", rows.data(), rows.shape(0), starts.shape(0) - 1);
    check_length("counts", counts, multipliers.shape(0), "the length of multipliers");
    check_columns(columns, multipliers.shape(0));
    count_serving(rows.data(), rows.shape(0), starts.data(), columns.data(), values.data(), multipliers.data(),
                  counts.shape(0), counts.data());
}

// capsule     IN  the capsule of a scipy.LowLevelCallable: a pointer to the function, and user data as its context
// takes_data      whether the function takes the user data as its last argument
void init_custom(CustomMetric* self, nb::capsule capsule, bool takes_data) {
    void* function = capsule.data(capsule.name());
    require(function != nullptr, "capsule holds a null pointer: expected a function");
    if (takes_data)
        new (self) CustomMetric(reinterpret_cast<CustomMetric::FunctionWithData>(function),
                                PyCapsule_GetContext(capsule.ptr()));
    else
        new (self) CustomMetric(reinterpret_cast<CustomMetric::Function>(function));
}

void fill_custom(const CustomMetric& self, Matrix<double> rows, Matrix<double> columns, bool rows_first,
                 MatrixOut<double> out, int n_threads) {
    check_row_length("rows", rows, columns.shape(1), "features");
    check_shape("out", out, {rows.shape(0), columns.shape(0)}, "rows x columns");
    self.fill(rows.data(), rows.shape(0), columns.data(), columns.shape(0), rows.shape(1), rows_first, out.data(),
              threads(n_threads));
}

template <class T>
bool all_bytes(Matrix<T> values, double byte_divisor) {
    return are_bytes(values.data(), values.size(), byte_divisor);
}

void widen(Matrix<std::uint16_t> halves, MatrixOut<float> wide, int n_threads) {
    check_shape("wide", wide, {halves.shape(0), halves.shape(1)}, "the shape of halves");
    widen_halves(halves.data(), halves.size(), wide.data(), threads(n_threads));
}

}  // namespace

NB_MODULE(_core, module) {
    module.doc() =
        "The native core of onebatchpam: dissimilarities, the swap search, the arms of BanditPAM, and reduced rows "
        "of a block.";
    module.attr("__version__") = OBP_VERSION;
    module.attr("SWEEP_CHUNK") = SwapSearch::chunk_size;
    after_each_task = raise_for_signals;
    // Objects that a traceback or a thread still holds when the interpreter ends are not a leak that a user could mend.
    nb::set_leak_warnings(false);
    using release = nb::call_guard<nb::gil_scoped_release>;

    nb::class_<Viewer>(module, "Viewer",
                       "Base class of objects that look at all rows of a block, as soon as they are computed or later.")
        .def("see", see_all, "rows"_a.noconvert(), release(), "Look at all rows of a block in memory.");
    nb::class_<SwapSearch> search(module, "SwapSearch",
                                  "Eager swap search over a block whose rows are given tile by tile.");

    nb::class_<RowScanner, Viewer>(
        module, "RowScanner",
        "Writes the nearest column of each row, the first in a tie, and its entry; checks all entries.")
        .def("__init__", init_scanner, "nearest"_a.noconvert(), "distances"_a.noconvert(), "n_threads"_a,
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def_prop_ro("largest", &RowScanner::largest, "The largest entry.")
        .def_prop_ro("valid", &RowScanner::valid, "Whether all entries are finite and not negative.");
    nb::class_<RowSummer, Viewer>(
        module, "RowSummer",
        "Writes the weighted sum of each row; no entry counts more than the cap of its column. Checks all entries.")
        .def("__init__", init_summer, "weights"_a.noconvert(), "sums"_a.noconvert(), "n_threads"_a,
             "caps"_a.noconvert() = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 5>())
        .def_prop_ro("valid", &RowSummer::valid, "Whether all entries are finite and not negative.");
    nb::class_<RowTransposer, Viewer>(module, "RowTransposer",
                                      "Writes the rows to the columns of another block; checks all entries.")
        .def("__init__", init_transposer, "transposed"_a.noconvert(), "n_threads"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("valid", &RowTransposer::valid, "Whether all entries are finite and not negative.");
    nb::class_<SwapEvaluator, Viewer>(module, "SwapEvaluator",
                                      "Writes the gain of the best swap of each candidate, and the slot of that swap.")
        .def("__init__", init_evaluator, "search"_a, "gains"_a.noconvert(), "slots"_a.noconvert(), "n_threads"_a,
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
        .def_prop_ro("valid", &SwapEvaluator::valid, "Whether all entries are finite and not negative.");

    nb::class_<PackedColumns>(module, "PackedColumns",
                              "Points that are packed to be compared with many rows: the columns of a block.\n\n"
                              "If byte_divisor is not 0, all values of points and rows are bytes divided by it.")
        .def("__init__", init_columns<float>, "points"_a.noconvert(), "metric"_a, "byte_divisor"_a = 0.0)
        .def("__init__", init_columns<double>, "points"_a.noconvert(), "metric"_a, "byte_divisor"_a = 0.0)
        .def("__init__", init_columns<std::uint8_t>, "points"_a.noconvert(), "metric"_a, "byte_divisor"_a = 0.0)
        .def("fill", fill<float, float>, "rows"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, release())
        .def("fill", fill<double, float>, "rows"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, release())
        .def("fill", fill<double, double>, "rows"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, release())
        .def("fill", fill<std::uint8_t, float>, "rows"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, release())
        .def("fill", fill<std::uint8_t, double>, "rows"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, release())
        .def("fill", fill_viewed<float>, "rows"_a.noconvert(), "out"_a.noconvert(), "viewer"_a, release())
        .def("fill", fill_viewed<double>, "rows"_a.noconvert(), "out"_a.noconvert(), "viewer"_a, release())
        .def("fill", fill_viewed<std::uint8_t>, "rows"_a.noconvert(), "out"_a.noconvert(), "viewer"_a, release());

    nb::class_<GowerColumns>(module, "GowerColumns",
                             "Encoded rows of a table that are packed as points of the Gower dissimilarity.")
        .def("__init__", init_gower, "points"_a.noconvert(), "weights"_a.noconvert())
        .def("fill", fill_gower, "rows"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, release());

    nb::class_<SparseColumns>(module, "SparseColumns",
                              "Sparse points that are packed to be compared with many sparse rows.")
        .def("__init__", init_sparse, "starts"_a.noconvert(), "features"_a.noconvert(), "values"_a.noconvert(),
             "n_features"_a, "metric"_a)
        .def("fill", fill_sparse<float>, "starts"_a.noconvert(), "features"_a.noconvert(), "values"_a.noconvert(),
             "out"_a.noconvert(), "n_threads"_a, release())
        .def("fill", fill_sparse<double>, "starts"_a.noconvert(), "features"_a.noconvert(), "values"_a.noconvert(),
             "out"_a.noconvert(), "n_threads"_a, release());

    nb::class_<CustomMetric>(module, "CustomMetric", "A dissimilarity by a compiled function of the user.")
        .def("__init__", init_custom, "capsule"_a, "takes_data"_a)
        .def("fill", fill_custom, "rows"_a.noconvert(), "columns"_a.noconvert(), "rows_first"_a, "out"_a.noconvert(),
             "n_threads"_a, release());

    search
        .def("__init__", init_search<SwapSearch, 1>, "n_candidates"_a, "medoids"_a.noconvert(),
             "medoid_rows"_a.noconvert(), "weights"_a.noconvert(), "tol"_a, "n_fixed"_a = 0)
        .def("sweep", sweep, "rows"_a.noconvert(), "first"_a, "n_threads"_a, "gains"_a.noconvert() = nb::none(),
             release(), "Try the candidates first, first + 1, ..., with these rows, and make every improving swap.")
        .def("find_improving", find_improving, "rows"_a.noconvert(), "first"_a, "begin"_a, "n_threads"_a, release(),
             "Return the end and the improving candidates of the next chunk that has any; reduced rows will do.")
        .def("try_candidates", try_candidates, "candidates"_a, "rows"_a.noconvert(), release(),
             "Try candidates in order, make every improving swap, and return whether there was one.")
        .def_prop_ro("converged", &SwapSearch::converged, "Whether all candidates have been tried since the last swap.")
        .def_prop_ro("loss", &SwapSearch::loss, "The weighted sum of `nearest_distances`.")
        .def_prop_ro(
            "medoids", [](const SwapSearch& self) { return self.medoids(); }, "The candidate in each of the k slots.")
        .def_prop_ro("n_swaps", &SwapSearch::n_swaps, "The number of swaps so far.")
        .def_prop_ro("medoid_distances", medoid_distances, "m x k: the distances of each batch point to all medoids.")
        .def_prop_ro("nearest", view_of_state<std::int32_t, &SwapSearch::nearest>,
                     "The slot of the nearest medoid of each batch point.")
        .def_prop_ro("nearest_distances", view_of_state<float, &SwapSearch::nearest_distances>,
                     "The distance of each batch point to its nearest medoid.")
        .def_prop_ro("second_distances", view_of_state<float, &SwapSearch::second_distances>,
                     "The distance of each batch point to its second nearest medoid; infinite if k is 1.");

    nb::class_<SilhouetteSearch>(module, "SilhouetteSearch",
                                 "Eager swap search for the average medoid silhouette, 1 - d1 / d2 of each point.")
        .def("__init__", init_search<SilhouetteSearch, 2>, "n_candidates"_a, "medoids"_a.noconvert(),
             "medoid_rows"_a.noconvert(), "weights"_a.noconvert(), "tol"_a, "n_fixed"_a = 0)
        .def("sweep", sweep_silhouettes, "rows"_a.noconvert(), "first"_a, "n_threads"_a, release(),
             "Try the candidates first, first + 1, ..., with these rows, and make every improving swap.")
        .def_prop_ro("converged", &SilhouetteSearch::converged,
                     "Whether all candidates have been tried since the last swap.")
        .def_prop_ro("loss", &SilhouetteSearch::loss, "The weighted sum of d1 / d2.")
        .def_prop_ro(
            "medoids", [](const SilhouetteSearch& self) { return self.medoids(); },
            "The candidate in each of the k slots.")
        .def_prop_ro("n_swaps", &SilhouetteSearch::n_swaps, "The number of swaps so far.")
        .def_prop_ro(
            "removal_changes", [](const SilhouetteSearch& self) { return self.removal_changes(); },
            "The change of the loss if each of the k medoids is removed and nothing takes its place.");

    const char* compares = "Write the dissimilarities of all rows to one point.";
    const auto def_column = [&](auto function) {
        module.def("fill_column", function, "metric"_a, "rows"_a.noconvert(), "point"_a.noconvert(),
                   "out"_a.noconvert(), "n_threads"_a, release(), compares);
    };
    def_column(fill_one_column<float, float>);
    def_column(fill_one_column<double, float>);
    def_column(fill_one_column<double, double>);
    def_column(fill_one_column<std::uint8_t, float>);
    def_column(fill_one_column<std::uint8_t, double>);

    module.def("add_build_moments", add_build, "block"_a.noconvert(), "rows"_a.noconvert(),
               "nearest_distances"_a.noconvert(), "weights"_a.noconvert(), "least_gain"_a, "moments"_a.noconvert(),
               "n_threads"_a, release(),
               "Add the moments of the gains of adding each of these rows to the medoids, over all columns.");
    module.def("add_swap_moments", add_swaps, "block"_a.noconvert(), "rows"_a.noconvert(),
               "nearest_distances"_a.noconvert(), "second_distances"_a.noconvert(), "nearest"_a.noconvert(),
               "weights"_a.noconvert(), "moments"_a.noconvert(), "n_threads"_a, release(),
               "Add the moments of the gains of swapping each of these rows with each medoid, over all columns.");
    module.def("bound_gains", bound, "moments"_a.noconvert(), "removals"_a.noconvert(), "n_fixed"_a, "n_points"_a,
               "width"_a, "highest"_a.noconvert(), "surest"_a.noconvert(), "n_threads"_a, release(),
               "Write the highest upper and the highest lower bound of a gain of each candidate.");

    module.def("are_bytes", all_bytes<float>, "values"_a.noconvert(), "byte_divisor"_a, release(),
               "Return whether every value is a byte divided by byte_divisor.");
    module.def("are_bytes", all_bytes<double>, "values"_a.noconvert(), "byte_divisor"_a, release());
    module.def("widen_halves", widen, "halves"_a.noconvert(), "wide"_a.noconvert(), "n_threads"_a, release(),
               "Write numbers in float16, given by their bits, in float32.");
    module.def("count_below", count, "rows"_a.noconvert(), "thresholds"_a.noconvert(), "counts"_a.noconvert(),
               "n_threads"_a, release(),
               "Write the number of entries of each row that are below the threshold of their column.");
    const char* reduces = "Write the columns and values of all entries below the threshold of their column, by rows.";
    module.def("reduce_rows", reduce<std::uint16_t>, "rows"_a.noconvert(), "thresholds"_a.noconvert(),
               "starts"_a.noconvert(), "columns"_a.noconvert(), "values"_a.noconvert(), "n_threads"_a, release(),
               reduces);
    module.def("reduce_rows", reduce<std::uint32_t>, "rows"_a.noconvert(), "thresholds"_a.noconvert(),
               "starts"_a.noconvert(), "columns"_a.noconvert(), "values"_a.noconvert(), "n_threads"_a, release());
    const char* expands = "Write reduced rows to `out`, with infinity for the entries that were not kept.";
    module.def("expand_rows", expand<std::uint16_t>, "starts"_a.noconvert(), "columns"_a.noconvert(),
               "values"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, release(), expands);
    module.def("expand_rows", expand<std::uint32_t>, "starts"_a.noconvert(), "columns"_a.noconvert(),
               "values"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, release());

    const char* prices = "Write the reduced cost of each reduced row under these multipliers of the columns.";
    module.def("reduced_costs", price_reduced<std::uint16_t>, "starts"_a.noconvert(), "columns"_a.noconvert(),
               "values"_a.noconvert(), "multipliers"_a.noconvert(), "weights"_a.noconvert(), "costs"_a.noconvert(),
               "n_threads"_a, release(), prices);
    module.def("reduced_costs", price_reduced<std::uint32_t>, "starts"_a.noconvert(), "columns"_a.noconvert(),
               "values"_a.noconvert(), "multipliers"_a.noconvert(), "weights"_a.noconvert(), "costs"_a.noconvert(),
               "n_threads"_a, release());
    const char* counts = "Count for each column the chosen rows whose entry is below the multiplier of the column.";
    module.def("count_serving", serve<std::uint16_t>, "rows"_a.noconvert(), "starts"_a.noconvert(),
               "columns"_a.noconvert(), "values"_a.noconvert(), "multipliers"_a.noconvert(), "counts"_a.noconvert(),
               release(), counts);
    module.def("count_serving", serve<std::uint32_t>, "rows"_a.noconvert(), "starts"_a.noconvert(),
               "columns"_a.noconvert(), "values"_a.noconvert(), "multipliers"_a.noconvert(), "counts"_a.noconvert(),
               release());

    module.def("simd_level", [] { return std::string(kernels().name); }, "Return the SIMD level that is in use.");
    module.def(
        "simd_levels",
        [] {
            std::vector<std::string> names;
            for (const Kernels* level : available_kernels()) names.emplace_back(level->name);
            return names;
        },
        "Return the SIMD levels that this machine can run, the best one last.");
    module.def(
        "force_simd_level",
        [](const char* name) {
            require(force_kernels(name), "no SIMD level '", name, "' on this machine: see simd_levels()");
        },
        "name"_a, "Use this SIMD level from now on, for tests.");
}
