// Whether sanitizers are built in. They slow calculations down ten times: there
// a sample is proved, and the other builds prove the rest.
#ifndef ERS_TESTS_SANITIZED_H_
#define ERS_TESTS_SANITIZED_H_

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ERS_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ERS_TEST_SANITIZED 1
#endif
#endif

namespace ers {

#ifdef ERS_TEST_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace ers

#endif  // ERS_TESTS_SANITIZED_H_
