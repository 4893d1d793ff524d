"""Figures: colours that everybody tells apart, curves of runs, labels, the picture."""

import base64
import io
import math
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb
from PIL import Image
from recorded import of_curves

from claimbook import change, plots, project
from claimbook.evidence import Run
from claimbook.plots import COLOUR, picture
from claimbook.project import FIGURE_MIME


@pytest.fixture(autouse=True)
def drawing():
    """Without a screen, in the book's style; nothing stays open."""
    before = mpl.rcParams.copy()
    plt.switch_backend("agg")
    plots.use_style()
    yield
    plt.close("all")
    mpl.rcParams.update(before)


# Machado, Oliveira and Fernandes (2009), table 1, severity 1.0, on linear RGB.
# fmt: off
TO_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                   [0.0193339, 0.1191920, 0.9503041]])
# fmt: on


def linear(color):
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(color):
    return 1.05 / (TO_XYZ[1] @ linear(color) + 0.05)


def test_lines_stand_out_from_white_and_shades_get_darker():
    assert min(map(contrast, [*plots.COLOURS, plots.GREY])) >= 3
    assert contrast("#E69F00") < 3  # the measure notices faint ones
    assert contrast("black") == pytest.approx(21)
    for values in ([1], [1, 2], range(9)):
        found = [contrast(color) for color in plots.shades(values).values()]
        assert len(found) == len(values)
        assert 3 <= found[0] < 3.2 and found == sorted(found)


MAY_MEET = {
    "losses": ["softmax", "StableMax", "collapse-free", "⊥Grad"],
    "remedies": ["weight decay", "label smoothing", "temperature", "logit norm"],
    "also": ["weight decay", "Taylor", "temperature", "logit norm"],
    "precisions": ["float16", "float32", "float64", "weight decay"],
    "tasks": ["addition", "product", "sparse parity"],
    "variants": ["M", "M+A*", "A*", "No LN", "A^v", "A^qk", "M+A^v"],
    "interventions": ["float32", "float64 loss", "projection", "W_G subtracted"]
    + ["repair", "simulated collapse", "batch norm", "layer norm"],
    "causes": ["float32", "float64 loss", "projection", "W_G subtracted", "repair"]
    + ["simulated collapse", "sum broken", "sum broken, W_G subtracted"],
    "networks": ["MLP", "transformer", "VGG-11", "ViT", "ResNet-18"],
    "regularisers": ["penalty", "strong decay", "baseline", "MAN", "dropout"]
    + ["layer norm", "RMS norm"],
}
ALONE = ("losses", "variants", "interventions", "causes", "networks", "regularisers")


def test_things_of_one_figure_have_colours_of_their_own():
    for group, things in MAY_MEET.items():
        with_losses = [] if group in ALONE else MAY_MEET["losses"]
        colours = [COLOUR[thing] for thing in things + with_losses]
        assert len(set(colours)) == len(colours), group
    assert set(COLOUR) == {thing for group in MAY_MEET.values() for thing in group}
    assert set(COLOUR.values()) <= set(plots.COLOURS)


def run(curves):
    """One arm, {seed: accuracies of epochs 0, 10, ...}, test twice the training set."""
    by_epoch = {seed: pd.Series(values) for seed, values in curves.items()}
    record = of_curves(by_epoch, seeds=(0, 1, 2), scale="smoke")
    if curves:
        record.frame["epoch"] *= 10
        record.frame["test_loss"] = record.frame["test_accuracy"]
        record.frame["train_accuracy"] = record.frame["test_accuracy"] / 2
        record.frame["train_loss"] = record.frame["train_accuracy"]
    return Run(record, "plain", "softmax", plots.ORANGE)


THREE = {0: [0.1, 0.2, 0.3], 1: [0.2, 0.4, 0.9], 2: [0.3, 0.3, 0.6]}


def drawn(run, how=plots.curve, *more, **options):
    axes = plots.panels(1)[1][0]
    how(axes, run, *more, **options)
    return axes


def named(axes):
    return [str(line.get_label()) for line in axes.lines if line.get_label()[0] != "_"]


