// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <thread>
#include <vector>

namespace invar {

/// Calls work(i) for i = 0 … n - 1 on as many threads. Which thread does which i is left open, so results must not depend on it.
template <class Work>
void parallel_for(int threads, int n, Work&& work) {
  std::atomic<int> next{0};
  const auto run = [&] {
    for (int i = next++; i < n; i = next++) work(i);
  };
  std::vector<std::thread> others;
  for (int k = 1; k < threads && k < n; ++k) others.emplace_back(run);
  run();
  for (std::thread& t : others) t.join();
}

}  // namespace invar
