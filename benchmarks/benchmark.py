"""Milliseconds per step and member: a plain PyTorch loop against the learner.

The plain loop is what one would write first: nn.Linear on concatenated one-hots or
every position computed, torch's own optimizer, one run at a time. Each side has a
process of its own with one thread (the learner's tunes malloc and names its matmul
library, the plain one is as PyTorch comes). They take turns, so that whatever else the
machine does meets both, and are timed by their CPU time, to which waiting for a core
does not add. On a GPU wall time is used, members are stacked, and the learner is timed
eagerly and captured in a CUDA graph. Nothing is downloaded: a network whose images are
not in GROKBOOK_DATA is left out, and named.

    python benchmarks/benchmark.py [--epochs 20] [--rounds 7]
    python benchmarks/benchmark.py --device cuda [--seconds 60]
    python benchmarks/benchmark.py --processes 2      wall time, needs an idle machine
    python benchmarks/benchmark.py --count            operations of a step, any machine
    python benchmarks/benchmark.py --old CHECKOUT     against the learner of another one
"""

import argparse
import importlib
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
NOWHERE = "http://127.0.0.1:9"  # where nobody listens
os.environ |= dict.fromkeys(("http_proxy", "https_proxy"), NOWHERE)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import torch  # noqa: E402  (the variables above must be set first)
import torch.nn.functional as F  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from claimbook import papers  # noqa: E402
from claimbook.engine import build, device  # noqa: E402
from claimbook.engine.learner import Learner  # noqa: E402
from claimbook.errors import DataError  # noqa: E402
from claimbook.experiment import Arm, Spec  # noqa: E402
from claimbook.protocol import switched  # noqa: E402
from grokbook import losses  # noqa: E402
from grokbook.models import ResNet18, fast  # noqa: E402

STACKS = (5, 64, 1)  # members together; the papers have 5 of a kind in the median


# The plain side ----------------------------------------------------------------------


@torch.no_grad()
def plain_mlp(init_scale: float = 1.0) -> nn.Module:
    network = nn.Sequential(
        nn.Linear(226, 200, bias=False),
        nn.ReLU(),
        nn.Linear(200, 200, bias=False),
        nn.ReLU(),
        nn.Linear(200, 113, bias=False),
    )
    for weight in network.parameters():
        weight.mul_(init_scale)
    return network


