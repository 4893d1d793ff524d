"""The parts of a learner: data, initial networks, loss terms, optimizer, batches.

They are made from arms, after a check that names the first fault of an arm in one
sentence. What a member gets depends on its arm and seed alone (a batch on the step
too), whoever else is in the stack.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from claimbook import canonical, names, observing
from claimbook.errors import BookError, TrainingError, choose
from claimbook.experiment import Arm, Spec
from claimbook.names import module_of, options, resolve
from claimbook.protocol import Data

Params = dict[str, Tensor]
Batch = tuple[Tensor, Tensor]  # inputs and labels, (members, rows, ...) of a stack
INDICES_AT_ONCE = 2**21  # row indices that are drawn ahead for a GPU: 16 MB


class Term(NamedTuple):
    """A loss or a penalty and its options, which its ``function`` takes by keyword.

    An option is a tensor (members,) where the members of a stack differ. A loss is a
    function of (logits, labels, *, reduction, **options), and a penalty one of
    (forward, **options), where ``forward`` is a `protocol.Forward`.
    """

    function: Callable[..., Tensor]
    options: dict[str, Any]


class Objective(NamedTuple):
    """The terms of what a step minimises: the loss plus all penalties."""

    loss: Term
    penalties: tuple[Term, ...] = ()


class Phase(NamedTuple):
    """The steps of a training from ``first_step`` on, which share an objective."""

    first_step: int
    objective: Objective


def check(arm: Arm) -> None:
    """Raise BookError, in one sentence, for an arm whose parts cannot be made.

    Names and options of all specs are checked. What needs no data is made as well, and
    so refuses wrong values: losses, schedule, and on torch's "meta" device, where
    weights take no memory, network, optimizer and wrappers. `check_rows` asks whether
    network and data fit.
    """
    for dtype in filter(None, (arm.dtype, arm.keep_dtype)):
        names.dtype(dtype)  # raises for an unknown one
    if arm.autocast:
        choose("dtype for autocast", arm.autocast, ("float16", "bfloat16"))
    for field, spec in arm.specs():
        kind = canonical.KINDS[field]
        names.check_options(kind, spec)
        if kind == "loss":  # of one row with two classes
            _call(kind, spec, torch.zeros(1, 2), torch.zeros(1, dtype=torch.int64))
    with torch.device("meta"):
        model = _call("model", arm.model)
        rule = _call("optimizer", arm.optimizer, [*model.named_parameters()])
        for spec in arm.wrappers:
            _call("wrapper", spec, rule)
    if arm.schedule:
        _call("schedule", arm.schedule, 0, arm.epochs)
    _check_observables(arm, getattr(model, "places", ()))


def _call(kind: str, spec: Spec, *arguments: Any) -> Any:
    """Return what the function or class of a spec makes of ``arguments``.

    It gets them in front of the options of the spec. ``kind`` is a value of
    `canonical.KINDS`. Raises BookError, which names the spec, if an option is refused.
    """
    with refusing(kind, spec):
        return resolve(kind, spec)(*arguments, **options(spec))


@contextmanager
def refusing(kind: str, spec: Spec) -> Iterator[None]:
    """Turn a TypeError or ValueError of the block into a BookError that names a spec.

    Both are what functions raise for options that they do not take. ``kind`` is a value
    of `canonical.KINDS`.
    """
    try:
        yield
    except BookError:  # some are ValueErrors too, and have a sentence of their own
        raise
    except (TypeError, ValueError) as error:
        raise BookError(f"{kind} {spec.name!r} of an arm: {error}") from error


def _check_observables(arm: Arm, places: Iterable[str]) -> None:
    """Raise BookError if an arm names observables that it cannot have, or lacks some.

    ``places`` are the names of the taps of its network. At every log, and not rarely
    alone, an arm has to measure its training loss, which tells a divergence, and with
    ``stop`` the test accuracy.
    """
    registered = names.observables()
    for name in sorted({*arm.observables, *arm.rare_observables}):
        needs = choose("observable", name, registered).needs
        # names of taps or their beginnings, of which one that the network has will do
        taps = needs - observing.FIELDS - observing.VARIANTS.keys()
        if taps and not observing.tap_names(taps, places):
            raise BookError(
                f"observable {name!r} reads {' or '.join(sorted(taps))} of a network, "
                f"but that of arm {arm.name!r} has {', '.join(places) or 'no places'}"
            )
    needed = ["train_loss"] if arm.stop is None else ["train_loss", "test_accuracy"]
    for column in needed:
        if column not in observing.stems(arm.observables):
            # observables that the arm could name
            makers = [
                name
                for name, observable in registered.items()
                if column in observable.makes
            ]
            raise BookError(
                f"arm {arm.name!r} has to measure {column} at every log: add "
                f"{' or '.join(makers)} to its observables"
            )


def check_rows(arm: Arm, data: Data, model: torch.nn.Module) -> None:
    """Raise BookError, in one sentence, if a network does not fit its data set.

    The network has to take the first training row and have a class for each label; if
    it has an option ``vocabulary``, it has to have an embedding for each token. Data
    are those of one member. ``model`` is the network in evaluation mode, as batch norm
    cannot train on the one row that is tried.
    """
    pairs = arm.model.options.items()
    option_words = ", ".join(f"{name}={value!r}" for name, value in pairs)
    network = f"arm {arm.name!r}: network {arm.model.name!r}"
    if pairs:
        network += f" with {option_words}"
    fault = f"{network} does not fit data set {arm.dataset.name!r}, which has"
    if len(data.y_train) == 0:
        raise BookError(f"{fault} no training rows: give it one at least")
    # with those that it has by default
    chosen = canonical.options("model", arm.model.name, arm.model.options)
    vocabulary = chosen.get("vocabulary")
    largest_token = _largest_number(data.x_train, data.x_test)
    if vocabulary and largest_token >= vocabulary:
        remedy = f"give vocabulary={largest_token + 1}"
        raise BookError(f"{fault} tokens up to {largest_token}: {remedy}")
    # (1, ...), as an evaluation gets it, augmented if the arm says so
    feed = Feed(arm, [0], [data], device="cpu", stacked=False)
    row, _ = feed.rows("train", torch.arange(1))
    try:
        with torch.no_grad():  # and without a tap, None
            class_count = model(row, None).shape[-1]
    except (RuntimeError, ValueError, IndexError) as error:
        reason = str(error).splitlines()[0]
        refusal = f"cannot take rows of shape {(*row.shape[1:],)} from data set"
        raise BookError(
            f"{network} {refusal} {arm.dataset.name!r}: {reason}"
        ) from error
    largest_label = _largest_number(data.y_train, data.y_test)
    if largest_label >= class_count:
        remedy = f"give classes={largest_label + 1}"
        raise BookError(f"{fault} labels up to {largest_label}: {remedy}")


def _largest_number(*values: Any) -> int:
    """Return the largest number in some tensors of whole numbers; -1 without any.

    Empty tensors and those of floats have none, nor have inputs that are not a tensor,
    such as images that are read later.
    """
    tensors = [value for value in values if isinstance(value, Tensor)]
    whole = [t for t in tensors if len(t) and not t.is_floating_point()]
    return max((int(tensor.max()) for tensor in whole), default=-1)


def start(arm: Arm, seed: int) -> tuple[Data, torch.nn.Module]:
    """Return the data and the initial network of one member.

    They are drawn in this order from torch's global generator, seeded with the member's
    seed, as in the official code of Prieto et al. (2025): seed 42 gives their split.
    The state of the generator stays as it was. The weights are those that the network
    draws times ``init_scale``, in the arm's dtype and on the CPU.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        data = resolve("dataset", arm.dataset)(**options(arm.dataset))
        model = resolve("model", arm.model)(**options(arm.model))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(arm.init_scale)
    return data, model.to(getattr(torch, arm.dtype))


