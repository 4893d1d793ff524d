"""The learner: trains one member, or a stack of members, by steps, and measures them.

A network is written for one member and mapped over members. A step has two parts:
``prepare_step`` is all that the host decides (rows, the seed of dropout masks, the
learning rate), and ``run_step`` only reads and writes tensors, so that a GPU can replay
it. Dropout masks are drawn in ``run_step``.
"""

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap
from torch.utils._pytree import tree_map

from claimbook import names, observing, protocol
from claimbook.engine import build
from claimbook.engine.build import Objective, Params, Phase
from claimbook.engine.device import Captured
from claimbook.errors import BookError
from claimbook.experiment import Member
from claimbook.names import options, resolve
from claimbook.observing import Snapshot, SplitOutputs
from claimbook.protocol import Forward, Recorder

# After a softmax collapse a fifth of the float32 gradients at the logits are subnormal,
# and each product of one costs a CPU a hundred cycles. Gradients are multiplied by this
# power of two at the logits, after the loss has rounded them, and divided at the
# weights: this changes no bit, and the numbers between stay normal.
GRADIENT_SCALE = 2.0**64


class Learner:
    """Members of one `build.stack_key` in training: a stack of them, or a single one.

    In a stack (``stacked``) the members lie along a first axis of every tensor, such as
    ``params``. Throughout, (members, ...) is the shape of a tensor in a stack; for a
    single member the first axis is missing. ``step_count`` is the number of steps made.
    Making one raises BookError if `build.check` or `build.check_rows` finds a fault.
    """

    def __init__(
        self, members: Sequence[Member], device: str = "cpu", *, stacked: bool = False
    ):
        arms, self.seeds = zip(*members, strict=True)
        self.arm = arms[0]  # all are of one `build.stack_key`
        self.device = device
        self.stacked = stacked
        for arm in {arm.name: arm for arm in arms}.values():  # once for all its seeds
            build.check(arm)
        with build.refusing("dataset", self.arm.dataset):
            started = [build.start(*member) for member in members]
        data, models = zip(*started, strict=True)
        self.model = models[0]
        # of one member, as the data of all are of one spec
        build.check_rows(self.arm, data[0], copy.deepcopy(self.model).eval())
        if stacked:
            params, buffers = stack_module_state([*models])
        else:
            params = dict(self.model.named_parameters())
            buffers = dict(self.model.named_buffers())
        self.params = {
            name: p.detach().to(device, copy=True).requires_grad_()
            for name, p in params.items()
        }
        self.buffers = {
            name: b.detach().to(device, copy=True) for name, b in buffers.items()
        }
        # Three modules of one structure, in other modes. Weights go with every call, so
        # those of the modules are never trained.
        self.model.to(device)
        self.eval_model = copy.deepcopy(self.model).eval()
        # in training mode except for dropout: batch norm reads statistics of the rows
        self.step_model = copy.deepcopy(self.model)
        for module in self.step_model.modules():
            module.training = not isinstance(module, torch.nn.Dropout)
        self.feed = build.Feed(self.arm, self.seeds, data, device, stacked)
        self.phases = build.phases(arms, device)
        self.alpha = build.one_or_tensor([float(arm.alpha) for arm in arms], device)
        self.optimizer = build.optimizer(arms, self.params, device, stacked)
        # a float or (members,), which a schedule multiplies; there is a single group
        self.rate = copy.deepcopy(self.optimizer.param_groups[0]["lr"])
        self.step_count = 0
        penalties = self.phase().objective.penalties
        self.is_tapped = any(hasattr(p.function, "reads_taps") for p in penalties)
        self.is_random = build.has_random_steps(self.arm, self.model)
        schedule = self.arm.schedule
        self.schedule = schedule and resolve("schedule", schedule)
        # float16, whose largest number is 65,504, has no room for the scale
        has_room = self.arm.dtype == "float32" and self.arm.autocast != "float16"
        is_scaled = device == "cpu" and not stacked and has_room
        self.gradient_scale = GRADIENT_SCALE if is_scaled else 1.0
        # `run_step` with the objective of the present phase, by its first step: a
        # graph of an earlier phase is freed
        self.captured: dict[int, Captured] = {}

    def forward(
        self,
        params: Params,
        buffers: Params,
        x: Any,
        y: Tensor,
        alpha: float | Tensor,
        *,
        tap: Recorder | None = None,
        model: torch.nn.Module | None = None,
    ) -> Forward:
        """Return one member's forward pass on inputs x (rows, ...) with labels y.

        It has the logits times ``alpha``, and the activations that ``tap`` recorded,
        none without a tap. ``params`` and ``buffers`` are the member's. ``model`` is
        the module to call, by default ``self.model``, which is in training mode.
        """
        with ExitStack() as contexts:
            if self.arm.autocast:
                # the shortcuts multiply in ways that autocast would round otherwise
                contexts.enter_context(protocol.switched(shortcuts=False))
                dtype = getattr(torch, self.arm.autocast)
                # a cache of rounded weights would outlive a captured step
                autocast = torch.autocast(self.device, dtype, cache_enabled=False)
                contexts.enter_context(autocast)
            logits = functional_call(model or self.model, (params, buffers), (x, tap))
        # of a tensor, as in a stack, a captured step cannot ask whether it is 1
        if not (isinstance(alpha, float) and alpha == 1):
            logits = logits * alpha
        return Forward(logits, y, params, tap.found if tap else {})

    def map(self, function: Callable, *arguments: Any) -> Any:
        """Return the result of a function of one member, for all members at once.

        In a stack each tensor in ``arguments``, however nested, is split along its
        first axis, and each tensor of the result has such an axis. Arguments that are
        not tensors are shared. Without a stack the function is just called.
        """
        if not self.stacked:
            return function(*arguments)
        axes = tree_map(lambda a: 0 if isinstance(a, Tensor) else None, arguments)
        return vmap(function, axes)(*arguments)

    def step(self) -> Tensor:
        """Train one step and return the objective before it, () or (members,).

        That is the loss of the batch with all penalties. On a GPU the next step may
        overwrite the tensor.
        """
        phase = self.phase()
        self.prepare_step()
        if phase.first_step not in self.captured:
            captured = Captured(partial(self.run_step, phase.objective), self.device)
            self.captured = {phase.first_step: captured}
        value = self.captured[phase.first_step]()
        self.step_count += 1
        return value

    def phase(self) -> Phase:
        """Return the phase that the next step is in, whose loss is measured now."""
        begun = [p for p in self.phases if p.first_step <= self.step_count]
        return begun[-1]

    def prepare_step(self) -> None:
        """Set the seed, the batch and the learning rate of the next step.

        A captured step reads the batch and the rate from the same memory every time.
        The rate is that of the optimizer times the factor of the schedule, if any.
        """
        if self.is_random:  # such a member is alone: its draws depend on (seed, step)
            torch.manual_seed(self.seeds[0] * 1_000_003 + self.step_count)
        self.feed.load_batch(self.step_count)
        if spec := self.arm.schedule:
            factor = self.schedule(self.step_count, self.arm.epochs, **options(spec))
            rate = self.rate * factor
            (group,) = self.optimizer.param_groups
            if isinstance(rate, Tensor):
                group["lr"].copy_(rate)
            else:
                group["lr"] = rate

    def run_step(self, objective: Objective) -> Tensor:
        """Train on the batch and rate that are set; return the objective before that.

        The result is () or (members,). Nothing here waits for the device.
        """

        def value(params, buffers, x, y, alpha, objective) -> Tensor:
            """Return the objective of one member, (); the rest are for `forward`."""
            tap = Recorder() if self.is_tapped else None
            forward = self.forward(params, buffers, x, y, alpha, tap=tap)
            return objective_value(objective, forward, self.gradient_scale)

        if self.feed.is_taken_in_step:
            self.feed.take_batch()
        self.optimizer.zero_grad(set_to_none=True)
        # batch norm updates the buffers in place
        state = (self.params, self.buffers)
        values = self.map(value, *state, *self.feed.batch, self.alpha, objective)
        values.sum().backward()  # no member's value depends on another's weights
        if self.gradient_scale != 1:
            for parameter in self.params.values():
                if parameter.grad is not None:
                    parameter.grad.mul_(1 / self.gradient_scale)
        # a closure that returns the objective, for wrappers such as `descend_from`
        self.optimizer.step(values.detach)
        return values.detach()

    def observe(
        self, wanted: Iterable[str], before: Params | None = None
    ) -> observing.Values:
        """Return the values of the observables named in ``wanted``, by column.

        They are measured at the present weights; each is (), or (members,) of a stack.
        ``before`` has the weights before the last step: without it, observables that
        read a step are left out, and the result is {} if no other is wanted. If the arm
        has ``eval_batch``, observables that can be averaged over batches are, and a
        share is the same as without batches, to the last bit.
        """
        registered = names.observables()
        chosen = {
            name for name in wanted if before or "step" not in registered[name].needs
        }
        averaged = {n for n in chosen if self.arm.eval_batch and registered[n].averaged}
        values = self._averaged(averaged) if averaged else {}
        if others := chosen - averaged:  # of all rows at once
            snapshot = self.snapshot(observing.needs_of(others), before)
            values |= observing.observe(snapshot, others, stacked=self.stacked)
        return values

    def _averaged(self, wanted: set[str]) -> observing.Values:
        """Return the values of observables, averaged over batches of rows, by column.

        ``wanted`` are their names; each value is (), as members with ``eval_batch`` are
        never stacked. A batch counts by its labels, of which a row may have several;
        without a test set the columns of the test split are 0 / 0, NaN.
        """
        totals: observing.Values = {}
        label_counts: observing.Values = {}
        for indices_by_split in self.feed.chunks():
            snapshot = self.snapshot(
                observing.needs_of(wanted), indices_by_split=indices_by_split
            )
            for column, value in observing.observe(snapshot, wanted).items():
                outputs = (
                    snapshot.test if column.startswith("test_") else snapshot.train
                )
                count = torch.full_like(value, outputs.labels.numel())
                totals[column] = totals.get(column, 0.0) + weighted(value, count)
                label_counts[column] = label_counts.get(column, 0.0) + count
        return {
            column: total / label_counts[column] for column, total in totals.items()
        }

    @torch.no_grad()
    def snapshot(
        self,
        needs: set[str],
        before: Params | None = None,
        indices_by_split: Mapping[str, Tensor] | None = None,
    ) -> Snapshot:
        """Return the snapshot that observables with these needs read, as of now.

        ``needs`` are those of the module `observing`. ``before`` are the weights before
        the last step; without them the snapshot has no gradients. ``indices_by_split``
        has for each split the indices (rows,) of the rows to evaluate, by default all
        rows. Weights are not copied. Raises BookError for the moments of an optimizer
        that has none.
        """
        fields: dict[str, Any] = {"params": self._detached()}
        tap_names = observing.tap_names(needs, self.model.places)
        for split in needs & {"train", "test"}:
            if indices_by_split:
                x, y = self.feed.rows(split, indices_by_split[split])
            else:
                x, y = self.feed.train if split == "train" else self.feed.test
            is_as_stepped = self.arm.batch_statistics and split == "train"
            model = self.step_model if is_as_stepped else self.eval_model
            fields[split] = self._split_outputs(x, y, model, tap_names)
        for need in needs & observing.VARIANTS.keys():
            fields.setdefault("variant_losses", {}).update(self._variant_losses(need))
        if before is not None:  # a gradient is zero where the terms ignore a parameter
            grads = {
                name: torch.zeros_like(p) if p.grad is None else p.grad
                for name, p in self.params.items()
            }
            fields |= {"before": before, "grads": grads}
        if "moments" in needs:
            try:
                moments = names.module_of("optimizer").adam_divisors(self.optimizer)
            except KeyError as error:
                raise BookError(
                    f"an observable reads the moments of {self.arm.optimizer.name!r}, "
                    f"which has no {error}: leave it out, or train with adamw"
                ) from error
            fields["moments"] = dict(zip(self.params, moments, strict=True))
        return Snapshot(**fields, objective=self.objective, tap_grads=self.tap_grads)

    @torch.no_grad()
    def _split_outputs(
        self,
        x: Any,
        y: Tensor,
        model: torch.nn.Module,
        recorded_taps: Sequence[str] = (),
        replacing_tap: Recorder | None = None,
    ) -> SplitOutputs:
        """Return logits, losses and activations of every member on inputs x, labels y.

        x and y are (rows, ...), in a stack (members, rows, ...), and so are all tensors
        of the result; the losses are those of the present phase, one for each label.
        ``model`` is the module to call. ``recorded_taps`` are the names of taps whose
        activations are returned. ``replacing_tap`` changes activations in the pass that
        makes logits and losses.
        """

        def outputs(params, buffers, x, y, alpha, loss) -> SplitOutputs:
            """Return one member's outputs; all but ``loss`` are for `forward`."""
            buffers = copies(buffers)  # batch norm would update them in place
            inputs = (params, buffers, x, y, alpha)
            logits = self.forward(*inputs, tap=replacing_tap, model=model).logits
            losses = loss.function(logits, y, **loss.options, reduction="none")
            activations: dict[str, Tensor] = {}
            if recorded_taps:
                # in a pass of its own: with a tap a network takes no shortcuts
                taps = self.forward(*inputs, tap=Recorder(), model=model).taps
                activations = {name: taps[name] for name in recorded_taps}
            return SplitOutputs(x, logits, y, losses, activations)

        state = (self._detached(), self.buffers)
        loss = self.phase().objective.loss
        return self.map(outputs, *state, x, y, self.alpha, loss)

    def _variant_losses(self, need: str) -> observing.Values:
        """Return training losses of changed networks by column.

        Each is (rows,), or (members, rows) of a stack, of all training rows. ``need``
        is a key of ``observing.VARIANTS``, whose function makes the changed networks
        from the one in evaluation mode.
        """
        losses = {}
        for name, variant in observing.VARIANTS[need](self.eval_model).items():
            tap = Recorder(replace=variant.replace)
            outputs = self._split_outputs(
                *self.feed.train, variant.network, replacing_tap=tap
            )
            losses[name] = outputs.losses
        return losses

    def objective(self, member: int = 0) -> tuple[Params, Callable]:
        """Return (weights, function of weights): one member's objective in float64.

        ``member`` is its index in the stack, 0 for a single member. The function
        returns () and can be differentiated twice, as networks take no shortcuts
        (`protocol.now`). It reads all training rows, with batch statistics and without
        dropout.
        """
        params, objective, forward = self._of_member(member, wide=True)
        loss = objective.loss
        # a loss of the book computes in its own dtype, whatever the logits have
        if "dtype" in inspect.signature(loss.function).parameters:
            loss = loss._replace(options=loss.options | {"dtype": torch.float64})
        objective = objective._replace(loss=loss)

        def function(weights: Params) -> Tensor:
            with protocol.switched(shortcuts=False):
                return objective_value(objective, forward(weights))

        return params, function

    def tap_grads(self, member: int = 0, *, total: bool) -> dict[str, Any]:
        """Return (activation, its gradient) of one member, by the name of the tap.

        ``member`` is its index in the stack. Both tensors are (*positions, width) of
        all training rows. The gradient is that of the loss, or with ``total`` of the
        whole objective; it is 0 for a tap on which that does not depend. A tap whose
        activation depends on no weight is left out.
        """
        params, objective, forward = self._of_member(member)
        if not total:
            objective = objective._replace(penalties=())
        with torch.enable_grad():  # observables are measured without
            weights = {name: p.requires_grad_() for name, p in params.items()}
            outputs = forward(weights, is_tapped=True)
            activations = {n: x for n, x in outputs.taps.items() if x.requires_grad}
            value = objective_value(objective, outputs)
            grads = torch.autograd.grad(
                value, [*activations.values()], materialize_grads=True
            )
        pairs = zip(activations.items(), grads, strict=True)
        return {name: (tensor.detach(), grad) for (name, tensor), grad in pairs}

    def _of_member(
        self, member: int, wide: bool = False
    ) -> tuple[Params, Objective, Callable]:
        """Return (weights, objective, forward) of one member, in float64 if ``wide``.

        ``member`` is its index in the stack. ``forward(weights, is_tapped)`` returns
        the forward pass on all training rows, as a step makes it, but without dropout.
        It has activations if ``is_tapped`` or if a penalty reads them.
        """

        def of_member(leaf: Any) -> Any:
            """Return the member's part of a tensor; anything else as it is."""
            if not isinstance(leaf, Tensor):
                return leaf
            tensor = leaf.detach()[member] if self.stacked else leaf.detach()
            return tensor.double() if wide and leaf.is_floating_point() else tensor

        state = (self.phase().objective, self.params, self.buffers, *self.feed.train)
        # the rest are x, y and alpha; an alpha that is a float stays one
        objective, params, buffers, *rest = tree_map(of_member, (*state, self.alpha))

        def forward(weights: Params, is_tapped: bool = False) -> Forward:
            """Return the forward pass of the network with these weights."""
            own_buffers = copies(buffers)  # batch norm would update them in place
            tap = Recorder() if is_tapped or self.is_tapped else None
            return self.forward(
                weights, own_buffers, *rest, tap=tap, model=self.step_model
            )

        return params, objective, forward

    def _detached(self) -> Params:
        """Return the parameters by name, without gradients and in the same memory."""
        return {name: p.detach() for name, p in self.params.items()}

    def weights(self) -> Params:
        """Return a copy of the parameters as they are now, by name."""
        return copies(self.params)

    def state(self) -> dict[str, Any]:
        """Return a copy of all that the next step depends on, for a checkpoint.

        These are the number of steps made, weights, buffers and the optimizer's state.
        Batches, dropout masks and learning rates follow from the number.
        """
        return {
            "step": self.step_count,
            "params": self.weights(),
            "buffers": copies(self.buffers),
            "moments": copy.deepcopy(self.optimizer.state_dict()["state"]),
        }

    @torch.no_grad()
    def restore(self, state: Mapping[str, Any]) -> None:
        """Set the learner to a ``state()`` of these members, bit for bit.

        Weights and buffers are copied into their own memory, which a captured step has.
        """
        self.step_count = state["step"]
        for name, parameter in self.params.items():
            parameter.copy_(state["params"][name])
        for name, buffer in self.buffers.items():
            buffer.copy_(state["buffers"][name])
        # torch loads the settings of groups with a state: give it the present ones
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict(
            {"state": state["moments"], "param_groups": groups}
        )