class PlainTransformer(nn.Module):
    """One block without norms, every position computed, read at the last one."""

    def __init__(self, vocabulary: int, positions: int, hidden: tuple[int, ...]):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 128)
        self.position = nn.Parameter(torch.randn(positions, 128) / math.sqrt(128))
        self.query, self.key, self.value, self.output = (
            nn.Linear(128, 128, bias=False) for _ in range(4)
        )
        sizes = [128, *hidden, 128]
        pairs = zip(sizes, sizes[1:], strict=False)
        self.mlp = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in pairs)
        self.unembedding = nn.Linear(128, vocabulary, bias=False)
        mask = torch.ones(positions, positions, dtype=torch.bool).triu(1)
        self.register_buffer("later", mask)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens) + self.position
        query, key, value = (
            layer(x).unflatten(-1, (4, 32)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(32)
        mixed = scores.masked_fill(self.later, -math.inf).softmax(-1) @ value
        x = x + self.output(mixed.transpose(1, 2).flatten(-2))
        hidden = x
        for layer in self.mlp[:-1]:
            hidden = layer(hidden).relu()
        x = x + self.mlp[-1](hidden)
        return self.unembedding(x)[:, -1]


class PlainEncoder(nn.Module):
    """PyTorch's own pre-norm encoder layer, read at the last position."""

    def __init__(self, vocabulary: int, positions: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 128)
        self.position = nn.Parameter(0.02 * torch.randn(positions, 128))
        self.layer = nn.TransformerEncoderLayer(
            128, 4, 512, 0.0, F.gelu, batch_first=True, norm_first=True
        )
        self.unembedding = nn.Linear(128, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.layer(self.embedding(tokens) + self.position)
        return self.unembedding(x)[:, -1].double()


class PlainLoop:
    """The loop one would write first, for one member, in batches where asked to."""

    def __init__(self, model: nn.Module, x: Tensor, y: Tensor, size: int | None):
        self.model, self.x, self.y, self.size = model.to(x.device), x, y, size
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=5e-4, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.0
        )

    def step(self) -> None:
        x, y = self.x, self.y
        if self.size:
            rows = torch.randperm(len(y), device=y.device)[: self.size]
            x, y = x[rows], y[rows]
        self.optimizer.zero_grad()
        F.cross_entropy(self.model(x), y).backward()
        self.optimizer.step()


# The engine's side -------------------------------------------------------------------


def arm(dataset: Spec, model: Spec, **changes) -> Arm:
    settings = {
        "loss": Spec("softmax_cross_entropy", dtype="float32"),
        "optimizer": Spec("adamw", lr=5e-4, betas=(0.9, 0.99), eps=1e-8),
        "epochs": 100_000,
        "log": 100_000,
    }
    return Arm("benchmark", dataset, model, **settings | changes)


def modular(fraction: float, operation: str = "add", p: int = 113, **data) -> Spec:
    return Spec("modular", p=p, train_fraction=fraction, operation=operation, **data)


MLP = Spec("mlp", classes=113, vocabulary=113, widths=(200, 200), bias=False)
NO_NORM = Spec(
    "transformer", classes=114, vocabulary=114, hidden=(512, 512), causal=True
)
REFERENCE = Spec(
    "transformer", classes=114, vocabulary=114, positions=3, hidden=(512,), causal=True
)
DECODER = Spec(
    "transformer", classes=98, vocabulary=98, positions=3, hidden=(512,), causal=True
)
LARGE = 14.0  # times the initial weights
# name: (arm of the learner, plain network)
CASES = {
    "MLP, Prieto Figure 2": (arm(modular(0.4), MLP), plain_mlp),
    "MLP, subnormal gradients": (
        arm(modular(0.4), MLP, init_scale=LARGE),
        lambda: plain_mlp(LARGE),
    ),
    "transformer, Prieto Figure 6": (
        arm(modular(0.4, "subtract"), NO_NORM),
        lambda: PlainTransformer(114, 2, (512, 512)),
    ),
    "transformer, a b =": (
        arm(modular(0.3, equals=True), REFERENCE),
        lambda: PlainTransformer(114, 3, (512,)),
    ),
    "transformer, Singh M+A*": (
        papers.get("singh2026/fig02", "paper").arm("M+A*"),
        lambda: PlainEncoder(114, 3),
    ),
    "MLP with a penalty on activations": (
        arm(modular(0.4), MLP, penalties=(Spec("radius", strength=0.01),)),
        plain_mlp,
    ),
    "decoder mod 97, batches of 512": (
        arm(modular(0.5, p=97, equals=True), DECODER, batch_size=512),
        lambda: PlainTransformer(98, 3, (512,)),
    ),
    "CIFAR MLP of width 512, 2,000 images": (
        arm(
            Spec("cifar10", train_samples=2000, test_samples=100),
            Spec("mlp", classes=10, features=3072, widths=(512, 512)),
        ),
        lambda: plain_images(512),
    ),
    "CIFAR MLP of five hidden layers, 200 images": (
        papers.get("liu2026/fig01", "paper").arm("float32"),
        lambda: plain_images(512, hidden=5),
    ),
    "ResNet-18 with BatchNorm, batches of 32": (
        arm(
            Spec("cifar10", train_samples=256, test_samples=32),
            Spec("resnet18", classes=10, stem="cifar", width=16),
            batch_size=32,
        ),
        lambda: ResNet18(10, stem="cifar", width=16),
    ),
}


def plain_images(width: int, hidden: int = 2) -> nn.Module:
    sizes = [3072, *[width] * hidden, 10]
    layers: list[nn.Module] = [nn.Flatten()]
    for a, b in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def refuse_download(name: str) -> None:
    """Stand in for the download of a data file."""
    raise DataError(
        f"{name} is not in GROKBOOK_DATA, and a benchmark downloads nothing"
    )


def networks(wanted: Sequence[str]) -> Iterator[str]:
    """Yield the names of those networks whose data are here; print the others."""
    importlib.import_module("grokbook.datasets.fetch")._download = refuse_download
    for name in wanted:
        try:
            build.start(CASES[name][0], 0)
        except DataError as error:
            print(f"left out: {name}: {error}", flush=True)
        else:
            yield name


def both(name: str, on: str, members: int = 1):
    """(plain loop, learner) with the same rows."""
    settings, network = CASES[name]
    stacked = on == "cuda"
    ours = Learner([(settings, seed) for seed in range(members)], on, stacked=stacked)
    x, y = (t[0] if stacked else t for t in ours.feed.train)
    if settings.model.options.get("vocabulary") and settings.model.name == "mlp":
        x = F.one_hot(x, 113).flatten(1).float()
    torch.manual_seed(0)
    return PlainLoop(network(), x, y, settings.batch_size), ours


# Timing ------------------------------------------------------------------------------


def seconds(step, epochs: int, on: str) -> float:
    """Seconds per epoch: CPU time of this process, or wall time on a GPU."""
    if on == "cpu":
        start = time.process_time()
        for _ in range(epochs):
            step()
        return (time.process_time() - start) / epochs
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(epochs):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / epochs


def forward_and_backward_flop(name: str) -> float:
    """FLOP of the products over all rows in one step of one member of the learner.

    Tables are looked up, and a transformer's query, key and value have one row per
    token, not per example: neither counts. Of a ResNet the convolutions are counted.
    """
    settings = CASES[name][0]
    data, model = build.start(settings, 0)
    rows = settings.batch_size or len(data.y_train)
    if settings.model.name == "resnet18":
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model.eval()(data.x_train[:1])
        return 3.0 * counter.get_total_flops() * rows
    over_rows = [*(f"layers.{k}" for k in range(1, 6)), "output", "mlp", "unembedding"]
    weights = [
        parameter.numel()
        for key, parameter in model.named_parameters()
        if any(part in key for part in over_rows)
    ]
    flop = 6 * sum(weights)
    if "features" in settings.model.options:  # no gradient goes to the pixels
        flop += 4 * model.layers[0].weight.numel()
    return rows * flop


def peak(on: str) -> float:
    """Measured float32 rate of a 2048^3 product by the library in use, FLOP/s."""
    x, weight = (torch.randn(2048, 2048, device=on) for _ in range(2))
    rates = []
    for _ in range(7):
        spent = seconds(lambda: fast.linear(x, weight), 2, on)
        rates.append(2 * 2048**3 / spent)
    return max(rates)


def measure(name: str, options: argparse.Namespace, top: float) -> None:
    """Print one line: the two sides in turns, and the median of their paired ratios."""
    other = ("old", options.old) if options.old else ("plain", None)
    sides = [Child(*other, name), Child("learner", None, name)]
    times = []
    for round_ in range(options.rounds + 1):
        pair = tuple(side.cpu_seconds(options.epochs) for side in sides)
        times += [pair] if round_ else []  # the first warms up
    row(name, times, forward_and_backward_flop(name), top)


def measure_penalty(options: argparse.Namespace) -> None:
    """Print what the penalty of Tiwari et al. costs a step, at both scales."""
    for scale in ("laptop", "paper"):
        experiment = papers.get("tiwari2026/fig01", scale)
        sides = [
            Learner([(experiment.arm(name), 0)]).step
            for name in ("penalty", "baseline")
        ]
        name = f"MLP mod 97 of the {scale} scale with the penalty, against without"
        against(name, sides, 10, 3 * options.rounds)


def against(name: str, sides: Sequence[Callable], epochs: int, rounds: int) -> None:
    """Print the median of paired ratios of CPU time, first side to second."""
    ratios = []
    for round_ in range(rounds + 1):
        first, second = (seconds(step, epochs, "cpu") for step in sides)
        ratios += [first / second] if round_ else []  # the first warms up
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    print(f"\n{name}: {middle:.3f} ({low:.3f} to {high:.3f})")


def row(name: str, times: list[tuple[float, ...]], flop: float, top: float) -> None:
    other_ms, ours_ms = (1000 * statistics.median(t) for t in zip(*times, strict=True))
    ratios = sorted(a / b for a, b in times)
    share = flop / (ours_ms / 1000) / top
    print(
        f"| {name} | {other_ms:.2f} | {ours_ms:.2f} | {statistics.median(ratios):.2f} "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f}) | {share:.0%} |",
        flush=True,
    )


