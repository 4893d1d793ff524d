"""Milliseconds per epoch and member: a plain PyTorch loop against this engine.

Five cases: the MLP of Prieto et al. (2025), Figure 2 at 40 %; the same with weights so
large that a sixth of the gradients at its logits are subnormal, as late in a softmax
collapse; the transformer without norms of their Figure 6 (two tokens, two hidden
matrices); the one-layer transformer on "a b =" that much grokking work starts from; and
that of Singh et al. (2026) with layer norm before attention and MLP, GELU and a float64
loss. The plain loop is what one would write first: nn.Linear on concatenated one-hots
or every position computed, torch.optim.AdamW, one run at a time. Each side has a
process of its own with one thread (the engine's tunes malloc and the matmul backend,
the plain one is as PyTorch comes). They take turns, so that whatever else the machine
does meets both, and are timed by their CPU time, to which waiting for a core does not
add. On a GPU wall time is used and members are stacked.

    python benchmarks/benchmark.py [--epochs 20] [--rounds 7] [--device cuda]
    python benchmarks/benchmark.py --processes 2      wall time, needs an idle machine
"""

import argparse
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import date
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import torch  # noqa: E402  (the variables above must be set first)
import torch.nn.functional as F  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from grokbook import kernels, papers, training  # noqa: E402
from grokbook.experiment import Arm, Spec  # noqa: E402

STACKS = (1, 8, 64)


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
    """The loop one would write first, for one member."""

    def __init__(self, model: nn.Module, x: Tensor, y: Tensor, device: str):
        self.model = model.to(device)
        self.x, self.y = x.to(device), y.to(device)
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=5e-4, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.0
        )

    def step(self) -> None:
        self.optimizer.zero_grad()
        F.cross_entropy(self.model(self.x), self.y).backward()
        self.optimizer.step()


# The engine's side -------------------------------------------------------------------


def arm(
    fraction: float, operation: str, model: Spec, init_scale: float = 1.0, **data
) -> Arm:
    return Arm(
        "benchmark",
        Spec("modular", p=113, train_fraction=fraction, operation=operation, **data),
        model,
        Spec("softmax_cross_entropy", dtype="float32"),
        Spec("adamw", lr=5e-4, betas=(0.9, 0.99), eps=1e-8),
        epochs=1000,
        log=1000,
        init_scale=init_scale,
    )


MLP = Spec("mlp", classes=113, vocabulary=113, widths=(200, 200), bias=False)
NO_NORM = Spec(
    "transformer", classes=114, vocabulary=114, hidden=(512, 512), causal=True
)
REFERENCE = Spec(
    "transformer", classes=114, vocabulary=114, positions=3, hidden=(512,), causal=True
)
LARGE = 14.0  # times the initial weights
# name: (arm of the engine, plain network)
CASES = {
    "MLP, Prieto Figure 2": (arm(0.4, "add", MLP), plain_mlp),
    "MLP, subnormal gradients": (
        arm(0.4, "add", MLP, LARGE),
        lambda: plain_mlp(LARGE),
    ),
    "transformer, Prieto Figure 6": (
        arm(0.4, "subtract", NO_NORM),
        lambda: PlainTransformer(114, 2, (512, 512)),
    ),
    "transformer, a b =": (
        arm(0.3, "add", REFERENCE, equals=True),
        lambda: PlainTransformer(114, 3, (512,)),
    ),
    "transformer, Singh M+A*": (
        papers.get("singh2026/fig02", "paper").arm("M+A*"),
        lambda: PlainEncoder(114, 3),
    ),
}


def both(name: str, device: str, members: int = 1):
    """(plain loop, engine) with the same rows."""
    settings, network = CASES[name]
    stacked = device == "cuda"
    ours = training.Ensemble(
        [(settings, seed) for seed in range(members)], device, stacked=stacked
    )
    x, y = (t[0] if stacked else t for t in ours.train)
    if settings.model.name == "mlp":
        x = F.one_hot(x, 113).flatten(1).float()
    torch.manual_seed(0)
    return PlainLoop(network(), x, y, device), ours


# Timing ------------------------------------------------------------------------------


