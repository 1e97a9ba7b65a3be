"""Compiles ers/_native against the installed library: see pyproject.toml."""

from setuptools import setup

# The module keeps to Python's stable interface: one wheel for all versions.
setup(cffi_modules=["build_native.py:native"],
      options={"bdist_wheel": {"py_limited_api": "cp311"}})