def measure_gpu(name: str, members: int, options: argparse.Namespace, top: float):
    """Print two lines: the learner step by step, and captured."""
    plain, ours = both(name, "cuda", members)
    objective = ours.phase().objective

    def eager() -> None:
        ours.prepare_step()
        ours.run_step(objective)
        ours.step_count += 1

    flop = forward_and_backward_flop(name)
    for how, step in (("eager", eager), ("captured", ours.step)):
        times = []
        for round_ in range(options.rounds + 1):
            pair = [
                seconds(side, options.epochs, "cuda") for side in (plain.step, step)
            ]
            times += [(pair[0], pair[1] / members)] if round_ else []
        row(f"{name}, {members} stacked, {how}", times, flop, top)


class Child:
    """One side of one case in a process of its own, with one thread."""

    def __init__(self, side: str, checkout: str | None, name: str):
        script = Path(checkout or Path(__file__).parents[1]) / "benchmarks/benchmark.py"
        role = "learner" if side == "old" else side
        words = [sys.executable, str(script), "--child", role, "--case", name]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.process.stdout.readline()  # ready

    def ask(self, epochs: int) -> None:
        self.process.stdin.write(f"{epochs}\n")
        self.process.stdin.flush()

    def answer(self) -> tuple[float, float]:
        """CPU and wall seconds per epoch of what was asked."""
        cpu, wall = self.process.stdout.readline().split()
        return float(cpu), float(wall)

    def cpu_seconds(self, epochs: int) -> float:
        self.ask(epochs)
        return self.answer()[0]