def stack_key(arm: Arm) -> str:
    """Return, as JSON, the settings that arms must share for a stack of their members.

    These are all settings but the name and ``alpha``, a factor on the logits that may
    differ by member. Each float among the options of losses, optimizer and penalties is
    replaced by "a number", as a stack holds it, where members differ, in a tensor. Only
    betas stay as they are. A number that is written without a point is no float, so
    members of lr=1 and lr=1.0 are not stacked. Whether members can be stacked at all is
    asked of `trains_alone`.
    """
    plain = arm.as_plain() | {"name": None, "alpha": None}
    for field in {"loss", "optimizer", "penalties", "later_loss"} & plain.keys():
        plain[field] = _without_numbers(plain[field])
    return json.dumps(plain, sort_keys=True)


def trains_alone(arm: Arm) -> bool:
    """Return whether the members of an arm have to be trained one by one.

    They cannot be stacked if a step draws random numbers, if they are evaluated in
    batches, or if their optimizer has no form for a stack, as Muon has none.
    """
    with torch.device("meta"):  # where weights take no memory
        network = resolve("model", arm.model)(**options(arm.model))
    has_stack = resolve("optimizer", arm.optimizer) in stacked_forms()
    return has_random_steps(arm, network) or bool(arm.eval_batch) or not has_stack


