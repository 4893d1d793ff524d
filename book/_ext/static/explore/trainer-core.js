/* A network that learns a + b modulo p, and every step that it takes. No page is needed.

   One hidden layer of ReLU without biases reads a and b as two one-hots. It trains on a
   share of the table, all of it in every step, in float64. The loss alone computes in
   another type, as torch does on a CPU: float32 rounds each result; float16 is computed
   in float32 and rounded where torch stores a value. Sums have the order of vectors of
   512 bits. Exponentials differ from torch's by the last bit, as they do among libraries.

   Definitions: losses.py, penalties.py (`activations` at `pre`) and optimizers/ of the
   package; ⊥Grad is the official code's, which keeps the norm of each gradient.

   A worker gets this function as text, so it names nothing outside itself. */
"use strict";
(globalThis.grokbook ||= {}).trainerCore = function () {
  const [BETA1, BETA2, EPS, TINY, LANES] = [0.9, 0.98, 1e-8, 1e-30, 16];
  const DEFAULTS = {
    p: 31, width: 128, share: 0.7, loss: "softmax", precision: "float32",
    optimizer: "adamw", rate: 0.03, decay: 1, penalty: 0, seed: 1,
  };

  // The values that each setting offers.
  const OFFERED = {
    p: [23, 31, 47, 59], width: [32, 64, 128, 256], share: [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    seed: [1, 2, 3, 4, 5, 6, 7, 8, 9],
    loss: ["softmax", "stablemax", "exact"], precision: ["float16", "float32", "float64"],
    optimizer: ["adamw", "orthogonal", "sgd"], rate: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    decay: [0, 0.001, 0.01, 0.1, 0.3, 1, 3], penalty: [0, 0.01, 0.03, 0.1, 0.3, 1],
  };

  // What to try, each as a question with what it changes; `groks` where seeds 1 to 5 do.
  const PRESETS = {
    decay: { title: "weight decay", words: "How long after the examples does the rule come?", groks: true },
    off: { title: "no decay", words: "Without weight decay: does it still generalise?", decay: 0 },
    orthogonal: { title: "⊥Grad, no decay", words: "Steps at right angles to the weights: does it generalise?", decay: 0, optimizer: "orthogonal", groks: true },
    penalty: { title: "small activations, no decay", words: "A penalty on activations: does it generalise?", decay: 0, penalty: 0.3, groks: true },
    half: { title: "float16, no decay", words: "When has every sample collapsed?", decay: 0, precision: "float16" },
    table: { title: "60 % of the table", words: "Fewer examples: how much later is the rule?", share: 0.6, groks: true },
  };

  function settingsOf(name) {
    const { title, words, groks, ...changes } = PRESETS[name];
    return { ...DEFAULTS, ...changes };
  }

  const wide = new Float64Array(1);
  const halves = new Int32Array(wide.buffer);
  const SHIFTS = Float64Array.from({ length: 2048 }, (_, e) => 1.5 * 2 ** (Math.max(e - 1023, -14) + 42));

  /** The nearest float16: a shift that leaves eleven bits of the sum, ties to even. */
  function half(x) {
    if (!Number.isFinite(x)) return x;
    wide[0] = x;
    const shift = SHIFTS[(halves[1] >>> 20) & 0x7ff];
    const near = x + shift - shift;
    return Math.abs(near) > 65504 ? Math.sign(x) * Infinity : near;
  }
  const same = (x) => x;
  const TYPES = {
    float16: { store: Math.f16round || half, compute: Math.fround },
    float32: { store: Math.fround, compute: Math.fround },
    float64: { store: same, compute: same },
  };

  const lanes = new Float64Array(LANES);

  /** The sum of n terms in the order of a vector unit. */
  function total(terms, n, compute) {
    const w = Math.min(LANES, n);
    for (let k = 0; k < w; k++) lanes[k] = terms[k];
    for (let k = w; k < n; k++) lanes[k % w] = compute(lanes[k % w] + terms[k]);
    if (w < LANES) {
      for (let k = 1; k < w; k++) lanes[0] = compute(lanes[0] + lanes[k]);
      return lanes[0];
    }
    for (let apart = w / 2; apart >= 1; apart /= 2)
      for (let k = 0; k < apart; k++) lanes[k] = compute(lanes[k] + lanes[k + apart]);
    return lanes[0];
  }

  // Each takes n logits z in its type and the label, writes g times the gradient into
  // `out`, and says whether its sum has lost all terms but the largest. `e` is scratch.
  const LOSSES = {
    softmax(z, n, label, g, out, e, { store, compute }) {
      let top = -Infinity;
      for (let k = 0; k < n; k++) if (z[k] > top) top = z[k];
      for (let k = 0; k < n; k++) e[k] = compute(Math.exp(compute(z[k] - top)));
      const sum = store(total(e, n, compute));
      const log = store(compute(Math.log(sum)));
      for (let k = 0; k < n; k++) {
        const chance = compute(Math.exp(store(compute(compute(z[k] - top) - log))));
        out[k] = store(compute(compute(chance * g) - (k === label ? g : 0)));
      }
      return sum === 1;
    },

    stablemax(z, n, label, g, out, e, { store, compute }) {
      let top = 0;
      for (let k = 0; k < n; k++) {
        e[k] = z[k] >= 0 ? store(z[k] + 1) : store(1 / store(1 - z[k]));
        if (e[k] > top) top = e[k];
      }
      const sum = store(total(e, n, compute));
      const share = store(e[label] / sum);
      const pull = store(-g / share); // of the share, through its logarithm
      const all = store(-pull * store(share / sum));
      const own = store(all + store(pull / sum));
      for (let k = 0; k < n; k++) {
        const slope = Math.min(e[k], 1);
        out[k] = store(store(slope * slope) * (k === label ? own : all));
      }
      return sum === top;
    },

    exact(z, n, label, g, out, e, { store, compute }) {
      let shift = 0;
      for (let k = 0; k < n; k++) {
        e[k] = k === label ? -Infinity : store(z[k] - z[label]);
        if (e[k] > shift) shift = e[k];
      }
      for (let k = 0; k < n; k++) e[k] = store(compute(Math.exp(store(e[k] - shift))));
      const sum = store(total(e, n, compute));
      const inside = store(sum + store(compute(Math.expm1(-shift))));
      const pull = store(g / store(inside + 1));
      for (let k = 0; k < n; k++) out[k] = store(pull * e[k]);
      out[label] = -store(total(out, n, compute));
      return inside === 0;
    },
  };

  /** Numbers in [0, 1) that a seed fixes: a counter, stirred. */
  function chance(seed) {
    let count = Math.imul(seed, 0x9e3779b1);
    return () => {
      count = (count + 0x6a09e667) | 0;
      let x = Math.imul(count ^ (count >>> 16), 0x85ebca6b);
      x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
      return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
    };
  }

  /** A network at its start. `given` may bring `pairs` and `weights` of a test. */
  function create(settings, given = {}) {
    const { p, width, share, seed } = settings;
    const random = chance(seed);
    const pairs = Int32Array.from({ length: p * p }, (_, at) => at);
    for (let at = p * p - 1; at > 0; at--) {
      const other = Math.floor(random() * (at + 1));
      [pairs[at], pairs[other]] = [pairs[other], pairs[at]];
    }
    const matrix = (rows, columns) =>
      Float64Array.from({ length: rows * columns }, () => (2 * random() - 1) / Math.sqrt(rows));
    const weights = given.weights?.map((w) => Float64Array.from(w))
      ?? [matrix(2 * p, width), matrix(width, p)];
    const like = () => weights.map((w) => new Float64Array(w.length));
    return {
      settings: { ...settings }, weights, steps: 0, overflowed: false, pairs: given.pairs ?? pairs,
      examples: Math.floor(share * p * p), grads: like(), means: like(), squares: like(),
      before: new Float64Array(width), logits: new Float64Array(p), stored: new Float64Array(p),
      slopes: new Float64Array(p), scratch: new Float64Array(p),
    };
  }

  /** Logits of one cell of the table; its answer; whether the largest is the right one. */
  function answer(net, cell) {
    const { before, logits, settings: { p, width }, weights: [first, last] } = net;
    const row = Math.floor(cell / p), column = p + (cell % p);
    logits.fill(0);
    for (let j = 0; j < width; j++) {
      const x = first[row * width + j] + first[column * width + j];
      before[j] = x;
      if (x <= 0) continue;
      for (let k = 0, at = j * p; k < p; k++, at++) logits[k] += x * last[at];
    }
    return (row + column) % p;
  }

  /** The gradient of the loss of one cell at its logits, into net.slopes.

      Says whether the cell has collapsed, and notes in the network if a number is not
      finite: then there is neither a loss nor a collapse. */
  function judge(net, label) {
    const { stored, logits, slopes, scratch, examples, settings: { p, loss, precision } } = net;
    const type = TYPES[precision];
    for (let k = 0; k < p; k++) stored[k] = type.store(logits[k]);
    const collapsed = LOSSES[loss](stored, p, label, type.store(1 / examples), slopes, scratch, type);
    for (let k = 0; k < p; k++)
      if (!Number.isFinite(stored[k]) || !Number.isFinite(slopes[k])) net.overflowed = true;
    return collapsed;
  }

  /** Take from a gradient its part along the weights, and stretch the rest to its norm. */
  function turn(grad, weights) {
    let product = 0, square = 0, was = 0, now = 0;
    for (let i = 0; i < grad.length; i++) {
      product += grad[i] * weights[i];
      square += weights[i] * weights[i];
      was += grad[i] * grad[i];
    }
    const share = product / (square + TINY);
    for (let i = 0; i < grad.length; i++) {
      grad[i] -= share * weights[i];
      now += grad[i] * grad[i];
    }
    const ratio = Math.sqrt(was) / (Math.sqrt(now) + TINY);
    for (let i = 0; i < grad.length; i++) grad[i] *= ratio;
  }

  /** One step on all examples, or none if their numbers overflow. */
  function step(net) {
    const { settings, weights, grads, before, slopes, pairs, examples } = net;
    const { p, width, optimizer, rate, decay } = settings;
    const [upper, last] = [grads[1], weights[1]];
    const hold = (2 * settings.penalty) / (examples * width);
    for (const grad of grads) grad.fill(0);
    for (let i = 0; i < examples; i++) {
      const row = Math.floor(pairs[i] / p) * width, column = (p + (pairs[i] % p)) * width;
      judge(net, answer(net, pairs[i]));
      for (let j = 0; j < width; j++) {
        const x = before[j];
        let slope = hold * x;
        if (x > 0) {
          let sum = 0;
          for (let k = 0, at = j * p; k < p; k++, at++) {
            sum += slopes[k] * last[at];
            upper[at] += x * slopes[k];
          }
          slope += sum;
        }
        grads[0][row + j] += slope;
        grads[0][column + j] += slope;
      }
    }
    if (net.overflowed) return;
    net.steps += 1;
    const bias = Math.sqrt(1 - BETA2 ** net.steps), reach = rate / (1 - BETA1 ** net.steps);
    grads.forEach((grad, layer) => {
      const [w, mean, square] = [weights[layer], net.means[layer], net.squares[layer]];
      if (optimizer === "orthogonal") turn(grad, w);
      for (let i = 0; i < w.length; i++) {
        const g = grad[i];
        mean[i] += (1 - BETA1) * (g - mean[i]);
        square[i] = BETA2 * square[i] + (1 - BETA2) * g * g;
        if (optimizer === "sgd") w[i] -= rate * (g + decay * w[i]);
        else w[i] -= rate * decay * w[i] + (reach * mean[i]) / (Math.sqrt(square[i]) / bias + EPS);
      }
    });
  }

  /** What is seen of a network: accuracies, collapsed samples and mean gap in training. */
  function look(net) {
    const { pairs, examples, logits, settings: { p } } = net;
    const right = [0, 0];
    let collapsed = 0, gap = 0;
    for (let i = 0; i < pairs.length; i++) {
      const label = answer(net, pairs[i]);
      let top = 0, second = -Infinity;
      for (let k = 1; k < p; k++) {
        if (logits[k] > logits[top]) (second = logits[top]), (top = k);
        else if (logits[k] > second) second = logits[k];
      }
      if (top === label) right[Number(i >= examples)] += 1;
      if (i >= examples) continue;
      gap += logits[top] - second;
      if (judge(net, label)) collapsed += 1;
    }
    if (!Number.isFinite(gap)) net.overflowed = true;
    return {
      step: net.steps, train: right[0] / examples, test: right[1] / (pairs.length - examples),
      collapsed: collapsed / examples, gap: gap / examples,
    };
  }

  /** Whether the curves have a point here: about 60 for each power of ten. */
  const logged = (step) => step < 30 || step % Math.ceil(step / 30) === 0;

  /** One step, and what is then seen if the curves have a point there.

      Null without a point, and where numbers overflow: nothing is seen of these. */
  function advance(net) {
    step(net);
    if (net.overflowed || !logged(net.steps)) return null;
    const seen = look(net);
    return net.overflowed ? null : seen;
  }

  /** How far the units of the first layer are waves of a, and two of them.

      `share` is the part of a unit's power in its strongest frequency k, `mean` that of all
      units. `units` are the unit with the largest share and the one in the middle: weights
      of all numbers, without their mean, of which the largest is 1; and the wave
      u cos(2πka / p) + v sin(2πka / p) that is nearest to them. */
  function waves(net) {
    const { settings: { p, width }, weights: [first] } = net;
    const turn = (2 * Math.PI) / p;
    const cos = Float64Array.from({ length: p }, (_, at) => Math.cos(turn * at));
    const sin = Float64Array.from({ length: p }, (_, at) => Math.sin(turn * at));
    const units = Array.from({ length: width }, (_, j) => {
      const raw = Array.from({ length: p }, (_, a) => first[a * width + j]);
      const unit = raw.reduce((most, x) => Math.max(most, Math.abs(x)), 0) || 1;
      const mean = raw.reduce((sum, x) => sum + x / unit, 0) / p;
      const centred = raw.map((x) => x / unit - mean);
      const largest = Math.max(...centred.map(Math.abs)) || 1;
      const weights = centred.map((x) => x / largest);
      let all = 0, best = { power: -1 };
      for (let k = 1; k <= (p - 1) / 2; k++) {
        let u = 0, v = 0;
        for (let a = 0; a < p; a++) {
          u += (2 / p) * cos[(k * a) % p] * weights[a];
          v += (2 / p) * sin[(k * a) % p] * weights[a];
        }
        const power = u * u + v * v;
        all += power;
        if (power > best.power) best = { k, u, v, power };
      }
      return { ...best, share: all ? best.power / all : 0, weights };
    });
    units.sort((one, other) => other.share - one.share);
    const mean = units.reduce((sum, { share }) => sum + share, 0) / width;
    return { mean, units: [units[0], units[width >> 1]] };
  }

  return { DEFAULTS, OFFERED, PRESETS, settingsOf, half, create, step, look, logged, advance, waves };
};
