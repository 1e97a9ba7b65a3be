// MetricsWriter: Prometheus' text format, version 0.0.4.
#ifndef ERS_PROXY_ADMIN_METRICS_WRITER_H_
#define ERS_PROXY_ADMIN_METRICS_WRITER_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "server/histogram.h"

namespace ers::proxy {

// A family begins, and its samples follow. Any thread.
class MetricsWriter {
 public:
  using Labels =
      std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // The views stay until the next family.
  void Begin(std::string_view name, std::string_view type,
             std::string_view help);
  void Add(Labels labels, std::uint64_t value);
  void AddHistogram(Labels labels, const HistogramSum& sum);
  std::string Take() { return std::move(text_); }

 private:
  void AddName(std::string_view suffix, Labels labels, std::string_view bound);

  std::string text_;
  std::string_view name_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_METRICS_WRITER_H_
