/* The loss and the gradients of one sample in four types, under a slider. */
"use strict";
(() => {
  const { make, scale, say, slider, choice, drag, line, text, path, picture, start } =
    grokbook.parts;
  const { TYPES, crossEntropy, vanishes } = grokbook.arithmetic;
  const NAMES = Object.keys(TYPES).sort((a, b) => TYPES[b].eps - TYPES[a].eps);
  const [WIDTH, HEIGHT, UNTIL] = [360, 286, 45];
  const x = scale([0, UNTIL], [44, WIDTH - 8]);
  const y = scale([1, -20], [26, HEIGHT - 68]);
  const ZERO = HEIGHT - 40; // no place of a logarithmic axis
  const ROWS = [
    ["probability", "p of the correct class"],
    ["loss", "loss"],
    ["correct", "gradient, correct class"],
    ["other", "gradient, each other class"],
  ];

  function axes() {
    const found = [text(WIDTH / 2 + 18, HEIGHT - 4, "lead of the correct logit"),
      text(4, 12, "loss, logarithmic above 0", "", "start"),
      line(x(0), ZERO, x(UNTIL), ZERO, "grid"), text(x(0) - 4, ZERO + 4, "0", "", "end")];
    for (let at = 0; at <= UNTIL; at += 10) found.push(text(x(at), HEIGHT - 20, at));
    for (let at = 0; at >= -20; at -= 5) {
      found.push(line(x(0), y(at), x(UNTIL), y(at), "grid"));
      found.push(text(x(0) - 4, y(at) + 4, at ? `1e${at}` : "1", "", "end"));
    }
    return found;
  }

  /** The loss of a type while it is not 0; wider for the types that lie below. */
  function curve(type, classes) {
    const points = [];
    for (let gap = 0; gap <= UNTIL; gap += 0.25) {
      const { loss } = crossEntropy(gap, classes, type);
      points.push([x(gap), loss > 0 ? y(Math.log10(loss)) : null]);
    }
    const width = 2 + 1.5 * NAMES.indexOf(type);
    const found = path(points, `curve ${type}`);
    found.setAttribute("stroke-width", width);
    return found;
  }

  function ends(type, classes, at) {
    const zero = vanishes("loss", classes, type);
    if (zero === null) return [];
    return [
      make("svg:circle", { cx: x(zero), cy: ZERO, r: 4, class: `dot ${type}` }),
      text(x(zero), ZERO - 8 - 13 * (at % 2), type, `name ${type}`),
    ];
  }

  /** Where 1 plus the others' share falls between 1 and the next number of a type. */
  function ruler(type, share) {
    const steps = share / TYPES[type].eps;
    const at = Math.min(steps, 1);
    const held = make("span", { class: "mark", style: `left:${(100 * at).toFixed(1)}%` });
    const lost = steps <= 0.5;
    const words = steps > 1 ? `${say(steps)} steps` : `${(100 * steps).toFixed(1)} % of a step`;
    const rail = make("div", { class: lost ? "rail lost" : "rail" }, held);
    return make("tr", {}, make("th", { scope: "row" }, type), make("td", {}, rail),
      make("td", {}, `${words}${lost ? ", rounded to 1" : ""}`));
  }

  function table(gap, classes) {
    const results = NAMES.map((type) => crossEntropy(gap, classes, type));
    const head = NAMES.map((type) => make("th", { scope: "col", class: type }, type));
    const rows = ROWS.map(([key, words]) => {
      const cells = results.map((result) =>
        make("td", result[key] === 0 ? { class: "zero" } : {}, say(result[key])));
      return make("tr", {}, make("th", { scope: "row" }, words), ...cells);
    });
    return [make("thead", {}, make("tr", {}, make("td", {}), ...head)),
      make("tbody", {}, ...rows)];
  }

  start("absorption", (live) => {
    const lead = slider("Lead of the correct logit",
      { min: 0, max: UNTIL, step: 0.05, value: 10 }, (gap) => gap.toFixed(2));
    const classes = choice("Number of classes", [[2, "2"], [10, "10"], [113, "113"]]);
    const svg = picture(WIDTH, HEIGHT, "Loss against the lead of the correct logit");
    const [curves, now] = [make("svg:g"), make("svg:g")];
    svg.append(...axes(), curves, now);
    const values = make("table", { class: "values" });
    const caption = make("caption", {}, "How far the sum lies above 1, in steps of each type");
    const rulers = make("tbody");
    const said = make("p", { class: "said", "aria-live": "polite" });

    function redraw() {
      const [gap, count] = [lead.get(), Number(classes.input.value)];
      now.replaceChildren(line(x(gap), y(1), x(gap), ZERO, "now"));
      values.replaceChildren(...table(gap, count));
      rulers.replaceChildren(
        ...NAMES.map((type) => ruler(type, (count - 1) * Math.exp(-gap))));
      const gone = NAMES.filter((type) => crossEntropy(gap, count, type).loss === 0);
      said.textContent = gone.length
        ? `At a lead of ${gap.toFixed(2)} the loss is exactly 0 in ${gone.join(", ")}.`
        : `At a lead of ${gap.toFixed(2)} no type rounds the loss to 0.`;
    }
    function recount() {
      const count = Number(classes.input.value);
      curves.replaceChildren(...[...NAMES].reverse().map((type) => curve(type, count)),
        ...NAMES.flatMap((type, at) => ends(type, count, at)));
      redraw();
    }
    lead.input.addEventListener("input", redraw);
    classes.input.addEventListener("change", recount);
    drag(svg, (at) => lead.set(scale([x(0), x(UNTIL)], [0, UNTIL])(at)));
    live.append(make("div", { class: "controls" }, lead.row, classes.row), svg, said,
      make("div", { class: "wide" }, values),
      make("table", { class: "rulers" }, caption, rulers));
    recount();
  });
})();