def has_random_steps(arm: Arm, network: torch.nn.Module) -> bool:
    """Return whether a step of an arm may draw random numbers.

    Augmentation and dropout do so, and code that is not the book's may. ``network`` is
    that of the arm; where it lies does not matter.
    """
    modules = network.modules()
    drops = any(isinstance(m, torch.nn.Dropout) and m.p > 0 for m in modules)
    is_foreign = any(":" in spec.name for _, spec in arm.specs())
    return bool(arm.augment) or drops or is_foreign


def stacked_forms() -> dict[Any, Any]:
    """Return {class of an optimizer for one member: the class that steps a stack}.

    It is ``STACKED`` of the optimizers' module, or empty if that module has no
    ``STACKED``: then no member is stacked, and none trains on a GPU.
    """
    return getattr(module_of("optimizer"), "STACKED", {})


def _without_numbers(plain: Any) -> Any:
    """Return plain data with each float in it replaced by "a number".

    All that is called "betas" stays.
    """
    if isinstance(plain, dict):
        # a step with a tensor of betas rounds otherwise than one with a float
        return {k: v if k == "betas" else _without_numbers(v) for k, v in plain.items()}
    if isinstance(plain, list):
        return [_without_numbers(part) for part in plain]
    return "a number" if isinstance(plain, float) else plain


def phases(arms: Sequence[Arm], device: str) -> list[Phase]:
    """Return every phase of a training, in ascending order of their first steps.

    ``arms`` has one arm for each member, all of one `stack_key`. There is one phase,
    and a second if the arms have a ``later_loss``, which then takes the place of their
    loss. Both have the same penalties.
    """

    def term(kind: str, specs: Sequence[Spec]) -> Term:
        """Return the term of some specs, one per member, that name one function."""
        return Term(resolve(kind, specs[0]), _stack_options(specs, device))

    # of each penalty the specs of all members; nothing if the arms have none
    penalty_specs = zip(*(arm.penalties for arm in arms), strict=True)
    penalties = tuple(term("penalty", specs) for specs in penalty_specs)
    loss = term("loss", [arm.loss for arm in arms])
    result = [Phase(0, Objective(loss, penalties))]
    if later := [arm.later_loss for arm in arms if arm.later_loss]:
        later_term = term("loss", [spec for _, spec in later])
        result.append(Phase(later[0].epoch, Objective(later_term, penalties)))
    return result


def _stack_options(specs: Sequence[Spec], device: str) -> dict[str, Any]:
    """Merge the options of specs, one spec per member, into those of a stack.

    All specs have the same option names. An option is the value that all members share,
    or else a float64 tensor (members,).
    """
    member_options = [options(spec) for spec in specs]
    return {
        name: one_or_tensor([chosen[name] for chosen in member_options], device)
        for name in member_options[0]
    }


def one_or_tensor(values: list[Any], device: str) -> Any:
    """Return the value that all members share, or else a float64 tensor (members,).

    ``values`` has one for each member; those that differ are numbers.
    """
    if all(value == values[0] for value in values):
        return values[0]
    return torch.tensor(values, dtype=torch.float64, device=device)


