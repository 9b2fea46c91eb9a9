// Threads for independent tasks. A Team lives for one call and joins its threads at the end, because no thread may be
// alive when the process forks. Between two rounds of tasks, a thread polls for a moment before it sleeps, because a
// round is often shorter than the time that it takes to wake a thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace obp {

// The calling thread calls this function, if there is one, after each of its tasks. The function may throw to stop the
// round of tasks: the Python module sets a function that looks for Ctrl-C.
inline void (*after_each_task)() = nullptr;

class Team {
public:
    explicit Team(int n_threads) {
        threads_.reserve(static_cast<std::size_t>(n_threads));  // Before a thread runs, so that it can still throw.
        try {
            for (int i = 1; i < n_threads; ++i) threads_.emplace_back([this, i] { serve(i); });
        } catch (const std::system_error&) {
            // The system refuses to start more threads: the team works with those that it has.
        } catch (const std::bad_alloc&) {
            // There is no memory for more threads.
        }
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            closing_ = true;
        }
        wake_.notify_all();
        for (auto& thread : threads_) thread.join();
    }

    int size() const { return static_cast<int>(threads_.size()) + 1; }

    // Calls task(index, thread) once for every index below n_tasks, in no particular order. If a task throws, no
    // further tasks are started, and the first exception is thrown again here, after all threads have stopped.
    void run(std::size_t n_tasks, const std::function<void(std::size_t, int)>& task) {
        next_ = 0;
        n_tasks_ = n_tasks;
        task_ = &task;
        error_ = nullptr;
        if (n_tasks > 1 && !threads_.empty()) {
            {
                std::lock_guard<std::mutex> lock(mutex_);
                busy_ = threads_.size();
                ++round_;
            }
            wake_.notify_all();
            take_tasks(0);
            look_out([this] { return busy_ == 0; });
            std::unique_lock<std::mutex> lock(mutex_);
            done_.wait(lock, [this] { return busy_ == 0; });
        } else {
            take_tasks(0);
        }
        if (error_) std::rethrow_exception(error_);
    }

private:
    // Polls until the condition holds, but not for long.
    template <class Condition>
    static void look_out(const Condition& holds) {
        for (int i = 0; i < 200 && !holds(); ++i) std::this_thread::yield();
    }

    void serve(int thread) {
        std::size_t seen = 0;
        for (;;) {
            look_out([&] { return closing_ || round_ != seen; });
            {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_.wait(lock, [&] { return closing_ || round_ != seen; });
                if (closing_) return;
                seen = round_;
            }
            take_tasks(thread);
            std::lock_guard<std::mutex> lock(mutex_);
            if (--busy_ == 0) done_.notify_one();
        }
    }

    void take_tasks(int thread) {
        try {
            for (std::size_t index = next_++; index < n_tasks_; index = next_++) {
                (*task_)(index, thread);
                if (thread == 0 && after_each_task) after_each_task();
            }
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex_);
            if (!error_) error_ = std::current_exception();
            next_ = n_tasks_;
        }
    }

    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::atomic<std::size_t> next_{0};
    std::size_t n_tasks_ = 0;
    std::atomic<std::size_t> busy_{0}, round_{0};
    std::atomic<bool> closing_{false};
    const std::function<void(std::size_t, int)>* task_ = nullptr;
    std::exception_ptr error_;
};

// Returns the number of tiles of `per_tile` rows that cover n rows.
inline std::size_t tiles_of(std::size_t n, std::size_t per_tile) { return (n + per_tile - 1) / per_tile; }

// Calls task(index, thread) once for every index below n_tasks, with at most n_threads threads.
inline void parallel_for(int n_threads, std::size_t n_tasks, const std::function<void(std::size_t, int)>& task) {
    const std::size_t useful = n_tasks < static_cast<std::size_t>(n_threads) ? n_tasks : n_threads;
    Team(static_cast<int>(useful)).run(n_tasks, task);
}

// Calls work(i) once for every i below n; a thread takes `per_task` of them at a time.
template <class Work>
void parallel_for_each(int n_threads, std::size_t n, std::size_t per_task, const Work& work) {
    parallel_for(n_threads, tiles_of(n, per_task), [&](std::size_t task, int) {
        const std::size_t stop = std::min(n, (task + 1) * per_task);
        for (std::size_t i = task * per_task; i < stop; ++i) work(i);
    });
}

}  // namespace obp