def measure_stacks(cases: Sequence[str], options: argparse.Namespace, top: float):
    """Time all cases on a GPU at each size of a stack, as far as the time goes."""
    end = time.time() + options.seconds
    for members in STACKS:
        for name in cases:
            if time.time() > end:
                print(f"| {name}, {members} stacked | left out: no time |", flush=True)
                continue
            torch.cuda.reset_peak_memory_stats()
            measure_gpu(name, members, options, top)
            memory = torch.cuda.max_memory_allocated() / 1e6
            print(f"| the same | {memory:.0f} MB of the GPU at most |", flush=True)


def in_processes(options: argparse.Namespace) -> None:
    """Wall time per member and epoch with one process of one thread per core."""
    print("| network | plain, ms | learner, ms | ratio |\n| --- | --- | --- | --- |")
    for name in networks([*CASES]):
        walls = {"plain": [], "learner": []}
        every = {
            side: [Child(side, None, name) for _ in range(options.processes)]
            for side in walls
        }
        for _ in range(options.rounds):
            for side, found in walls.items():
                for one in every[side]:
                    one.ask(options.epochs)
                slowest = max(one.answer()[1] for one in every[side])
                found.append(1000 * slowest / options.processes)
        plain, ours = (statistics.median(found) for found in walls.values())
        ratios = [a / b for a, b in zip(*walls.values(), strict=True)]
        ratio = statistics.median(ratios)
        print(f"| {name} | {plain:.2f} | {ours:.2f} | {ratio:.2f} |", flush=True)


