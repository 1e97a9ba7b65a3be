// What a daemon runs with. Entry points: ServerOptions; LoadOptions for the
// YAML file; OptionsOf for the command line. Nothing that acts on a setting may
// come in.
#ifndef ERS_PROXY_CONFIG_CONFIG_H_
#define ERS_PROXY_CONFIG_CONFIG_H_
#endif  // ERS_PROXY_CONFIG_CONFIG_H_
