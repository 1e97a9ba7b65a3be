/* ERS_API marks what the shared library exports; all else stays inside. */
#ifndef ERS_EXPORT_H_
#define ERS_EXPORT_H_

#define ERS_API __attribute__((visibility("default")))

#endif /* ERS_EXPORT_H_ */
