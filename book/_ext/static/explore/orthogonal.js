/* A gradient turned against the weights: what ⊥Grad keeps of it. */
"use strict";
grokbook.orthogonal = (() => {
  const norm = ([a, b]) => Math.hypot(a, b);
  const dot = ([a, b], [c, d]) => a * c + b * d;
  const add = ([a, b], [c, d], by = 1) => [a + by * c, b + by * d];
  const TINY = 1e-30;

  /** The part of a gradient along the weights, and what ⊥Grad makes of the rest. */
  function split(weights, gradient, rescale) {
    const along = dot(weights, gradient) / (dot(weights, weights) + TINY);
    const removed = weights.map((w) => along * w);
    const rest = add(gradient, removed, -1);
    const ratio = rescale ? norm(gradient) / (norm(rest) + TINY) : 1;
    return { removed, kept: rest.map((g) => ratio * g) };
  }

  return { norm, dot, add, split };
})();

(() => {
  const { make, say, slider, choice, drag, line, text, picture, start } = grokbook.parts;
  const { norm, add, split } = grokbook.orthogonal;
  const [WIDTH, HEIGHT, UNIT, LEFT] = [360, 270, 60, 128];
  const WEIGHTS = [2, 0];
  const place = ([a, b]) => [LEFT + UNIT * a, HEIGHT / 2 - UNIT * b];

  function arrow(from, to, name, words, below = false) {
    const [[x1, y1], [x2, y2]] = [place(from), place(to)];
    const length = Math.hypot(x2 - x1, y2 - y1);
    const parts = [line(x1, y1, x2, y2, `arrow ${name}`)];
    if (length < 6) return parts;
    const [u, v] = [(x2 - x1) / length, (y2 - y1) / length];
    const corner = (side) => `${x2 - 9 * u - 5 * side * v} ${y2 - 9 * v + 5 * side * u}`;
    parts.push(make("svg:path", { class: `tip ${name}`, d: `M${x2} ${y2}L${corner(1)}L${corner(-1)}Z` }));
    const side = below ? 15 : -7;
    const left = Math.max(34, Math.min(WIDTH - 34, x2));
    parts.push(text(left, Math.max(12, Math.min(HEIGHT - 4, y2 + side)), words, `name ${name}`));
    return parts;
  }

  start("orthogonal", (live) => {
    const turn = slider("Angle between step and weights",
      { min: -180, max: 180, step: 1, value: 35 }, (a) => `${say(a)}°`);
    const long = slider("Length of the step", { min: 0.1, max: 1.6, step: 0.01, value: 1.2 });
    const rate = slider("Learning rate: the share of the step that is taken", { min: 0.05, max: 1, step: 0.05, value: 0.5 });
    const form = choice("The kept part",
      [["", "the paper's formula"], ["rescale", "the official code: rescaled"]]);
    const svg = picture(WIDTH, HEIGHT, "Weights, a step, and its two parts");
    const values = make("table", { class: "values" });
    const said = make("p", { class: "said", "aria-live": "polite" });

    function redraw() {
      const angle = (turn.get() * Math.PI) / 180;
      const step = [Math.cos(angle) * long.get(), Math.sin(angle) * long.get()];
      const { removed, kept } = split(WEIGHTS, step, form.input.value === "rescale");
      const ends = [["without ⊥Grad", step], ["formula", split(WEIGHTS, step, false).kept],
        ["official code", split(WEIGHTS, step, true).kept]].map(([words, by]) =>
        [words, norm(by), norm(add(WEIGHTS, by, rate.get()))]);
      const [middle, rim] = [place([0, 0]), UNIT * norm(WEIGHTS)];
      svg.replaceChildren(
        make("svg:circle", { cx: middle[0], cy: middle[1], r: rim, class: "grid" }),
        ...arrow([0, 0], WEIGHTS, "weights", "weights", true),
        ...arrow(WEIGHTS, add(WEIGHTS, removed), "removed", "removed", true),
        ...arrow(WEIGHTS, add(WEIGHTS, step), "step", "step"),
        ...arrow(WEIGHTS, add(WEIGHTS, kept), "kept", "kept"),
        make("svg:circle", { cx: place(add(WEIGHTS, kept, rate.get()))[0],
          cy: place(add(WEIGHTS, kept, rate.get()))[1], r: 5, class: "dot kept" }));
      const row = (tag, cells) => make("tr", {}, ...cells.map((words, at) =>
        words && (tag === "th" || !at) ? make("th", { scope: at ? "col" : "row" }, words) : make("td", {}, words)));
      values.replaceChildren(
        make("thead", {}, row("th", ["", "length of what is kept", "norm after the step"])),
        make("tbody", {}, ...ends.map(([words, size, after]) => row("td", [words, say(size), say(after)]))));
      said.textContent = `⊥Grad removes a part of length ${say(norm(removed))} and keeps `
        + `${say(norm(kept))}; the norm of the weights goes from ${say(norm(WEIGHTS))} to `
        + `${say(norm(add(WEIGHTS, kept, rate.get())))}.`;
    }
    for (const { input } of [turn, long, rate, form]) input.addEventListener("input", redraw);
    drag(svg, (x, y) => {
      const [a, b] = add([(x - LEFT) / UNIT, (HEIGHT / 2 - y) / UNIT], WEIGHTS, -1);
      long.set(Math.hypot(a, b));
      turn.set((Math.atan2(b, a) * 180) / Math.PI);
    });
    live.append(make("div", { class: "controls" }, turn.row, long.row, rate.row, form.row),
      svg, said, make("div", { class: "wide" }, values));
    redraw();
  });
})();
