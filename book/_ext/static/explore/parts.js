/* What the pictures share: SVG elements, axes, labelled controls, and dragging. */
"use strict";
window.grokbook = window.grokbook || {};

grokbook.parts = (() => {
  const MINUS = "\u2212";

  /** An element with attributes and children; `svg:` before the tag makes it SVG. */
  function make(tag, attributes = {}, ...children) {
    const name = tag.replace("svg:", "");
    const element = tag.startsWith("svg:")
      ? document.createElementNS("http://www.w3.org/2000/svg", name)
      : document.createElement(name);
    for (const [key, value] of Object.entries(attributes))
      element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  /** The function that takes a value between two ends to a place between two others. */
  const scale = ([a, b], [from, to]) => (x) => from + ((x - a) / (b - a)) * (to - from);

  /** A number for readers: four digits, powers of ten where it is far from 1. */
  function say(x) {
    if (x === 0) return "0";
    const size = Math.abs(x);
    if (size >= 0.001 && size < 1e4)
      return String(Number(x.toPrecision(4))).replace("-", MINUS);
    const [digits, power] = x.toExponential(2).split("e");
    const raised = [...String(Number(power))].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]));
    return `${digits.replace("-", MINUS)} · 10${raised.join("")}`;
  }

  /** A labelled range with its value beside it; arrow keys move it by one step. */
  function slider(label, options, show = say) {
    const input = make("input", { type: "range", ...options });
    const value = make("output", {});
    const tell = () => {
      value.textContent = show(Number(input.value));
      input.setAttribute("aria-valuetext", value.textContent);
    };
    input.addEventListener("input", tell);
    tell();
    const row = make("label", {}, make("span", {}, label), input, value);
    const set = (to) => {
      input.value = to;
      input.dispatchEvent(new Event("input"));
    };
    return { row, input, set, get: () => Number(input.value) };
  }

  /** A labelled choice among [value, words]. */
  function choice(label, options) {
    const entries = options.map(([value, words]) => make("option", { value }, words));
    const input = make("select", {}, ...entries);
    return { row: make("label", {}, make("span", {}, label), input), input };
  }

  /** Calls `act` with places in the units of the picture while a pointer is down. */
  function drag(svg, act) {
    const move = (event) => {
      const place = new DOMPoint(event.clientX, event.clientY);
      const { x, y } = place.matrixTransform(svg.getScreenCTM().inverse());
      act(x, y);
    };
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      move(event);
    });
    svg.addEventListener("pointermove", (event) => {
      if (svg.hasPointerCapture(event.pointerId)) move(event);
    });
  }

  const line = (x1, y1, x2, y2, name) =>
    make("svg:line", { x1, y1, x2, y2, class: name });
  const text = (x, y, words, name = "", anchor = "middle") =>
    make("svg:text", { x, y, class: name, "text-anchor": anchor }, words);

  /** A path through points; one whose second part is null interrupts it. */
  function path(points, name) {
    let pen = "M";
    const steps = points.map(([x, y]) => {
      if (y === null) return (pen = "M"), "";
      const step = `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
      pen = "L";
      return step;
    });
    return make("svg:path", { d: steps.join(""), class: name });
  }

  /** An empty picture that a screen reader knows by a label. */
  const picture = (width, height, label) =>
    make("svg:svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });

  /** Replaces what stands for a picture where there is no script. */
  function start(name, build) {
    document.addEventListener("DOMContentLoaded", () => {
      for (const place of document.querySelectorAll(`[data-explorable="${name}"]`)) {
        const live = make("div", { class: "live" });
        build(live);
        place.querySelector(".still")?.setAttribute("hidden", "");
        place.prepend(live);
      }
    });
  }

  return { make, scale, say, slider, choice, drag, line, text, path, picture, start };
})();