def seconds(step, epochs: int, device: str) -> float:
    """Seconds per epoch: CPU time of this process, or wall time on a GPU."""
    if device == "cpu":
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
    """FLOP of the products over all rows in one epoch of one member of the engine.

    Tables are looked up, and a transformer's query, key and value have one row per
    token, not per example: neither counts.
    """
    data, model = training.start(CASES[name][0], 0)
    over_rows = ("layers.1", "layers.2", "output", "mlp", "unembedding")
    weights = [
        parameter.numel()
        for key, parameter in model.named_parameters()
        if any(part in key for part in over_rows)
    ]
    return 6 * len(data.y_train) * sum(weights)


def peak(device: str) -> float:
    """Measured float32 rate of a 2048^3 product by the engine's backend, FLOP/s."""
    x, weight = (torch.randn(2048, 2048, device=device) for _ in range(2))
    rates = []
    for _ in range(7):
        spent = seconds(lambda: kernels.linear(x, weight), 2, device)
        rates.append(2 * 2048**3 / spent)
    return max(rates)


def measure(name: str, members: int, options: argparse.Namespace, top: float) -> None:
    """Print one line: the two sides in turns, and the median of their paired ratios."""
    if options.device == "cpu":
        sides = [Child(side, name) for side in ("plain", "engine")]
        clocks = [side.cpu_seconds for side in sides]
    else:
        sides = both(name, "cuda", members)
        clocks = [partial(seconds, side.step, device="cuda") for side in sides]
    times = []
    for round_ in range(options.rounds + 1):
        plain, ours = (clock(epochs=options.epochs) for clock in clocks)
        times += [(plain, ours / members)] if round_ else []  # the first warms up
    plain_ms, ours_ms = (1000 * statistics.median(t) for t in zip(*times, strict=True))
    ratios = sorted(a / b for a, b in times)
    share = forward_and_backward_flop(name) / (ours_ms / 1000) / top
    label = name if options.device == "cpu" else f"{name}, {members} stacked"
    print(
        f"| {label} | {plain_ms:.2f} | {ours_ms:.2f} | {statistics.median(ratios):.2f} "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f}) | {share:.0%} |",
        flush=True,
    )


class Child:
    """One side of one case in a process of its own, with one thread."""

    def __init__(self, side: str, name: str):
        words = [sys.executable, __file__, "--child", side, "--case", name]
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


def in_processes(options: argparse.Namespace) -> None:
    """Wall time per member and epoch with one process of one thread per core."""
    print("| network | plain, ms | engine, ms | ratio |\n| --- | --- | --- | --- |")
    for name in CASES:
        walls = {"plain": [], "engine": []}
        every = {
            side: [Child(side, name) for _ in range(options.processes)]
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
    if options.child == "plain":
        torch.set_num_threads(1)
    else:
        kernels.prepare_cpu()
    plain, ours = both(options.case, "cpu")
    step = plain.step if options.child == "plain" else ours.step
    seconds(step, 3, "cpu")
    print("ready", flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        cpu = seconds(step, int(line), "cpu")
        print(cpu, (time.perf_counter() - start) / int(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=20, help="per round and side")
    parser.add_argument("--rounds", type=int, default=7, help="pairs, after a warm-up")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--processes", type=int, help="time this many at once instead")
    parser.add_argument("--case", choices=CASES, help="one network only")
    parser.add_argument("--child", choices=("plain", "engine"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options)
    if options.device == "cpu":
        backend = kernels.prepare_cpu()
    else:
        training.choose_device("cuda")
        training._float32_means_float32()
        backend = "cuBLAS"
    about = training.describe(options.device)
    print(
        f"{about['device_name']}, torch {about['torch']}, Python "
        f"{platform.python_version()}, {backend}, {date.today()}"
    )
    if options.processes:
        return in_processes(options)
    top = peak(options.device)
    print(f"float32 product of 2048^3: {top / 1e9:.0f} GFLOP/s\n")
    print("| network | plain, ms | engine, ms | ratio (range) | share of peak |")
    print("| --- | --- | --- | --- | --- |")
    for name in [options.case] if options.case else CASES:
        for members in STACKS if options.device == "cuda" else (1,):
            measure(name, members, options, top)


if __name__ == "__main__":
    main()
