"""One thread each: files of tests run side by side."""

import torch

torch.set_num_threads(1)
