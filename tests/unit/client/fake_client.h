// A Client without servers: it keeps what it was asked and answers as set.
#ifndef ERS_TESTS_UNIT_CLIENT_FAKE_CLIENT_H_
#define ERS_TESTS_UNIT_CLIENT_FAKE_CLIENT_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ers/client.h"

namespace ers {

class FakeClient : public Client {
 public:
  // What the next calls return, or throw where `raise` is set.
  Status outcome;
  std::function<void()> raise;
  GetInfo info;
  TransitionInfo transition;
  ObjectDetail detail;
  ClusterInfo cluster;
  RebuildReport rebuilt;
  VerifyReport verified;
  std::vector<std::pair<std::string, ObjectInfo>> objects;

  // What the last call was given.
  std::string key;
  std::string bytes;  // also what gets deliver
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  PutOptions put_options;
  TransitionTarget target;
  RebuildOptions rebuild_options;
  VerifyOptions verify_options;
  TransitionVariant variant = TransitionVariant::kOptimal;
  ExportMode mode = ExportMode::kExport;
  GarbageOptions garbage_options;
  GarbageReport garbage;
  std::size_t source_step = 3;  // bytes asked of a source at a time
  int calls = 0;

  Result<ObjectInfo> Put(std::string_view k, std::span<const std::byte> value,
                         const PutOptions& options) override {
    bytes.assign(reinterpret_cast<const char*>(value.data()), value.size());
    put_options = options;
    return Answer<ObjectInfo>(k, info);
  }
  Result<ObjectInfo> PutFrom(std::string_view k, const Source& source,
                             const PutOptions& options) override {
    put_options = options;
    return Drain(k, source);
  }
  Result<GetInfo> Get(std::string_view k, Value& value) override {
    return Deliver(k, value);
  }
  Result<GetInfo> GetRange(std::string_view k, std::uint64_t from,
                           std::uint64_t count, Value& value) override {
    offset = from;
    length = count;
    return Deliver(k, value);
  }
  Result<GetInfo> GetTo(std::string_view k,
                        const std::function<void(const GetInfo&)>& begin,
                        const Sink& sink) override {
    const Result<GetInfo> answer = Answer(k, info);
    if (!answer) return answer;
    begin(info);
    for (const char& byte : bytes) {
      const Status status = sink(std::as_bytes(std::span(&byte, 1)));
      if (!status.ok()) return Fail(status);
    }
    return answer;
  }
  Result<ObjectInfo> Update(std::string_view k, std::uint64_t at,
                            std::span<const std::byte> value) override {
    offset = at;
    return Put(k, value, {});
  }
  Result<ObjectInfo> Append(std::string_view k, const Source& source) override {
    return Drain(k, source);
  }
  Status Delete(std::string_view k) override {
    const Result<int> answer = Answer(k, 0);
    return answer ? Status() : answer.error();
  }
  Result<ObjectInfo> Export(std::string_view k, ExportMode how) override {
    mode = how;
    return Answer<ObjectInfo>(k, info);
  }
  Result<TransitionInfo> Transition(std::string_view k,
                                    const TransitionTarget& to,
                                    TransitionVariant how) override {
    target = to;
    variant = how;
    return Answer(k, transition);
  }
  Result<ObjectDetail> Stat(std::string_view k) override {
    return Answer(k, detail);
  }
  Status List(
      const std::function<bool(std::string_view, const ObjectInfo&)>& visit,
      const ListOptions&) override {
    for (const auto& [name, object] : objects) {
      ++calls;
      if (!visit(name, object)) break;
    }
    return outcome;
  }
  Result<ClusterInfo> Servers() override { return Answer("", cluster); }
  Result<GarbageReport> CollectGarbage(const GarbageOptions& options) override {
    garbage_options = options;
    return Answer("", garbage);
  }
  Result<RebuildReport> Rebuild(const RebuildOptions& options) override {
    rebuild_options = options;
    return Answer("", rebuilt);
  }
  Status Replace(const std::string& old_server,
                 const std::string& new_server) override {
    bytes = new_server;
    const Result<bool> answer = Answer(old_server, true);
    return answer ? Status() : answer.error();
  }
  Status Recover(const std::vector<Successor>& successors,
                 const std::function<bool(const Loss&)>& agree) override {
    (void)agree(Loss{});
    const Result<bool> answer = Answer(successors.front().old_server, true);
    return answer ? Status() : answer.error();
  }
  Result<VerifyReport> Verify(const VerifyOptions& options) override {
    verify_options = options;
    return Answer("", verified);
  }

 private:
  template <typename T>
  Result<T> Answer(std::string_view k, const T& value) {
    ++calls;
    key = k;
    if (raise) raise();
    if (!outcome.ok()) return Fail(outcome);
    return value;
  }
  Result<ObjectInfo> Drain(std::string_view k, const Source& source) {
    bytes.clear();
    std::vector<std::byte> piece(source_step);
    while (true) {
      const Result<std::size_t> got = source(piece);
      if (!got) return Fail(got.error());
      if (*got == 0) return Answer<ObjectInfo>(k, info);
      bytes.append(reinterpret_cast<const char*>(piece.data()), *got);
    }
  }
  // As a client may: the value is backfilled before a failure shows.
  Result<GetInfo> Deliver(std::string_view k, Value& value) {
    if (!value.Resize(bytes.size())) {
      return Fail(StatusCode::kTooLarge, "the memory given is too small");
    }
    std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(),
                value.data());
    return Answer(k, info);
  }
};

}  // namespace ers

#endif  // ERS_TESTS_UNIT_CLIENT_FAKE_CLIENT_H_
