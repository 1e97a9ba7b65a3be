"""The experiments of the ERS paper, section 6: what is run, and on what."""