def test_seeds_are_thin_their_median_thick_and_their_range_shaded():
    """A median takes three seeds: two, or one, have no middle."""
    axes = drawn(run(THREE), plots.curve, "test_accuracy", percent=True)
    *thin, thick = axes.lines
    (shade,) = axes.collections
    assert len(thin) == 3 and shade.get_linewidth() == 0
    assert shade.get_paths()[0].get_extents().extents.tolist() == [0, 10, 20, 90]
    assert thick.get_ydata() == pytest.approx([20, 30, 60])
    assert {line.get_color() for line in axes.lines} == {plots.ORANGE}
    assert named(axes) == ["softmax"]
    axes = drawn(run({1: [0.1, 0.2]}), plots.curve, "test_accuracy")
    assert (len(axes.lines), len(axes.collections)) == (1, 0)
    two = run({0: [0.1, 0.2], 1: [0.3, 0.8]})
    axes = drawn(two, plots.curve, "test_accuracy", each_seed=False)
    assert [list(line.get_ydata()) for line in axes.lines] == [[0.1, 0.2], [0.3, 0.8]]
    assert named(axes) == ["softmax"]
    early = run({0: [0.1, 0.2], 1: [0.3], 2: [0.2, 0.4]})  # one ended early
    axes = drawn(early, plots.curve, "test_accuracy")
    assert axes.lines[-1].get_ydata() == pytest.approx([0.2, 0.3])


MEASURES = {plots.accuracy: "accuracy (%)", plots.loss: "loss"}


def test_only_the_test_curve_has_seeds_and_a_name():
    assert drawn(run(THREE), plots.accuracy).get_ylim() == (-3, 103)
    for how in MEASURES:
        assert named(drawn(run(THREE), how)) == ["softmax"]
        axes = drawn(run(THREE), how)
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("epoch", MEASURES[how])
        nobody = drawn(run({}), how)
        assert not nobody.lines and not nobody.collections
        axes = drawn(run(THREE), how, label="", color=plots.RED)
        assert named(axes) == [] and axes.lines[-1].get_color() == plots.RED
        assert named(drawn(run(THREE), how, label="five layers")) == ["five layers"]


def changed(curves, book, scale):
    """A run with another setting, before the book's run of the same arm."""
    mine = run(curves)
    mine.record.book = run(book).record
    mine.record.book.experiment = replace(mine.record.experiment, scale=scale)
    return mine


def test_a_changed_run_is_drawn_with_that_of_the_book_behind_it(monkeypatch):
    monkeypatch.setattr(change, "in_use", change.read("optimizer.lr=0.02"))
    monkeypatch.setattr(project, "is_retrained", True)
    figure, (axes, other) = plots.panels(2)
    both = changed({0: [0.1, 0.9]}, THREE, "paper")
    plots.curve(axes, both, "test_accuracy", percent=True)
    behind, before = axes.lines
    assert behind.get_ydata() == pytest.approx([20, 30, 60])  # the book's median
    assert before.get_ydata() == pytest.approx([10, 90])
    assert behind.get_color() == before.get_color()
    assert named(axes) == ["softmax"]
    plots.accuracy(other, both)
    assert len(other.lines) == 4
    assert plots.show(figure).shown["has_book"]
    (legend,) = figure.legends
    told = [text.get_text() for text in legend.get_texts()]
    assert (legend.get_gid(), legend._ncols) == ("lower", 2)
    assert told == ["book, paper scale", "yours: optimizer.lr = 0.02"]
    axes = drawn(changed({0: [0.1]}, THREE, "smoke"), plots.loss)
    assert {line.get_gid() for line in axes.lines} == {"book", None}
    figure, (axes,) = plots.panels(1)
    lacks = changed({0: [0.1, 0.9]}, THREE, "smoke")
    del lacks.record.book.frame["test_accuracy"]
    plots.curve(axes, lacks, "test_accuracy")
    picture = plots.show(figure)
    assert "has_book" not in picture.shown and not figure.legends
    assert repr(picture) == "figure: 1 panel, 1 line"


def look(line):
    return [getattr(line, f"get_{name}")() for name in ("ls", "lw", "alpha", "zorder")]