def copies(tensors: Params) -> Params:
    """Return copies of some tensors by name, detached from any graph."""
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def objective_value(
    objective: Objective, forward: Forward, scale: float = 1.0
) -> Tensor:
    """Return the objective of one member, (): its loss plus its penalties.

    ``scale`` multiplies the gradients, not the value, after the loss has rounded them
    (`scaled`). Raises BookError for a penalty that is not one number: added to the
    loss, it would count the loss once per entry.
    """
    loss = objective.loss
    logits = scaled(forward.logits, scale)
    value = loss.function(logits, forward.labels, **loss.options)
    for penalty in objective.penalties:
        charge = penalty.function(forward, **penalty.options)
        if charge.shape != value.shape:
            raise BookError(
                f"a penalty returned the shape {tuple(charge.shape)}: let it return "
                "one number, such as the mean"
            )
        value = value + scaled(charge, scale)
    return value


def weighted(mean: Tensor, count: Tensor) -> Tensor:
    """Return mean * count, made whole if the mean is a whole number over the count.

    Both tensors have one shape. The result is 0 for a count of 0, whatever the mean,
    and else NaN for NaN. A share such as an accuracy is a quotient of two whole
    numbers, but the rounded quotient times the count need not be whole again:
    1 / 49 * 49 is 0.9999999999999999.
    """
    whole = (mean * count).round()
    total = torch.where(whole / count == mean, whole, mean * count)
    return torch.where(count == 0, 0.0, total)


def scaled(x: Tensor, factor: float) -> Tensor:
    """Return a view of x whose gradient is multiplied by ``factor``, a power of two.

    A factor of 1, as in a stack, gives x itself, and an x without a gradient a view.

    This is loss scaling [Micikevicius et al. 2018, section 3.2] after the loss has
    rounded its gradient: a power of two changes no bit, except of sums below the
    smallest normal number, 1.2e-38 in float32. The caller divides the gradients of the
    weights by it again. Second derivatives are not scaled.
    """
    if factor == 1:
        return x
    view = x.view_as(x)
    if view.requires_grad:
        view.register_hook(lambda grad: grad * factor)
    return view
