// Allocations that fail on demand, for a process that is started with this library in LD_PRELOAD.
//
// Counted are those of C++ of any size, and those of C of at least LARGE bytes: the data of large arrays. Smaller ones
// are left alone, because Python, NumPy and nanobind do not survive the loss of each: `float32_array - float64_array`
// ends the process if NumPy gets no memory for its buffers, which are smaller than this.

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <new>

namespace {

constexpr std::size_t LARGE = 1 << 17;
std::atomic<long> counted{0}, first{LONG_MAX}, last{LONG_MAX};

bool fails() {
    const long position = counted++;
    return position >= first && position < last;
}

bool large_fails(std::size_t size) {
    if (size < LARGE || !fails()) return false;
    errno = ENOMEM;
    return true;
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) { return large_fails(size) ? nullptr : __libc_malloc(size); }

void* calloc(std::size_t count, std::size_t size) {
    return large_fails(count * size) ? nullptr : __libc_calloc(count, size);
}

void* realloc(void* old, std::size_t size) { return large_fails(size) ? nullptr : __libc_realloc(old, size); }

void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return large_fails(size) ? nullptr : __libc_memalign(alignment, size);
}

int posix_memalign(void** place, std::size_t alignment, std::size_t size) {
    *place = aligned_alloc(alignment, size);
    return *place == nullptr ? ENOMEM : 0;
}

// Count from now on, and let the allocations from position `from` up to position `to` fail.
void fail_allocations(long from, long to) { counted = 0, first = from, last = to; }

// Let all allocations succeed; return how many were counted.
long stop_failing() {
    first = LONG_MAX;
    return counted;
}

}  // extern "C"

void* operator new(std::size_t size) {
    void* place = fails() ? nullptr : __libc_malloc(size);
    return place == nullptr ? throw std::bad_alloc() : place;
}

void* operator new(std::size_t size, std::align_val_t alignment) {
    void* place = fails() ? nullptr : __libc_memalign(static_cast<std::size_t>(alignment), size);
    return place == nullptr ? throw std::bad_alloc() : place;
}
