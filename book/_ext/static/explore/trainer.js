/* Grok it in your browser: a network trained by a worker, and what is seen of it.

   trainer-core.js has the network. The state of all controls is in the address. */
"use strict";
(() => {
  const { make, scale, say, choice, line, text, path, picture, start } = grokbook.parts;
  const ANCHOR = "train-a-network";
  const LAST = 20000;
  const { DEFAULTS, PRESETS, settingsOf } = grokbook.trainerCore();

  const numbers = (...values) => values.map((value) => [value, say(value)]);
  const CONTROLS = {
    p: ["Hours of the clock, p", numbers(23, 31, 47, 59)],
    width: ["Width", numbers(32, 64, 128, 256)],
    share: ["Share of the table", [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9].map((x) => [x, `${Math.round(100 * x)} %`])],
    seed: ["Seed", numbers(1, 2, 3, 4, 5, 6, 7, 8, 9)],
    loss: ["Loss", [["softmax", "softmax cross-entropy"], ["stablemax", "StableMax"], ["exact", "collapse-free"]]],
    precision: ["Precision of the loss", ["float16", "float32", "float64"].map((x) => [x, x])],
    optimizer: ["Optimiser", [["adamw", "AdamW"], ["orthogonal", "AdamW with ⊥Grad"], ["sgd", "SGD"]]],
    rate: ["Learning rate", numbers(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10)],
    decay: ["Weight decay", numbers(0, 0.001, 0.01, 0.1, 0.3, 1, 3)],
    penalty: ["Penalty on activations", numbers(0, 0.01, 0.03, 0.1, 0.3, 1)],
  };
  const ANEW = ["p", "width", "share", "seed"]; // what a running network cannot change

  /** What the worker does: steps in slices of time, and words in between. */
  function work(core) {
    let net, timer, points;
    const tell = () => {
      const now = points.at(-1)?.step === net.steps ? points.at(-1) : core.look(net);
      postMessage({ points, now, circles: core.circles(net) });
      points = [];
    };
    const slice = (last, pause) => {
      for (const end = Date.now() + pause; net.steps < last && Date.now() < end;) {
        core.step(net);
        if (core.logged(net.steps)) points.push(core.look(net));
      }
      tell();
      if (net.steps < last) timer = setTimeout(slice, 0, last, pause);
      else postMessage({ over: true });
    };
    onmessage = ({ data: { settings, go, last, pause } }) => {
      clearTimeout(timer);
      if (settings && net) net.settings = settings;
      if (!net) {
        net = core.create(settings);
        points = [core.look(net)];
        tell();
      }
      if (go) slice(last, pause);
    };
  }

  const [WIDTH, HEIGHT, TOP] = [360, 236, 28];
  const across = scale([0, Math.log10(LAST)], [44, WIDTH - 12]);
  const x = (step) => across(Math.log10(Math.max(step, 1)));
  const share = scale([0, 100], [HEIGHT - 34, TOP]);
  const GAPS = { float16: 11 * Math.LN2, float32: 24 * Math.LN2, float64: 53 * Math.LN2 };

  function axes(title, y, ticks, show) {
    const steps = [1, 10, 100, 1000, 10000];
    return [text(WIDTH / 2 + 18, HEIGHT - 4, "step, logarithmic"), text(4, 12, title, "", "start"),
      ...steps.map((at) => text(x(at), HEIGHT - 20, at.toLocaleString("en-GB"))),
      ...ticks.flatMap((at) => [line(x(1), y(at), x(LAST), y(at), "grid"),
        text(x(1) - 4, y(at) + 4, show(at), "", "end")])];
  }

  /** The numbers 0 to p - 1 in the plane of one frequency, joined as their angles grow. */
  function circle({ k, places }, at) {
    const [cx, cy, r] = [60 + 120 * at, 62, 50];
    const far = Math.max(...places.map(([a, b]) => Math.hypot(a, b))) || 1;
    const put = ([a, b]) => [cx + (r * a) / far, cy - (r * b) / far];
    const p = places.length;
    const order = Array.from({ length: p }, (_, a) => a).sort((a, b) => ((a * k) % p) - ((b * k) % p));
    return [path([...order, order[0]].map((a) => put(places[a])), "grid"),
      ...places.map((place, a) => {
        const [px, py] = put(place);
        return make("svg:circle", { cx: px.toFixed(1), cy: py.toFixed(1), r: 3, class: "dot kept",
          opacity: (0.25 + (0.75 * a) / p).toFixed(2) });
      }),
      text(cx, 130, `frequency ${k}`)];
  }

  start("trainer", (live) => {
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    const controls = Object.fromEntries(
      Object.entries(CONTROLS).map(([name, [words, options]]) => [name, choice(words, options)]));
    const preset = choice("What to try", [...Object.entries(PRESETS).map(([name, { words }]) => [name, words]), ["", "your own settings"]]);
    const button = (words) => make("button", { type: "button" }, words);
    const [run, reset, link] = ["Start", "Reset", "Share a link"].map(button);
    const recipe = make("span");
    const accuracy = picture(WIDTH, HEIGHT, "Accuracy in training and test, and collapsed samples, against the step");
    const gap = picture(WIDTH, HEIGHT, "Mean gap of the logits against the step");
    const rings = picture(WIDTH, 138, "The numbers of the clock in the planes of the three strongest frequencies");
    const values = make("p", { class: "numbers" });
    const said = make("p", { class: "said", role: "status", "aria-live": "polite" });
    let worker, running, points, marks, reached;

    const read = () => Object.fromEntries(Object.entries(controls).map(([name, { input }]) =>
      [name, Number.isNaN(Number(input.value)) ? input.value : Number(input.value)]));
    const same = (a, b) => Object.keys(DEFAULTS).every((name) => a[name] === b[name]);

    function write(settings) {
      for (const [name, { input }] of Object.entries(controls)) input.value = settings[name];
      described();
    }

    function described() {
      const settings = read();
      const words = Object.fromEntries(Object.entries(controls).map(([name, { input }]) =>
        [name, input.selectedOptions[0].textContent]));
      recipe.textContent = `p = ${words.p}, width ${words.width}, ${words.share} of the table, ${words.loss} in `
        + `${words.precision}, ${words.optimizer}, rate ${words.rate}, decay ${words.decay}, penalty ${words.penalty}, seed ${words.seed}`;
      preset.input.value = Object.keys(PRESETS).find((name) => same(settingsOf(name), settings)) ?? "";
      return settings;
    }

    const address = () => `#${ANCHOR}:${new URLSearchParams(read())}`;

    function curves() {
      const drawn = (name, kind, y) => path(points.slice(1).map((point) => [x(point.step), y(point[name])]), kind);
      const percent = (value) => share(100 * value);
      const lines = (low) => marks.map((at) => line(x(at), HEIGHT - 34, x(at), low, "now"));
      accuracy.replaceChildren(...axes("share of answers or samples", share, [0, 50, 100], (at) => `${at} %`), ...lines(TOP),
        drawn("collapsed", "thick removed", percent), drawn("train", "thick train", percent),
        drawn("test", "thick test", percent));
      const { loss, precision } = read();
      const limit = loss === "softmax" ? GAPS[precision] : Infinity;
      const most = Math.max(20, ...points.map((point) => point.gap));
      const y = scale([0, most], [HEIGHT - 34, TOP]);
      const parts = limit < most ? [line(x(1), y(limit), x(LAST), y(limit), "now"),
        text(x(1) + 4, y(limit) - 4, `${precision} begins to absorb`, "", "start")] : [];
      gap.replaceChildren(...axes("mean gap of the logits", y, [0, most / 2, most], (at) => say(Math.round(at))), ...lines(TOP), ...parts,
        drawn("gap", "thick kept", y));
    }

    function shown({ points: more, now, circles, over }) {
      if (over) return pause("The training is over.");
      points.push(...more);
      const say100 = (value) => `${(100 * value).toFixed(0)} %`;
      for (const [name, level, words] of [["train", 1, "the network knows all its examples"],
        ["test", 0.95, "it answers 95 % of the other questions"]]) {
        const found = points.find((point) => point[name] >= level);
        if (!found || reached[name]) continue;
        reached[name] = found.step;
        said.textContent = Object.keys(reached).length > 1
          ? `Examples known at step ${reached.train}, 95 % of the other questions at step ${reached.test}.`
          : `At step ${found.step} ${words}.`;
      }
      values.textContent = `step ${now.step.toLocaleString("en-GB")} · training ${say100(now.train)} · test `
        + `${say100(now.test)} · collapsed ${say100(now.collapsed)} · gap ${now.gap.toFixed(1)} · waves ${say100(circles.waves)}`;
      curves();
      rings.replaceChildren(...circles.planes.flatMap(circle));
    }

    function pause(words) {
      running = false;
      run.textContent = "Start";
      worker.postMessage({});
      if (words) said.textContent = words;
    }

    function anew() {
      worker?.terminate();
      [points, marks, reached, running] = [[], [], {}, false];
      run.textContent = "Start";
      // from a text, since a page on a disk may not load the file of a worker
      const source = `"use strict";(${work})((${grokbook.trainerCore})());`;
      worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
      worker.onmessage = ({ data }) => shown(data);
      worker.onerror = () => (said.textContent = "This browser does not start the worker that trains.");
      worker.postMessage({ settings: described() });
      said.textContent = "Ready: press Start.";
    }

    run.addEventListener("click", () => {
      if (running) return pause("Paused.");
      running = true;
      run.textContent = "Pause";
      said.textContent = "Training.";
      worker.postMessage({ go: true, last: LAST, pause: still.matches ? 2000 : 120 });
    });
    reset.addEventListener("click", anew);
    link.addEventListener("click", async () => {
      history.replaceState(null, "", address());
      try {
        await navigator.clipboard.writeText(location.href);
        said.textContent = "The link is copied, and stands in the address bar.";
      } catch {
        said.textContent = "The link stands in the address bar.";
      }
    });
    preset.input.addEventListener("change", () => {
      if (!preset.input.value) return;
      write(settingsOf(preset.input.value));
      history.replaceState(null, "", address());
      anew();
    });
    for (const [name, { input }] of Object.entries(controls))
      input.addEventListener("change", () => {
        const settings = described();
        history.replaceState(null, "", address());
        if (ANEW.includes(name) || points.length < 2) return anew();
        marks.push(points.at(-1).step);
        worker.postMessage({ settings, go: running, last: LAST, pause: still.matches ? 2000 : 120 });
      });

    live.append(preset.row,
      make("div", { class: "buttons" }, run, reset, link),
      make("details", {}, make("summary", {}, recipe),
        make("div", { class: "controls" }, ...Object.values(controls).map(({ row }) => row))),
      said,
      make("div", { class: "pair" }, make("div", {}, accuracy,
        make("p", { class: "key" }, make("span", { class: "train" }, "training"),
          make("span", { class: "test" }, "test"), make("span", { class: "removed" }, "collapsed"))),
      make("div", {}, gap, make("p", { class: "key" }, make("span", { class: "kept" }, "gap of the logits")))),
      values, rings);
    const [name, query] = location.hash.slice(1).split(":");
    const linked = name === ANCHOR && query ? Object.fromEntries(new URLSearchParams(query)) : {};
    write(DEFAULTS);
    for (const [key, value] of Object.entries(linked))
      if (controls[key]?.input.querySelector(`option[value="${CSS.escape(value)}"]`)) controls[key].input.value = value;
    if (query) requestAnimationFrame(() => live.scrollIntoView());
    anew();
  });
})();
