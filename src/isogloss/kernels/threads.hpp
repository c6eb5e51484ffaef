// A fixed team of threads that walks through blocks of work in step.
#pragma once
#include <atomic>
#include <thread>
#include <vector>

namespace isogloss {

class Barrier {
  public:
    explicit Barrier(int members) : members_(members) {}

    void wait() {
        const int phase = phase_.load();
        if (arrived_.fetch_add(1) + 1 == members_) {
            arrived_.store(0);
            phase_.fetch_add(1);
            return;
        }
        for (int spins = 0; phase_.load() == phase;)
            if (++spins > 2000) std::this_thread::yield();
    }

  private:
    std::atomic<int> arrived_{0}, phase_{0};
    int members_;
};

// Runs body(id) for id = 0 .. members - 1, one of them on the calling thread.
template <class Body>
void run_team(int members, Body &&body) {
    std::vector<std::thread> others;
    for (int id = 1; id < members; ++id) others.emplace_back([&body, id] { body(id); });
    body(0);
    for (auto &other : others) other.join();
}

}  // namespace isogloss
