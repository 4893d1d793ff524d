/* The recorded curves of a sweep, one setting at a time.

   The numbers come from the script element #sweep, which the page carries. */
"use strict";
(() => {
  const { make, scale, slider, choice, line, text, path, picture, start } = grokbook.parts;
  const [WIDTH, HEIGHT] = [360, 240];
  const x = scale([0, 4], [72, WIDTH - 12]);
  const y = scale([0, 100], [HEIGHT - 34, 28]);
  const ZERO = 52; // no place of a logarithmic axis

  /** The median over seeds at each epoch. */
  function median(members) {
    return members[0].map((_, at) => {
      const sorted = members.map((values) => values[at]).sort((a, b) => a - b);
      const middle = (sorted.length - 1) / 2;
      return (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2;
    });
  }

  function axes() {
    const found = [text(WIDTH / 2 + 18, HEIGHT - 4, "epoch, logarithmic from 1 on"),
      text(4, 12, "accuracy", "", "start"), text(ZERO, HEIGHT - 20, "0")];
    [1, 10, 100, "1,000", "10,000"].forEach((words, at) =>
      found.push(text(x(at), HEIGHT - 20, words, "", at === 4 ? "end" : "middle")));
    for (const at of [0, 50, 100]) {
      found.push(line(ZERO - 6, y(at), ZERO + 6, y(at), "grid"), line(x(0), y(at), x(4), y(at), "grid"));
      found.push(text(ZERO - 10, y(at) + 4, `${at} %`, "", "end"));
    }
    return found;
  }

  start("sweep", (live) => {
    const data = JSON.parse(document.getElementById("sweep").textContent);
    const settings = data.settings;
    const at = slider("Readout scale α",
      { min: 0, max: settings.length - 1, step: 1, value: settings.indexOf(1) },
      (place) => String(settings[place]));
    const rule = choice("Learning rate", Object.keys(data.rules).map((r) => [r, r]));
    const svg = picture(WIDTH, HEIGHT, "Accuracy against epoch");
    const curves = make("svg:g");
    svg.append(...axes(), curves);
    const said = make("p", { class: "said", "aria-live": "polite" });

    const draw = (values, name) => {
      const points = values.map((value, step) => [x(Math.log10(data.epochs[step])), y(value)]);
      curves.append(path(points.slice(1), name),
        make("svg:circle", { cx: ZERO, cy: y(values[0]), r: 3, class: `dot ${name}` }));
    };
    function redraw() {
      const arm = data.rules[rule.input.value][at.get()];
      curves.replaceChildren();
      for (const kind of ["train", "test"]) {
        for (const member of data.arms[arm][kind]) draw(member, `thin ${kind}`);
        draw(median(data.arms[arm][kind]), `thick ${kind}`);
      }
      const { test } = data.arms[arm];
      const last = median(test);
      const grown = data.epochs.find((_, step) => last[step] >= 99);
      const words = grown === undefined ? "does not reach 99 % in the record"
        : `reaches 99 % by epoch ${grown.toLocaleString("en-GB")}`;
      said.textContent = `α = ${settings[at.get()]}, learning rate ${rule.input.value}, `
        + `n = ${test.length}: the median test accuracy ${words}.`;
    }
    at.input.addEventListener("input", redraw);
    rule.input.addEventListener("change", redraw);
    live.append(make("div", { class: "controls" }, at.row, rule.row), svg,
      make("p", { class: "key" }, make("span", { class: "train" }, "training"),
        make("span", { class: "test" }, "test"), "thin: one seed each; thick: their median"),
      said);
    redraw();
  });
})();
