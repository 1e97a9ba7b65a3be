"""Skips, aloud, what needs a Debian package that is not there."""

import subprocess
import unittest

# What the evaluation's scripts that need such packages run by.
PYTHON = "/usr/bin/python3"


def module(name, package):
    """A decorator of tests."""
    try:
        there = subprocess.run([PYTHON, "-c", f"import {name}"], check=False,
                               capture_output=True).returncode == 0
    except OSError:
        there = False
    return unittest.skipUnless(there, f"{package} is not installed")