def optimizer(
    arms: Sequence[Arm], params: Params, device: str, stacked: bool
) -> torch.optim.Optimizer:
    """Return the optimizer of the parameters, changed by the wrappers of the arms.

    ``arms`` has one arm for each member, all of one `stack_key`. For one member on a
    CPU the optimizer is of the class that the arms name, with its options. For a stack,
    or on another device, it is of the class that `stacked_forms` has for it, whose step
    can be captured. Raises TrainingError if there is none.
    """
    rule = resolve("optimizer", arms[0].optimizer)
    rule_options = _stack_options([arm.optimizer for arm in arms], device)
    named_params = list(params.items())
    if stacked or device != "cpu":
        if rule not in stacked_forms():
            name = arms[0].optimizer.name
            raise TrainingError(f"{name} trains on a CPU alone: give `--device cpu`")
        result = stacked_forms()[rule](named_params, **rule_options, stacked=stacked)
    else:
        result = rule(named_params, **rule_options)
    for wrapper in arms[0].wrappers:  # the same for all arms, as is their order
        result = resolve("wrapper", wrapper)(result, **options(wrapper))
    return result


@dataclass(eq=False)
class Feed:
    """The rows of every step and measurement: whole splits, or random batches.

    ``train`` and ``test`` are the whole splits, each (inputs, labels) of shape
    (rows, ...), in a stack (members, rows, ...).

    ``batch`` has inputs and labels of the step that was loaded last, always in the same
    memory, where a captured step reads them; it is () before the first step. It is
    filled in one of four ways. Augmented rows are made on the host and copied when they
    are loaded. Without ``batch_size``, or if it is above the number of training rows,
    other rows are ``train`` itself. Else they are copied from ``train``: on a CPU when
    they are loaded, on a GPU (``is_taken_in_step``) as the first part of a step, where
    a captured step finds them by the row indices ``orders`` at ``position``.

    There is at least one training row; there may be no test rows.
    """

    arm: Arm
    seeds: Sequence[int]
    data: Sequence[Data]
    device: str
    stacked: bool

    def __post_init__(self) -> None:
        self.n_train = len(self.data[0].y_train)
        self.n_test = len(self.data[0].y_test)
        # by default more rows than there are, which means the whole split
        batch_size = self.arm.batch_size or self.n_train + 1
        self.rows_per_batch = min(batch_size, self.n_train)
        # Each step takes the whole split in its order. With as many rows as there are
        # a step takes them in a random order, and so rounds otherwise.
        self.is_whole = batch_size > self.n_train
        self.batches_per_pass = self.n_train // self.rows_per_batch
        self.is_taken_in_step = (
            self.device != "cpu" and not self.is_whole and not self.arm.augment
        )
        # row indices (members, batches, batch rows) of the steps from ``first_step`` on
        self.orders = torch.empty(0, 0, 0)
        self.first_step = 0
        # (1,), the index along the batches of ``orders`` for the next step
        self.position = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.batch: Batch = ()  # type: ignore[assignment]
        if self.arm.augment:
            self.augment = resolve("augment", self.arm.augment)

    @cached_property
    def train(self) -> Batch:
        return self.rows("train", torch.arange(self.n_train))

    @cached_property
    def test(self) -> Batch:
        return self.rows("test", torch.arange(self.n_test))

    def rows(self, split: str, indices: Tensor, random: bool = False) -> Batch:
        """Return inputs and labels of a split at some indices (rows,), on the device.

        ``split`` is "train" or "test". The result is (rows, ...), in a stack (members,
        rows, ...): each member's rows are of its own data, at the same indices. With
        ``random`` an augmentation is random, otherwise it is the one for evaluation,
        such as a crop of the centre. Floating inputs get the arm's dtype.
        """
        inputs, labels = [], []
        for data in self.data:
            x = getattr(data, f"x_{split}")[indices]
            if spec := self.arm.augment:
                x = self.augment(x, random=random, **options(spec))
            if x.is_floating_point():
                x = x.to(getattr(torch, self.arm.dtype))
            inputs.append(x)
            labels.append(getattr(data, f"y_{split}")[indices])
        return self._on_device(inputs), self._on_device(labels)

    def _on_device(self, of_members: list[Tensor]) -> Tensor:
        """Return the rows of each member on the device, as one tensor.

        ``of_members`` are tensors (rows, ...); the result is (members, rows, ...) for a
        stack, else (rows, ...). Rows that all members share are held once.
        """
        first, *others = of_members
        if not self.stacked:
            return first.to(self.device)
        if all(torch.equal(first, other) for other in others):
            return first.to(self.device).expand(len(of_members), *first.shape)
        return torch.stack(of_members).to(self.device)

    def load_batch(self, step: int) -> None:
        """Put the rows of a step into ``batch``, or set ``position`` for `take_batch`.

        ``step`` counts from 0. Steps may come in any order, as after a resumption; one
        that is not among the drawn ``orders`` draws those of its pass.
        """
        if self.is_whole and not self.arm.augment:
            self.batch = self.train
            return
        if not 0 <= step - self.first_step < self.orders.shape[1]:
            self._draw_orders(step // self.batches_per_pass)
        position = step - self.first_step
        if self.arm.augment:
            indices = self.orders[0, position]  # such a member is never stacked
            self._fill(self.rows("train", indices, random=True))
            return
        self.position.fill_(position)
        if not self.is_taken_in_step:  # else the step calls it
            self.take_batch()

    def take_batch(self) -> None:
        """Put the training rows that ``orders`` has at ``position`` into ``batch``.

        A captured step may call it, as nothing waits for a device.
        """
        # (members, batch rows); an index of Python's would wait for the device
        indices = self.orders.index_select(1, self.position).squeeze(1)
        x, y = self.train
        if self.stacked:
            # (members, 1), which goes with each index of a row
            members = torch.arange(len(indices), device=indices.device)[:, None]
            self._fill((x[members, indices], y[members, indices]))
        else:
            self._fill((x[indices[0]], y[indices[0]]))

    def _fill(self, rows: Batch) -> None:
        """Copy rows into the memory of ``batch``; the first rows become that memory.

        A captured step reads it, so it has to stay in its place.
        """
        if not self.batch:
            self.batch = rows
        else:
            for target, tensor in zip(self.batch, rows, strict=True):
                target.copy_(tensor)

    def _draw_orders(self, pass_number: int) -> None:
        """Draw the row indices of a pass, and of the next ones for a captured step.

        Each pass through the rows has a random order from (seed, number of the pass).
        Rows that do not fill a last batch are left out of the pass. If a step takes its
        rows itself, the orders of several passes are drawn at once, as the host would
        have to wait for each. They replace those that were drawn before.
        """
        pass_count = 1
        if self.is_taken_in_step:  # as many passes as INDICES_AT_ONCE has room for
            most_passes = INDICES_AT_ONCE // (len(self.seeds) * self.n_train)
            # an epoch is one step
            all_passes = math.ceil(self.arm.epochs / self.batches_per_pass)
            pass_count = max(1, min(most_passes, all_passes))
        generator = torch.Generator()
        orders = []
        for seed in self.seeds:
            for number in range(pass_number, pass_number + pass_count):
                # another seed has this number in its pass 1,000,003 at the earliest
                generator.manual_seed(seed * 1_000_003 + number)
                order = torch.randperm(self.n_train, generator=generator)
                orders.append(order[: self.batches_per_pass * self.rows_per_batch])
        batch_count = pass_count * self.batches_per_pass
        shape = (len(self.seeds), batch_count, self.rows_per_batch)
        drawn = torch.stack(orders).view(shape)
        self.first_step = pass_number * self.batches_per_pass
        if not self.is_taken_in_step:
            self.orders = drawn
            return
        # later ones go into the same memory, which a captured step reads
        if not self.orders.numel():
            self.orders = torch.empty_like(drawn, device=self.device)
        if self.device == "cuda":  # else the copy would wait for the GPU
            drawn = drawn.pin_memory()
        self.orders.copy_(drawn, non_blocking=True)

    def chunks(self) -> Iterator[dict[str, Tensor]]:
        """Yield {"train": row indices, "test": row indices} of each batch to evaluate.

        All test rows are evaluated, and as many of the first training rows, or all of
        them if there are fewer, in equally many batches. A batch has about
        ``eval_batch`` test rows, but more if there are too few training rows for so
        many batches; without ``eval_batch`` there is one batch. Without a test set
        "test" is empty, and all training rows are evaluated, about ``eval_batch`` of
        them in a batch.
        """
        # training rows that are evaluated, and the rows that ``eval_batch`` counts
        train_count = min(self.n_train, self.n_test or self.n_train)
        row_count = self.n_test or train_count
        batch_count = math.ceil(row_count / (self.arm.eval_batch or row_count))
        batch_count = min(batch_count, train_count)  # so that no training part is empty
        for train, test in zip(
            torch.arange(train_count).tensor_split(batch_count),
            torch.arange(self.n_test).tensor_split(batch_count),
            strict=True,
        ):
            yield {"train": train, "test": test}
