// MetricsWriter: Prometheus' text format, version 0.0.4.
#ifndef ERS_PROXY_ADMIN_METRICS_WRITER_H_
#define ERS_PROXY_ADMIN_METRICS_WRITER_H_

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/histogram.h"

namespace ers::proxy {

// A family begins, and its samples follow. Any thread.
class MetricsWriter {
 public:
  // `labels`: their names, with ", " between. The views stay until the next
  // family.
  void Begin(std::string_view name, std::string_view type,
             std::string_view labels, std::string_view help);
  // Values of the labels, in their order; those behind may be left out.
  void Add(std::initializer_list<std::string_view> labels,
           std::uint64_t value) {
    Add(std::span(labels.begin(), labels.size()), value);
  }
  void Add(std::span<const std::string_view> labels, std::uint64_t value);
  // In seconds.
  void Add(std::initializer_list<std::string_view> labels,
           std::chrono::nanoseconds value);
  void AddHistogram(std::initializer_list<std::string_view> labels,
                    const HistogramSum& sum);
  std::string Take() { return std::move(text_); }

 private:
  void AddName(std::string_view suffix,
               std::span<const std::string_view> labels,
               std::string_view bound);

  std::string text_;
  std::string_view name_;
  std::vector<std::string_view> labels_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_METRICS_WRITER_H_