def test_the_look_of_a_line_says_what_it_is():
    """Test or training set, a seed or the median, the book's, the paper's, an event."""
    figure, (axes,) = plots.panels(1)
    plots.accuracy(axes, changed(THREE, THREE, "smoke"))
    plots.paper(axes, [1], [2])
    plots.mark(axes, [3, math.inf, math.nan], color=plots.RED)
    plots.note(axes, "here", (1, 2), (3, 4))
    seed = ["-", 0.7, 0.45, 2]
    behind, median = [3.2, 0.3, 1.5], [1.8, None, 2]
    looks = [["-", *behind], seed, seed, seed, ["-", *median]]
    looks += [["--", *behind], ["--", *median], ["None", 1.8, None, 5]]
    assert [look(line) for line in axes.lines] == [*looks, [":", 1.1, 0.8, 2]]
    assert axes.lines[-3]._unscaled_dash_pattern == (0, (2, 1.5))
    points, event = axes.lines[-2:]
    drawn = points.get_marker(), points.get_ms(), points.get_mew(), points.get_mfc()
    assert drawn == ("D", 5.5, 1.4, "white") and points.get_label() == "paper"
    assert event.get_xdata() == [3, 3] and axes.collections[0].get_alpha() == 0.12
    cycle = [to_hex(line.get_color()).upper() for line in axes.plot(np.eye(8))]
    assert cycle == [*plots.COLOURS]
    assert mpl.rcParams["xtick.bottom"] and not mpl.rcParams["axes.spines.top"]
    (text,) = axes.texts
    arrow = {"arrowstyle": "->", "color": plots.GREY, "lw": 1.0, "shrinkB": 3}
    assert (text.arrowprops, text.get_ha()) == (arrow, "center")


