"""What a program of the evaluation says of what is wrong: the culprit and the
reason, without numbers of errors or the place in the program."""

import argparse
import errno
import os
import subprocess


def words(error):
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, subprocess.CalledProcessError):
        command = error.cmd if isinstance(error.cmd, str) else \
            " ".join(map(str, error.cmd))
        return f"{command} ended with code {error.returncode}"
    return str(error)


def need(path):
    """Fails where a program that is to run is not there."""
    if not os.access(path, os.X_OK) or os.path.isdir(path):
        raise FileNotFoundError(
            errno.ENOENT, "there is no such program: build it (cmake --build "
            "--preset release), or name the folder that has it", path)


def positive(text):
    """A number for argparse."""
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a whole number from 1 on")
    return int(text)