def child(options: argparse.Namespace) -> None:
    """One side in this process: warm up, then time as many epochs as each line asks."""
    torch.set_num_threads(1)
    library = "torch"
    if options.child == "learner":
        device.prepare_cpu()
        library = device.library()
    with switched(onednn=library == "onednn"):
        plain, ours = both(options.case, "cpu")
        step = plain.step if options.child == "plain" else ours.step
        seconds(step, 3, "cpu")
        print("ready", flush=True)
        for line in sys.stdin:
            start = time.perf_counter()
            cpu = seconds(step, int(line), "cpu")
            print(cpu, (time.perf_counter() - start) / int(line), flush=True)


class Tally(TorchDispatchMode):
    """Operations of a step, and the bytes that they read and write at most.

    A list operation is one kernel on a GPU and counts once; views count nothing.
    """

    VIEWS = (
        *("view", "_unsafe_view", "_reshape_alias", "detach", "expand", "permute"),
        *("transpose", "t.", "slice", "select", "unsqueeze", "squeeze", "alias"),
        *("unbind", "as_strided", "split", "profiler"),
    )

    def __init__(self):
        super().__init__()
        self.calls, self.bytes = 0, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        name = str(function).removeprefix("aten.")
        if not name.startswith(self.VIEWS):
            self.calls += 1
            for part in torch.utils._pytree.tree_leaves((args, kwargs, found)):
                if isinstance(part, Tensor):
                    self.bytes += part.numel() * part.element_size()
        return found


def count(members: int = 5) -> None:
    """Operations and memory traffic of a stacked step, as a GPU would be given it."""
    losses.on_gpu = lambda _: True
    print("| network | operations | MB per member |\n| --- | --- | --- |")
    for name in networks([*CASES]):
        settings, _ = CASES[name]
        ours = Learner(
            [(settings, seed) for seed in range(members)],
            stacked=True,
        )
        objective = ours.phase().objective
        ours.prepare_step()
        with Tally() as tally:
            ours.run_step(objective)
        mega = tally.bytes / members / 1e6
        print(f"| {name} | {tally.calls} | {mega:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=20, help="per round and side")
    parser.add_argument("--rounds", type=int, default=7, help="pairs, after a warm-up")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seconds", type=float, default=math.inf, help="on a GPU")
    parser.add_argument("--processes", type=int, help="time this many at once instead")
    parser.add_argument("--count", action="store_true", help="count, do not time")
    parser.add_argument("--old", help="a checkout whose learner takes the other side")
    parser.add_argument("--case", choices=CASES, help="one network only")
    parser.add_argument("--child", choices=("plain", "learner"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options)
    if options.count:
        return count()
    library = device.library()
    if options.device == "cuda":
        device.choose_device("cuda")
        device.prepare_gpu()
        library = "torch"
    else:
        device.prepare_cpu()
    about = device.describe(options.device)
    print(
        f"{about['device_name']}, torch {about['torch']}, Python {about['python']}, "
        f"{about['matmul']}, {date.today()}"
    )
    if options.processes:
        return in_processes(options)
    with switched(onednn=library == "onednn"):
        top = peak(options.device)
    print(f"float32 product of 2048^3: {top / 1e9:.0f} GFLOP/s\n")
    other = "old" if options.old else "plain"
    print(f"| network | {other}, ms | learner, ms | ratio (range) | share of peak |")
    print("| --- | --- | --- | --- | --- |")
    cases = [*networks([options.case] if options.case else [*CASES])]
    if options.device == "cuda":
        measure_stacks(cases, options, top)
        return None
    for name in cases:
        measure(name, options, top)
    if not options.case:
        with switched(onednn=library == "onednn"):
            measure_penalty(options)
    return None


if __name__ == "__main__":
    main()
