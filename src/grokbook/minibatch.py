"""Training in batches with a learning-rate schedule: ResNet-18 and GPT-2.

``Minibatch`` is to one network of ordinary size what ``training.Ensemble`` is to a
stack of small ones, and the same loop drives it. It has what those lack: augmented
batches, a schedule, buffers (the running means of BatchNorm), and evaluation in
batches, so that memory stays bounded. An arm that names ``eval_batch`` trains here.

Batches, crops and dropout are drawn from (seed, step) alone, so a resumed training is
the same, bit for bit. The last batch of a pass is dropped when it is not full.
Training metrics are taken on the first rows of the training set, as many as the test
set has, without augmentation.
"""

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

from grokbook import observables
from grokbook.datasets import Data
from grokbook.experiment import Arm, options, resolve


class Minibatch:
    """One member: network, optimizer and data, and the step that trains it."""

    def __init__(
        self, arm: Arm, seed: int, data: Data, model: torch.nn.Module, device: str
    ):
        self.arm, self.seed, self.device, self.data = arm, seed, device, data
        self.model = model.to(device)
        self.params = dict(self.model.named_parameters())
        self.loss = partial(resolve("loss", arm.loss), **options(arm.loss))
        settings = options(arm.optimizer)
        self.rate = settings["lr"]
        optimizer = resolve("optimizer", arm.optimizer)(
            list(self.params.values()), **settings
        )
        for wrapper in arm.wrappers:
            optimizer = resolve("wrapper", wrapper)(optimizer, **options(wrapper))
        self.optimizer = optimizer
        self.epoch = 0  # counts steps
        self._order: tuple[int, Tensor] | None = None

    def step(self) -> None:
        """One optimizer step; gradients stay in ``.grad``."""
        torch.manual_seed(self.seed * 1_000_003 + self.epoch)
        x, y = self._inputs(self.data.x_train, self.data.y_train, self._rows())
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * self.factor()
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.model(x), y).backward()
        self.optimizer.step()
        self.epoch += 1

    def factor(self) -> float:
        """What the schedule makes of the learning rate in the next step."""
        if self.arm.schedule is None:
            return 1.0
        schedule = resolve("schedule", self.arm.schedule)
        return schedule(self.epoch, self.arm.epochs, **options(self.arm.schedule))

    def _rows(self) -> Tensor:
        """Training rows of the next batch."""
        rows, size = len(self.data.y_train), self.arm.batch_size
        if size is None or size > rows:
            return torch.arange(rows)
        passes, place = divmod(self.epoch, rows // size)
        if self._order is None or self._order[0] != passes:
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + passes)
            self._order = passes, torch.randperm(rows, generator=generator)
        return self._order[1][place * size : (place + 1) * size]

    def _inputs(self, x, y, rows: Tensor, *, random: bool = True):
        """Rows of a split on the device, augmented or, for evaluation, only cropped."""
        x = x[rows]
        if self.arm.augment is not None:
            augment = resolve("augment", self.arm.augment)
            x = augment(x, **options(self.arm.augment), random=random)
        if x.is_floating_point():
            x = x.to(getattr(torch, self.arm.dtype))
        return x.to(self.device), y[rows].to(self.device)

    @torch.no_grad()
    def observe(self, before: dict[str, Tensor] | None) -> dict[str, Tensor]:
        """The arm's observables now, averaged over batches of both splits."""
        data, test = self.data, len(self.data.y_test)
        train = min(len(data.y_train), test)
        batches = min(math.ceil(test / self.arm.eval_batch), train)
        totals: dict[str, Tensor] = {}
        self.model.eval()
        for train_rows, test_rows in zip(
            torch.arange(train).tensor_split(batches),
            torch.arange(test).tensor_split(batches),
            strict=True,
        ):
            found = observables.observe(
                self._snapshot(train_rows, test_rows), self.arm.observables
            )
            for name, value in found.items():
                is_test = name.startswith("test_")
                rows, of = (test_rows, test) if is_test else (train_rows, train)
                totals[name] = totals.get(name, 0.0) + value * (len(rows) / of)
        self.model.train()
        return totals

    def _snapshot(self, train_rows: Tensor, test_rows: Tensor) -> observables.Snapshot:
        seen: dict[str, Any] = {}
        for split, rows in (("train", train_rows), ("test", test_rows)):
            x, y = (getattr(self.data, f"{axis}_{split}") for axis in "xy")
            x, y = self._inputs(x, y, rows, random=False)
            logits = self.model(x)
            seen |= {f"{split}_logits": logits, f"{split}_labels": y}
            seen[f"{split}_losses"] = self.loss(logits, y, reduction="none")
        params = {name: p.detach() for name, p in self.params.items()}
        return observables.Snapshot(params=params, before=params, grads=params, **seen)

    def weights(self) -> dict[str, Tensor]:
        """A copy of the parameters as they are now."""
        return {name: p.detach().clone() for name, p in self.params.items()}

    def state(self) -> dict[str, Any]:
        """All that the next step depends on; buffers are part of the network's."""
        network = {k: v.clone() for k, v in self.model.state_dict().items()}
        return {
            "epoch": self.epoch,
            "network": network,
            "optimizer": self.optimizer.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.epoch = state["epoch"]
        self.model.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])


def training_flop(arm: Arm) -> float:
    """Operations of all steps of an arm, counted on one row without data or memory."""
    from torch.utils.flop_counter import FlopCounterMode

    with torch.device("meta"):
        model = resolve("model", arm.model)(**arm.model.options)
        if arm.dataset.name == "wikitext":
            row = torch.zeros(1, arm.dataset.options["block"], dtype=torch.int64)
        else:
            size = arm.augment.options["size"] if arm.augment else 32
            row = torch.zeros(1, 3, size, size)
        model.eval()
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model(row)
    return 3.0 * counter.get_total_flops() * (arm.batch_size or 1) * arm.epochs
