"""How an experiment is trained: one step, one loop, two executors.

Members of one kind train together as an ``Ensemble``. On a GPU they are stacked: every
parameter has a leading member axis and the network is mapped over it. On a CPU stacking
gains nothing, so each core trains one member at a time (``grokbook.workers``). Either
way the same lines run, and a member's start depends on its own seed alone.
"""

import json
import math
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, vmap

from grokbook import files, kernels, minibatch, models, observables
from grokbook.datasets import Data
from grokbook.experiment import Arm, Spec, options, resolve

CHECKPOINT_SECONDS = 60.0
# After a collapse a fifth of the float32 gradients at the logits are subnormal.
GRADIENT_SCALE = {"float32": 2.0**64}

Member = tuple[Arm, int]


class TrainingError(RuntimeError):
    """Training cannot start or go on; the message says what to do."""


class Unfinished(TrainingError):
    """The time budget ended before there was anything to record."""


class Diverged(TrainingError):
    """The loss of some members became NaN; ``outcomes`` has None in their place."""

    def __init__(self, message: str, outcomes: "list[Outcome | None]"):
        super().__init__(message)
        self.outcomes = outcomes


@dataclass
class Outcome:
    """One finished member: its series, the weights it was asked to keep, its cost."""

    arm: Arm
    seed: int
    rows: list[dict[str, float]]
    kept: dict[int, dict[str, Tensor]]
    seconds: float
    info: dict[str, Any]


def choose_device(name: str = "auto") -> str:
    """Device to train on, cpu or cuda; TrainingError if unknown or not there."""
    if name not in ("auto", "cpu", "cuda"):
        raise TrainingError(f"unknown device {name!r}: use auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise TrainingError(
            "CUDA was asked for but PyTorch finds no GPU: use --device cpu, or install "
            "a PyTorch build for your GPU driver"
        )
    return "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"


