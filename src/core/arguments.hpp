// Checks of the arguments that bindings.cpp receives. An error names the argument, the value that it has and the value
// that was expected.
//
// The arrays are of any class that has shape(axis), size() and stride(axis), so that this file needs no Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>

#include "block.hpp"

namespace obp {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... message) {
    std::ostringstream text;
    (text << ... << message);
    throw std::invalid_argument(text.str());
}

template <class... Parts>
void require(bool holds, const Parts&... message) {
    if (!holds) refuse(message...);
}

inline int threads(int n_threads) {
    require(n_threads >= 1, "n_threads=", n_threads, ": expected at least 1");
    return n_threads;
}

struct Shape {
    std::size_t n_rows, n_columns;

    bool operator==(const Shape& other) const { return n_rows == other.n_rows && n_columns == other.n_columns; }
    friend std::ostream& operator<<(std::ostream& text, const Shape& shape) {
        return text << '(' << shape.n_rows << ", " << shape.n_columns << ')';
    }
};

template <class Array>
Shape shape_of(const Array& array) {
    return {array.shape(0), array.shape(1)};
}

template <class Array>
void check_shape(const char* name, const Array& array, const Shape& expected, const char* meaning) {
    require(shape_of(array) == expected, name, " has shape ", shape_of(array), ": expected ", expected, ", ", meaning);
}

template <class Array>
void check_not_empty(const char* name, const Array& array) {
    require(array.size() > 0, name, " is empty, of shape ", shape_of(array), ": expected at least (1, 1)");
}

// what  the name of the entries of a row, such as "features"
template <class Array>
void check_row_length(const char* name, const Array& array, std::size_t expected, const char* what) {
    require(array.shape(1) == expected, name, " has shape ", shape_of(array), ": expected ", expected, " ", what);
}

template <class Array>
void check_length(const char* name, const Array& array, std::size_t expected, const char* meaning) {
    require(array.shape(0) == expected, name, " has length ", array.shape(0), ": expected ", expected, ", ", meaning);
}

template <class Index>
void check_indices(const char* name, const Index* indices, std::size_t n, std::size_t stop) {
    for (std::size_t i = 0; i < n; ++i)
        if (indices[i] < 0 || static_cast<std::size_t>(indices[i]) >= stop)
            refuse(name, "[", i, "]=", indices[i], " is out of range: expected 0 <= index < ", stop);
}

// Returns the number of entries between the beginnings of two neighbouring rows of a block.
template <class Array>
std::size_t row_stride(const Array& block) {
    require(block.size() == 0 || block.shape(1) == 1 || block.stride(1) == 1, "entries of a row are ", block.stride(1),
            " entries apart: expected 1");
    require(block.shape(0) <= 1 || block.stride(0) >= static_cast<std::int64_t>(block.shape(1)), "rows begin ",
            block.stride(0), " entries apart: expected at least ", block.shape(1), ", because rows must not overlap");
    return static_cast<std::size_t>(block.shape(0) <= 1 ? 0 : block.stride(0));
}

template <class Array>
void check_viewed(const char* name, const Array& rows, const Viewer& viewer) {
    const Shape expected{viewer.n_rows(), viewer.n_columns().value_or(rows.shape(1))};
    require(shape_of(rows) == expected, name, " has shape ", shape_of(rows),
            ", which is not what the viewer expects: ", expected);
}

// Checks the boundaries of sparse rows: they ascend from 0 to the number of values.
inline void check_starts(const std::int64_t* starts, std::size_t n, std::size_t n_values) {
    require(n > 0, "starts is empty: expected an entry for each row, and one more");
    require(starts[0] == 0, "starts[0]=", starts[0], ": expected 0");
    for (std::size_t i = 1; i < n; ++i)
        if (starts[i] < starts[i - 1])
            refuse("starts[", i, "]=", starts[i], ": expected at least ", starts[i - 1], ", the entry before it");
    require(static_cast<std::size_t>(starts[n - 1]) == n_values, "starts[", n - 1, "]=", starts[n - 1], ": expected ",
            n_values, ", the number of values");
}

// Checks the arrays that hold reduced rows, as they are described in search/reduce.hpp.
template <class Starts, class Columns, class Values>
void check_reduced(const Starts& starts, std::size_t n_rows, const Columns& columns, const Values& values) {
    check_length("starts", starts, n_rows + 1, "one more than there are rows");
    check_length("columns", columns, values.shape(0), "the length of values");
    check_starts(starts.data(), n_rows + 1, values.shape(0));
}

}  // namespace obp