class Traced:
    """A run of two seeds with a loss of every step, one of them shorter."""

    label, color = "traced", "#0D74D9"
    record = SimpleNamespace(scale="laptop")

    def __init__(self, steps, seeds=(7, 3), of_book=None):
        self.seeds, self.of_book = seeds, of_book
        loss = np.full(steps, 1e-4)
        loss[[1234, steps // 2]] = 5.0, 1e-20
        short = pd.Series(np.full(steps // 4, 0.5))
        self.losses = pd.DataFrame({7: pd.Series(loss), 3: short})

    def trace(self):
        return self.losses


def test_a_trace_loses_no_spike():
    for steps in (2000, 100_001):
        axes = plots.panels(1)[1][0]
        plots.trace(axes, Traced(steps), floor=1e-9)
        plots.trace(axes, Traced(steps), seed=3, label="")
        one, short = axes.lines
        x, y = one.get_data()
        assert max(y) == 5.0 and abs(x[np.argmax(y)] - 1234) < steps / 800 + 1
        assert min(y) == 1e-9 and abs(x[np.argmin(y)] - steps / 2) < steps / 800 + 1
        groups = [math.ceil(n / math.ceil(n / 800)) for n in (steps, steps // 4)]
        assert [len(x), len(short.get_xdata())] == [2 * many for many in groups]
        assert named(axes) == ["traced"]
        assert set(short.get_ydata()) == {0.5} and max(short.get_xdata()) < steps / 4
        labels = axes.get_yscale(), axes.get_xlabel(), axes.get_ylabel()
        assert labels == ("log", "epoch", "training loss")


def test_a_trace_has_that_of_the_book_behind_it_of_the_same_seed_if_there_is_one():
    for seeds, largest in (((7, 3), 5.0), ((3,), 0.5)):
        axes = plots.panels(1)[1][0]
        book = Traced(2000, seeds)
        plots.trace(axes, Traced(2000, of_book=book), floor=1e-3, lw=2.0)
        behind, before = axes.lines
        ends = min(behind.get_ydata()), max(behind.get_ydata())
        assert ends == (0.5 if largest == 0.5 else 1e-3, largest)
        assert (behind.get_gid(), look(behind)) == ("book", ["-", 2.0, 0.3, 2])
        assert look(before) == ["-", 2.0, None, 2] and named(axes) == ["traced"]
    axes = drawn(Traced(2000, ()), plots.trace)
    assert not axes.lines
    assert look(drawn(Traced(2000), plots.trace).lines[0]) == ["-", 1.0, None, 2]


def labelled(ends, **options):
    """Axes with one line to each height, its labels moved apart."""
    figure, (axes,) = plots.panels(1)
    for i, (end, color) in enumerate(zip(ends, plots.COLOURS, strict=False)):
        axes.plot([0, 1, 2], [0, end, math.nan], label=f"line {i}", color=color)
    axes.plot([], [], label="not measured")  # by a smoke test: it has no end
    axes.set(**options)
    plots.end_labels(axes)
    figure.draw_without_rendering()
    return axes


def test_labels_stand_apart_within_the_panel_and_in_order():
    for ends in ([1, 1, 1], [0, 0.01, 0, 1], [0.5, 0.51, 0.9], [1], []):
        axes = labelled(ends, title=6 * "high\n")  # leaves them little room
        found = [text.get_window_extent() for text in axes.texts]
        assert len(found) == len(ends)
        for one, other in combinations(found, 2):
            assert one.y1 <= other.y0 + 0.5 or other.y1 <= one.y0 + 0.5
        if ends == [1, 1, 1]:
            gaps = np.diff(sorted(box.y0 for box in found))
            assert gaps == pytest.approx([1.2 * 10.5 * 110 / 72] * 2, abs=0.5)
        for box in found:
            assert axes.bbox.y0 - 0.5 <= box.y0 and box.y1 <= axes.bbox.y1 + 0.5
        rising = sorted(zip(ends, (box.y0 for box in found), strict=True))
        assert [low for _, low in rising] == sorted(box.y0 for box in found)
    # what nothing is in the way of stays at its line
    axes = labelled([0.2, 0.9], ylim=(0, 1))
    for text, end in zip(axes.texts, (0.2, 0.9), strict=True):
        box = text.get_window_extent()
        x, y = axes.transData.transform((1, end))
        assert (box.y0 + box.y1) / 2 == pytest.approx(y, abs=3) and box.x0 > x
        assert text.get_position() == pytest.approx((4, 0))  # points beside its end


X = np.linspace(0, 20, 50)


def everything(**size):
    """A figure with lines, a range, dots, bars, a picture and words."""
    figure, axes = plots.panels(3, **size)
    axes[0].plot(X, np.cos(X), label="line")
    axes[0].fill_between(X, np.cos(X) - 1, np.cos(X) + 1)
    axes[0].axhline(0)
    axes[0].set(xlim=(-1, 21), ylim=(-3, 3))
    plots.note(axes[0], "here", (5, 0), (10, 1))
    axes[0].legend(loc="best")
    axes[1].scatter([0.1, 0.2], [0.3, 0.4])
    axes[1].set(yscale="log", ylim=(0.01, 1), xlim=(0, 1))
    axes[1].set_xticks([0.5], ["half"])
    axes[2].bar([0, 1], [1, 3.0])
    axes[2].imshow([[0, 0.5], [1, 1]])
    axes[2].set(xlim=(-1, 2), ylim=(0, 5))
    plots.letter(axes, ["a", "b", "c"])
    plots.end_labels(axes[0])
    return figure


def digest(figure):
    return picture.shown_content(figure)["sha256"]


def test_a_point_off_by_one_per_cent_and_every_word_is_another_figure():
    figure = everything()
    axes, dots, bars = figure.axes
    seen = [digest(figure)]
    # with another digest every page would have to be executed again
    assert seen[0].startswith("7d6b59a8b61e")
    for one, changes in (
        (axes.lines[0], {"ydata": np.cos(X) * np.where(np.arange(50) == 7, 1.01, 1)}),
        (axes.lines[0], {"ydata": np.where(X > 19, np.nan, np.cos(X))}),
        (axes.texts[0], {"text": "there"}),
        (dots.collections[0], {"offsets": [[0.1, 0.3], [0.2, 0.404]]}),
        (bars.patches[1], {"height": 3.03}),
        (bars.images[0], {"data": [[0, 0.505], [1, 1]]}),
        (axes, {"title": "other"}),
        (axes, {"xlabel": "epoch"}),
        (axes, {"yscale": "symlog"}),
        (axes, {"xlim": (-1, 22)}),
        (axes, {"xticks": [1]}),
    ):
        one.set(**changes)
        assert digest(figure) not in seen, changes
        seen.append(digest(figure))


def test_a_panel_of_a_rerun_without_a_point_says_why(monkeypatch):
    """But where it has bars or an image, which lie elsewhere."""
    monkeypatch.setattr(project, "is_retrained", True)
    figure, panels = plots.panels(6)
    panels[4].bar([1], [1])
    panels[5].imshow([[1]])
    for axes in panels[4:]:
        axes.set(xlim=(30, 100))
    for axes, x in zip(
        panels, ([1, 6], [200, 300], [math.nan] * 2, [6, 30]), strict=False
    ):
        axes.plot(x, [1, 2])
        axes.axhline(1)
        axes.set(xlim=(30, 100), ylim=(0, 3))
    (_, metadata) = plots.show(figure)._repr_mimebundle_()
    assert metadata["image/png"].keys() == {"width", "height"}  # none for phones
    assert [[text.get_text() for text in axes.texts] for axes in panels] == [
        ["runs end before\nthis axis begins"],
        ["no run comes here"],
        ["no run comes here"],
        *([], [], []),
    ]
    (text,) = panels[0].texts
    where = text.get_position(), text.get_transform(), text.get_ha(), text.get_va()
    assert where == ((0.5, 0.5), panels[0].transAxes, "center", "center")


def test_tiny_noise_size_and_fonts_do_not_matter():
    """Nor about round numbers and 0; but small values count on a logarithmic axis."""
    noise = np.random.default_rng(0).uniform(-1e-9, 1e-9, len(X))
    figure = everything()
    plain = digest(figure)
    figure.axes[0].lines[0].set_ydata(np.cos(X) * (1 + noise))
    assert digest(figure) == plain
    with plt.rc_context({"font.size": 17, "figure.dpi": 60, "font.family": "serif"}):
        assert digest(everything(height=5)) == plain

    def told(values, **options):
        figure, (axes,) = plots.panels(1)
        axes.plot(values)
        axes.set(**{"ylim": (0, 1)} | options)
        return digest(figure)

    even = np.array([1, 0.123455, 12.3455, 97.8125, 0, -0.0, 1e5, 0.5])
    for other in (even * (1 - 1e-9), even * (1 + 1e-9), even + 1e-15):
        assert told(even) == told(other)
    assert told([0.8e-9, 1]) == told([0.9e-9, 1])
    assert told([1.1e-9, 1]) != told([1.2e-9, 1])
    log = {"yscale": "log", "ylim": (1e-20, 2)}
    assert told([1e-16, 1], **log) != told([2e-16, 1], **log)


def test_the_picture_is_twice_as_sharp_as_it_is_large_closed_and_counted(
    tmp_path, monkeypatch
):
    figure = everything(height=2.5)
    monkeypatch.setenv("GROKBOOK_FIGURES", str(tmp_path))
    picture = plots.show(figure)
    data, metadata = picture._repr_mimebundle_()
    (written,) = tmp_path.iterdir()
    assert written.name == picture.shown["sha256"][:12] + ".png"
    assert written.read_bytes() == base64.b64decode(data["image/png"])
    assert not plt.fignum_exists(figure.number)
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    size = metadata["image/png"]
    assert (size["width"], size["height"]) == (880, 275)
    assert (image.size, image.mode) == ((1760, 550), "P")
    assert len(data["image/png"]) < 120_000
    image = Image.open(io.BytesIO(base64.b64decode(size["narrow"])))
    assert image.size == (550, 3 * 330)
    assert data["text/plain"] == "figure: 3 panels, 2 lines"
    counts = {key: data[FIGURE_MIME][key] for key in ("axes", "lines", "patches")}
    assert counts == {"axes": 3, "lines": 2, "patches": 2}


def test_no_line_goes_through_words_but_those_on_dark_ground_stay_as_they_are():
    figure, (plain, image) = plots.panels(2)
    plain.axhline(0.5, color="black", lw=8)
    dark = plain.text(0.5, 0.5, "words", color="black")
    white = plain.text(0.5, 0.2, "words", color="white")
    boxed = plain.text(0.5, 0.8, "words", bbox={"fc": "grey"})
    image.imshow(np.eye(2))
    on_image = image.text(0, 0, "words")
    plots.show(figure)
    (outline,) = dark.get_path_effects()
    assert outline._gc["foreground"] == "white"
    assert not any(text.get_path_effects() for text in (white, boxed, on_image))


def test_thin_curves_keep_their_colour_beside_a_picture_of_many():
    """Although a PNG has 256 colours: to a tenth of the way from black to white."""
    figure, (left, right) = plots.panels(2)
    left.imshow(np.linspace(0, 1, 900).reshape(30, 30), aspect="auto")
    for place, color in enumerate(plots.COLOURS):
        right.plot([0, 1], [place, place + 0.3], color=color, lw=0.7)
    png, size = picture.png_and_size(figure)
    image = Image.open(io.BytesIO(png))
    assert image.size == tuple(2 * side for side in size)
    assert picture.png_and_size(figure, sharp=1.25)[1] == size
    seen = np.unique(np.asarray(image.convert("RGB")).reshape(-1, 3), axis=0) / 255
    for color in plots.COLOURS:
        assert np.abs(seen - to_rgb(color)).max(axis=1).min() < 0.1


def test_numbers_that_can_be_read_off_are_those_of_marks_and_words():
    figure, (axes,) = plots.panels(1)
    axes.plot(range(61), range(300, 361), label="at 1e-3")  # a curve: its end
    axes.scatter(range(61), range(500, 561))  # a cloud: nothing
    axes.plot([6, *[7] * 59], [8] * 60, "o")
    axes.plot([math.nan, 5], [9, 10])
    axes.scatter([11] * 60, [12] * 60)
    axes.bar([20], [21.23456], width=2)
    pixels = np.zeros((1, 61))
    pixels[0, 59:] = 70, 71  # the first sixty
    axes.imshow(pixels)
    axes.text(0, 0, "-2.5 of x3")
    axes.set(yticks=[40], xlabel="80", ylabel="81", title="1,200 runs")
    axes.set_xticks([0], ["90"])
    axes.legend()
    figure.legend([axes.lines[0]], ["95"])
    found = "-2.5 0 0.001 5 6 7 8 10 11 12 19 21 21.23 40 60 70 80 81 90 95 360 1200"
    assert picture.shown_content(figure)["numbers"] == found.split()


def test_panels_stand_below_each_other_for_a_phone_with_words_at_each():
    figure, axes = plots.panels(2, rows=2, sharex=True, sharey=True)
    assert figure.get_size_inches().tolist() == [8, 6]
    figure.add_axes((0.9, 0.1, 0.05, 0.3))  # as of a colour bar: of no panel
    for place, one in enumerate(axes):
        one.plot([0, 1], [place, 1], label=f"line {place}")
    axes[0].set_title("(a)" + 9 * " title", loc="left")
    axes[2].set(xlabel=20 * "epoch ", ylabel="loss")
    plots.thousands(axes[2])
    written = [axes[2].xaxis.get_major_formatter()(x) for x in (40, 99.5, 100, 2500)]
    assert written == ["40", "99.5", "0.1k", "2.5k"]
    axes[3].set_xticks([0, 1], ["0", "thirty"])
    figure.legend(axes[0].lines + axes[1].lines, "ab", loc="outside lower center")
    picture.one_column(figure)
    figure.draw_without_rendering()
    tops = [one.get_position().y1 for one in axes]
    assert tops[0] > tops[2] > tops[1] > tops[3]  # below the panel with the title
    wrapped = "\n".join([" ".join(6 * ["epoch"])] * 3 + ["epoch epoch"])
    assert [one.get_xlabel() for one in axes] == [wrapped, "", wrapped, ""]
    assert [one.get_ylabel() for one in axes] == ["", "", "loss", "loss"]
    turned = [one.get_xticklabels()[0].get_rotation() for one in axes]
    assert turned == [30] * 4  # shared ticks have one text that is long
    assert figure.get_size_inches().tolist() == pytest.approx([4, 4 * 0.85 * 3])
    (legend,) = figure.legends
    assert legend._ncols == 2 and legend.get_window_extent().y0 > axes[0].bbox.y1
    assert axes[0].get_title("left").count("\n") == 1
    legend.get_texts()[0].set_text(36 * "a")  # beside it there is no room for "b"
    picture.one_column(figure)
    assert figure.legends[0]._ncols == 1
