"""What every test starts from: one thread, as in a worker process, since two sum in
another order."""

import torch

torch.set_num_threads(1)
