#include "sim/store/seed_runs.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <type_traits>

namespace ers::sim {
namespace {

static_assert(std::is_trivially_copyable_v<SeedCounts>);

struct Child {
  pid_t pid = -1;
  int pipe = -1;
  Seeds seeds;
};

void WriteAll(int pipe, const void* bytes, std::size_t count) {
  const char* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = write(pipe, at, count);
    if (written <= 0) _exit(1);
    at += written;
    count -= static_cast<std::size_t>(written);
  }
}

std::string ReadAll(int pipe) {
  std::string all;
  std::array<char, 65536> some;
  for (;;) {
    const ssize_t got = read(pipe, some.data(), some.size());
    if (got <= 0) return all;
    all.append(some.data(), static_cast<std::size_t>(got));
  }
}

Child Start(
    const Seeds& seeds,
    const std::function<SeedCounts(const Seeds&, std::string* text)>& run) {
  Child child;
  child.seeds = seeds;
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) return child;
  std::fflush(stdout);
  child.pid = fork();
  if (child.pid == 0) {
    close(ends[0]);
    std::string text;
    const SeedCounts counts = run(seeds, &text);
    WriteAll(ends[1], &counts, sizeof counts);
    WriteAll(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  child.pipe = ends[0];
  return child;
}

void Finish(const Child& child, SeedCounts* sum) {
  std::string said;
  int status = -1;
  if (child.pipe >= 0) {
    said = ReadAll(child.pipe);
    close(child.pipe);
  }
  const bool ended = child.pid > 0 &&
                     waitpid(child.pid, &status, 0) == child.pid &&
                     WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!ended || said.size() < sizeof(SeedCounts)) {
    fmt::print("seeds {} to {}: the run crashed; try them one by one\n",
               child.seeds.first, child.seeds.last);
    ++sum->failed;
    return;
  }
  SeedCounts counts;
  std::copy_n(said.data(), sizeof counts, reinterpret_cast<char*>(&counts));
  fmt::print("{}", said.substr(sizeof counts));
  sum->table.Add(counts.table);
  sum->seeds += counts.seeds;
  sum->failed += counts.failed;
  sum->operations += counts.operations;
  sum->hash = (sum->hash ^ counts.hash) * 0x9E3779B97F4A7C15U;
}

}  // namespace

std::vector<Seeds> InChunks(const Seeds& seeds, std::uint64_t most) {
  std::vector<Seeds> chunks;
  for (std::uint64_t first = seeds.first; first <= seeds.last; first += most) {
    chunks.push_back({first, std::min(first + most - 1, seeds.last)});
  }
  return chunks;
}

SeedCounts RunChunks(
    const std::vector<Seeds>& chunks, int jobs,
    const std::function<SeedCounts(const Seeds&, std::string* text)>& run) {
  SeedCounts sum;
  std::deque<Child> children;
  for (const Seeds& seeds : chunks) {
    if (children.size() == static_cast<std::size_t>(jobs)) {
      Finish(children.front(), &sum);
      children.pop_front();
    }
    children.push_back(Start(seeds, run));
  }
  for (const Child& child : children) Finish(child, &sum);
  return sum;
}

}  // namespace ers::sim
