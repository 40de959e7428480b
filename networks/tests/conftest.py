"""Tests of networks run where torch is installed, on one thread each: files of tests run side by side."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]

if find_spec("torch"):
    import torch

    torch.set_num_threads(1)