def start(arm: Arm, seed: int) -> tuple[Data, torch.nn.Module]:
    """Data and initial network of one member, from its seed and nothing else.

    Both come from torch's CPU generator in this order, as in the official code, so
    that seed 42 gives the official split. The caller's generator is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed if arm.split_seed is None else arm.split_seed)
        data = resolve("dataset", arm.dataset)(**options(arm.dataset))
        if arm.split_seed is not None:
            torch.manual_seed(seed)
        model = resolve("model", arm.model)(**options(arm.model))
        if arm.init_scale != 1.0:
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(arm.init_scale)
    return data, model.to(getattr(torch, arm.dtype))


def kind(arm: Arm) -> str:
    """What members must share to be stacked: all but numbers that can be a tensor."""
    plain = arm.to_json() | {"name": None, "split_seed": None, "alpha": None}
    for field in ("loss", "optimizer"):
        plain[field] = _without_numbers(plain[field])
    plain["penalties"] = [_without_numbers(p) for p in plain.get("penalties", [])]
    if arm.later_loss:
        epoch, loss = plain["later_loss"]
        plain["later_loss"] = [epoch, _without_numbers(loss)]
    return json.dumps(plain, sort_keys=True)


def _without_numbers(plain: dict[str, Any]) -> dict[str, Any]:
    def is_number(value: Any) -> bool:
        if isinstance(value, list):
            return all(isinstance(part, float) for part in value)
        return isinstance(value, float)

    return {k: None if is_number(v) else v for k, v in plain.items()}


class Ensemble:
    """Members of one kind: parameters, optimizer and data, and the step they share.

    ``stacked=False`` holds one member without a member axis.
    """

    def __init__(self, members: list[Member], device: str, *, stacked: bool):
        if not stacked and len(members) != 1:
            raise ValueError("several members need stacked=True")
        self.members, self.stacked = members, stacked
        self.arm = arm = members[0][0]
        starts = [start(*member) for member in members]
        self.model = starts[0][1]

        def together(tensors: list[Tensor]) -> Tensor:
            joined = torch.stack(tensors) if stacked else tensors[0]
            return joined.to(device)

        floats = getattr(torch, arm.dtype)
        self.scale = GRADIENT_SCALE.get(arm.dtype, 1.0)

        def inputs(field: str) -> Tensor:
            x = together([getattr(data, field) for data, _ in starts])
            return x.to(floats) if x.is_floating_point() else x

        self.train = inputs("x_train"), inputs("y_train")
        self.test = inputs("x_test"), inputs("y_test")
        self.params = {
            name: together([dict(m.named_parameters())[name].data for _, m in starts])
            .clone()
            .requires_grad_()
            for name, _ in self.model.named_parameters()
        }
        self.model.to(device)  # only now: it moves the first member's own tensors
        self.losses = _Loss(members, "loss", device, stacked)
        self.later = _Loss(members, "later_loss", device, stacked)
        self.penalties = [
            _Loss(members, k, device, stacked) for k in range(len(arm.penalties))
        ]
        alphas = [a.alpha for a, _ in members]
        self.alpha = (
            torch.tensor(alphas, dtype=torch.float64, device=device)
            if stacked
            else alphas[0]
        )
        self.optimizer = self._optimizer(device)
        self.has_dropout = any(
            isinstance(m, torch.nn.Dropout) and m.p > 0 for m in self.model.modules()
        )
        self.epoch = 0
        self._rare_epochs = arm.rare_epochs()

    def _optimizer(self, device: str) -> torch.optim.Optimizer:
        every = [options(arm.optimizer) for arm, _ in self.members]
        chosen = {
            key: _stack([o[key] for o in every], device) if self.stacked else value
            for key, value in every[0].items()
        }
        optimizer = resolve("optimizer", self.arm.optimizer)(
            list(self.params.values()), **chosen, stacked=self.stacked
        )
        for wrapper in self.arm.wrappers:
            optimizer = resolve("wrapper", wrapper)(optimizer, **options(wrapper))
        return optimizer

    def _map(self, function: Callable, *arguments):
        if not self.stacked:
            return function(*arguments)
        return vmap(function, randomness="different")(*arguments)

    def _logits(self, params, x, alpha, **options) -> Tensor:
        logits = functional_call(self.model, params, (x,), options)
        if isinstance(alpha, float) and alpha == 1:
            return logits
        return logits * alpha

    def step(self) -> None:
        """One optimizer step of every member; gradients stay in ``.grad``."""
        loss = self.later if self._is_late() else self.losses
        if self.has_dropout:  # masks depend on seed and epoch alone: resume is exact
            torch.manual_seed(self.members[0][1] * 1_000_003 + self.epoch)

        def objective(params, x, y, alpha, numbers, *penalty_numbers):
            logits = self._scaled(self._logits(params, x, alpha))
            value = loss.of(logits, y, numbers)
            for penalty, strength in zip(self.penalties, penalty_numbers, strict=True):
                if penalty.spec.name == "l2":
                    weights = map(self._scaled, params.values())
                    value = value + penalty.function(weights, **strength)
                else:
                    value = value + penalty.function(
                        logits, **penalty.fixed, **strength
                    )
            return value

        self.optimizer.zero_grad(set_to_none=True)
        x, y = self._batch()
        values = self._map(
            objective,
            self.params,
            x,
            y,
            self.alpha,
            loss.numbers,
            *(p.numbers for p in self.penalties),
        )
        values.sum().backward()
        if self.scale != 1:
            for parameter in self.params.values():
                parameter.grad.mul_(1 / self.scale)
        self.optimizer.step()
        self.epoch += 1

    def _scaled(self, x: Tensor) -> Tensor:
        return x if self.scale == 1 else kernels.scale_gradient(x, self.scale)

    def _is_late(self) -> bool:
        return self.arm.later_loss is not None and self.epoch >= self.arm.later_loss[0]

    def _batch(self) -> tuple[Tensor, Tensor]:
        """The training rows of this epoch: all, or a batch drawn from (seed, epoch)."""
        x, y = self.train
        if self.arm.batch_size is None:
            return x, y
        rows = y.shape[-1]
        per_pass = max(1, rows // self.arm.batch_size)
        passes, place = divmod(self.epoch, per_pass)
        first = place * self.arm.batch_size
        chosen = []
        for _, seed in self.members:
            generator = torch.Generator().manual_seed(seed * 1_000_003 + passes)
            order = torch.randperm(rows, generator=generator)
            chosen.append(order[first : first + self.arm.batch_size].to(y.device))
        if not self.stacked:
            return x[chosen[0]], y[chosen[0]]
        return (
            torch.stack([a[i] for a, i in zip(x, chosen, strict=True)]),
            torch.stack([a[i] for a, i in zip(y, chosen, strict=True)]),
        )

    @torch.no_grad()
    def observe(self, before: dict[str, Tensor] | None) -> dict[str, Tensor]:
        """The arm's observables now; ``before``: the weights before the last step."""
        names = set(self.arm.observables)
        if self.epoch in self._rare_epochs:
            names.update(self.arm.rarely[1])
        if before is None:
            names -= observables.NEED_A_STEP
        params = {name: p.detach() for name, p in self.params.items()}
        self.model.eval()
        train_logits, train_losses = self._look(params, self.train)
        test_logits, test_losses = self._look(params, self.test)
        extra = {}
        if names & observables.NEED_CAPTURE:
            extra["train_captured"] = self._capture(params, self.train[0])
            extra["test_captured"] = self._capture(params, self.test[0])
        if names & observables.NEED_UNIT_INPUT:
            extra["unit_losses"] = {
                form: self._look(params, self.train, unit_input=form)[1]
                for form in models.UNIT_INPUTS
            }
        self.model.train()
        snapshot = observables.Snapshot(
            params=params,
            before=before or params,
            grads={name: p.grad for name, p in self.params.items()}
            if before
            else params,
            train_logits=train_logits,
            train_labels=self.train[1],
            train_losses=train_losses,
            test_logits=test_logits,
            test_labels=self.test[1],
            test_losses=test_losses,
            **extra,
        )
        ordered = [name for name in observables.OBSERVABLES if name in names]
        return observables.observe(snapshot, ordered, stacked=self.stacked)

    def _look(self, params, split, **options) -> tuple[Tensor, Tensor]:
        """Logits and per-sample losses of every member on a split."""
        loss = self.later if self._is_late() else self.losses

        def look(params, x, y, alpha, numbers):
            logits = self._logits(params, x, alpha, **options)
            return logits, loss.of(logits, y, numbers, reduction="none")

        return self._map(look, params, *split, self.alpha, loss.numbers)

    def _capture(self, params, x) -> dict[str, Any]:
        def look(params, x):
            captured = {}
            functional_call(self.model, params, (x, captured))
            return captured

        return self._map(look, params, x)

    def weights(self) -> dict[str, Tensor]:
        """A copy of the parameters as they are now."""
        return {name: p.detach().clone() for name, p in self.params.items()}

    def state(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "params": self.weights(),
            "optimizer": self.optimizer.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.epoch = state["epoch"]
        with torch.no_grad():
            for name, p in self.params.items():
                p.copy_(state["params"][name])
        self.optimizer.load_state_dict(state["optimizer"])


class _Loss:
    """A loss or penalty of the members: what they share, and numbers they may not."""

    def __init__(
        self, members: list[Member], which: str | int, device: str, stacked: bool
    ):
        specs = [_spec(arm, which) for arm, _ in members]
        self.spec = specs[0]
        if self.spec is None:
            return
        self.function = resolve(
            "penalty" if isinstance(which, int) else "loss", specs[0]
        )
        every = [options(spec) for spec in specs]
        numeric = [k for k, v in every[0].items() if isinstance(v, float)]
        self.fixed = {k: v for k, v in every[0].items() if k not in numeric}
        self.numbers = {
            k: torch.tensor([o[k] for o in every], dtype=torch.float64, device=device)
            if stacked
            else every[0][k]
            for k in numeric
        }

    def of(
        self, logits: Tensor, labels: Tensor, numbers: dict, reduction: str = "mean"
    ) -> Tensor:
        return self.function(
            logits, labels, reduction=reduction, **self.fixed, **numbers
        )


def _spec(arm: Arm, which: str | int) -> Spec | None:
    if isinstance(which, int):
        return arm.penalties[which]
    spec = getattr(arm, which)
    return spec[1] if which == "later_loss" and spec else spec


def _stack(values: list[Any], device: str) -> Any:
    """One value if all members agree, else a tensor (or tuple of such) over members."""
    if all(value == values[0] for value in values):
        return values[0]
    if isinstance(values[0], tuple):
        return tuple(_stack(list(part), device) for part in zip(*values, strict=True))
    return torch.tensor(values, dtype=torch.float64, device=device)


def train(
    members: list[Member],
    *,
    device: str = "cpu",
    stacked: bool = False,
    checkpoint: Path | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    report: Callable[[int], None] = lambda epoch: None,
) -> list[Outcome] | None:
    """Train members of one kind to the end and return their outcomes, in order.

    With ``checkpoint`` the state is saved there now and then, and training resumes from
    it bit for bit. When ``should_stop()`` turns true the state is saved and the result
    is None. TrainingError if the checkpoint is not this one's, Diverged if a loss
    becomes NaN: at once where no other member is left, else at the end, with theirs.
    """
    generator_state = torch.random.get_rng_state()
    try:
        return _train(members, device, stacked, checkpoint, should_stop, report)
    finally:
        torch.random.set_rng_state(generator_state)


def _ensemble(members, device, stacked) -> "Ensemble | minibatch.Minibatch":
    arm, seed = members[0]
    if arm.eval_batch is None:
        return Ensemble(members, device, stacked=stacked)
    if stacked:
        raise TrainingError(
            f"arm {arm.name!r} trains in batches with its own schedule and buffers, "
            "which cannot be stacked: train its members one at a time"
        )
    return minibatch.Minibatch(arm, seed, *start(arm, seed), device)


def _train(members, device, stacked, checkpoint, should_stop, report):
    _float32_means_float32()
    ensemble = _ensemble(members, device, stacked)
    arm, log = ensemble.arm, _Log(members, stacked)
    spent, began = 0.0, time.monotonic()
    if checkpoint is not None and checkpoint.exists():
        saved = _read_checkpoint(checkpoint, members, device)
        ensemble.restore(saved["state"])
        log.resume(saved["rows"], saved["kept"])
        spent = saved["seconds"]
    logged, keep = set(arm.logged_epochs()), set(arm.keep)
    last_saved = began

    def save() -> None:
        log.settle()
        seconds = spent + time.monotonic() - began
        _write_checkpoint(checkpoint, members, ensemble.state(), log, seconds)

    def record(before: dict[str, Tensor] | None) -> None:
        if ensemble.epoch in logged:
            log.add(ensemble.epoch, ensemble.observe(before))
        if ensemble.epoch in keep:
            log.kept[ensemble.epoch] = {
                k: w.cpu() for k, w in ensemble.weights().items()
            }

    if ensemble.epoch == 0 and not log.rows:
        record(None)
    reached = log.reached(arm.stop)
    while ensemble.epoch < arm.epochs and not reached:
        is_logged = ensemble.epoch + 1 in logged
        before = ensemble.weights() if is_logged else None
        ensemble.step()
        record(before)
        if ensemble.epoch % 20 and not is_logged:
            continue
        reached = is_logged and log.reached(arm.stop)
        report(ensemble.epoch)
        if checkpoint is None:
            continue
        now = time.monotonic()
        if should_stop():
            save()
            return None
        if now - last_saved > CHECKPOINT_SECONDS:
            save()
            last_saved = now
    return log.outcomes(spent + time.monotonic() - began, describe(device))


class _Log:
    """The series of all members, kept on the device until somebody needs them."""

    def __init__(self, members: list[Member], stacked: bool):
        self.members, self.stacked = members, stacked
        self.rows: list[dict[str, list[float]]] = []
        self.kept: dict[int, dict[str, Tensor]] = {}
        self.diverged: dict[int, int] = {}  # member -> epoch at which its loss was NaN
        self._waiting: list[tuple[int, dict[str, Tensor]]] = []

    def resume(self, rows: list[dict], kept: dict[int, dict[str, Tensor]]) -> None:
        """Go on from what a checkpoint has."""
        self.rows, self.kept = rows, kept
        for row in rows:
            self._look_for_nan(row)

    def add(self, epoch: int, values: dict[str, Tensor]) -> None:
        self._waiting.append((epoch, values))
        if next(iter(values.values())).device.type == "cpu":
            self.settle()

    def settle(self) -> None:
        """Bring waiting values to the CPU; Diverged if all training losses are NaN."""
        for epoch, values in self._waiting:
            row = {name: v.reshape(-1).tolist() for name, v in values.items()}
            self.rows.append({"epoch": epoch} | row)
            self._look_for_nan(self.rows[-1])
        self._waiting = []
        if len(self.diverged) == len(self.members):
            raise self._error([None] * len(self.members))

    def _look_for_nan(self, row: dict[str, Any]) -> None:
        for k, loss in enumerate(row["train_loss"]):
            if math.isnan(loss):
                self.diverged.setdefault(k, row["epoch"])

    def _error(self, outcomes: list[Outcome | None]) -> Diverged:
        lost = [self.members[k] for k in self.diverged]
        who = "; ".join(f"arm {arm.name!r}, seed {seed}" for arm, seed in lost)
        return Diverged(
            f"{who}: the training loss became NaN by epoch "
            f"{min(self.diverged.values())}; lower the learning rate or use a wider "
            "dtype (members that finished are recorded)",
            outcomes,
        )

    def reached(self, stop: float | None) -> bool:
        if stop is None:
            return False
        self.settle()
        left = set(range(len(self.members))) - set(self.diverged)
        return bool(self.rows) and all(
            any(row["test_accuracy"][k] >= stop for row in self.rows) for k in left
        )

    def outcomes(self, seconds: float, info: dict[str, Any]) -> list[Outcome]:
        self.settle()
        found = []
        for k, (arm, seed) in enumerate(self.members):
            if k in self.diverged:
                found.append(None)
                continue
            rows = [
                {n: v if n == "epoch" else v[k] for n, v in row.items()}
                for row in self.rows
            ]
            if arm.stop is not None:
                rows = _until(rows, arm.stop)
            kept = {
                epoch: {n: (w[k] if self.stacked else w) for n, w in weights.items()}
                for epoch, weights in self.kept.items()
                if arm.keep_seeds is None or seed in arm.keep_seeds
            }
            if arm.keep_dtype is not None:
                dtype = getattr(torch, arm.keep_dtype)
                kept = {
                    epoch: {n: w.to(dtype) for n, w in weights.items()}
                    for epoch, weights in kept.items()
                }
            share = seconds / len(self.members)
            about = info | {"members_together": len(self.members)}
            found.append(Outcome(arm, seed, rows, kept, share, about))
        if self.diverged:
            raise self._error(found)
        return found


def _until(rows: list[dict[str, float]], stop: float) -> list[dict[str, float]]:
    for index, row in enumerate(rows):
        if row["test_accuracy"] >= stop:
            return rows[: index + 1]
    return rows


def _float32_means_float32() -> None:
    """No TF32 anywhere (cuDNN's default is on) and repeatable scatters on a GPU."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if torch.cuda.is_available():
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = False


def describe(device: str) -> dict[str, Any]:
    """What a member was trained on, for its record."""
    name = torch.cuda.get_device_name() if device == "cuda" else _cpu_name()
    return {
        "device": device,
        "device_name": name,
        "matmul": kernels.backend() if device == "cpu" else "cuBLAS",
        "torch": torch.__version__.split("+")[0],
        "python": platform.python_version(),
    }


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def identity(members: list[Member]) -> list[str]:
    """What a checkpoint must say to be these members' own."""
    return [f"{arm.hash()}-{seed}" for arm, seed in members]


def save(content: dict[str, Any], path: Path) -> None:
    """torch.save, whole or not at all; TrainingError if it fails."""
    try:
        with files.whole(path) as temporary:
            torch.save(content, temporary)
    except (OSError, RuntimeError) as error:  # torch reports a full disk as the latter
        reason = str(error).partition("\n")[0]
        raise TrainingError(
            f"{path} cannot be written ({reason}): free some space and run the same "
            "command again to go on"
        ) from error


def _write_checkpoint(path, members, state, log, seconds) -> None:
    content = {
        "identity": identity(members),
        "matmul": kernels.backend(),
        "state": state,
        "rows": log.rows,
        "kept": log.kept,
        "seconds": seconds,
    }
    save(content, path)


def _read_checkpoint(path: Path, members: list[Member], device: str) -> dict[str, Any]:
    try:
        saved = torch.load(path, map_location=device, weights_only=True)
        found, matmul = saved["identity"], saved["matmul"]
    except Exception as error:  # a damaged zip raises half a dozen types
        raise TrainingError(
            f"the checkpoint {path} is damaged: delete it and run again"
        ) from error
    if found != identity(members):
        raise TrainingError(
            f"the checkpoint {path} belongs to another experiment ({found[0]}, not "
            f"{identity(members)[0]}): delete it or give another folder"
        )
    if device == "cpu":
        kernels.set_backend(matmul)  # the other one rounds differently
    return saved
