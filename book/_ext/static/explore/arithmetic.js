/* The arithmetic of four floating-point types, and of the cross-entropy of one sample.

   A JavaScript number is a float64. The other types round it: float32 after each
   operation, float16 and bfloat16 where torch's CPU kernel stores a value, since torch
   computes both in float32 in between.

   Not covered: sums that overflow, NaN, a GPU (its kernels store less in between). */
"use strict";
window.grokbook = window.grokbook || {};

grokbook.arithmetic = (() => {
  const bits = new DataView(new ArrayBuffer(8));

  /** Exponent e with 2^e <= |x| < 2^(e+1), of a normal float64. */
  function exponent(x) {
    bits.setFloat64(0, x);
    return ((bits.getUint16(0) >> 4) & 0x7ff) - 1023;
  }

  /** The nearest number with a significand of `digits` bits, ties to even.
      Below 2^least the spacing no longer shrinks. */
  function rounded(x, digits, least) {
    if (x === 0 || !Number.isFinite(x)) return x;
    const step = 2 ** (Math.max(exponent(x), least) - digits + 1);
    const below = Math.floor(x / step);
    const rest = x / step - below;
    const up = rest > 0.5 || (rest === 0.5 && below % 2 !== 0);
    return (below + (up ? 1 : 0)) * step;
  }

  const same = (x) => x;
  const TYPES = {
    float16: { store: (x) => rounded(x, 11, -14), compute: Math.fround, eps: 2 ** -10 },
    bfloat16: { store: (x) => rounded(x, 8, -126), compute: Math.fround, eps: 2 ** -7 },
    float32: { store: Math.fround, compute: Math.fround, eps: 2 ** -23 },
    float64: { store: same, compute: same, eps: 2 ** -52 },
  };

  /** 1 + (classes - 1) * term in torch's order: `lanes` sums side by side, then joined. */
  function total(classes, term, type, lanes) {
    const add = (a, b) => TYPES[type].compute(a + b);
    const wide = type === "float64" ? lanes / 2 : lanes;
    const sums = Array(Math.min(wide, classes)).fill(term);
    sums[0] = 1;
    for (let k = wide; k < classes; k++) sums[k % wide] = add(sums[k % wide], term);
    if (classes < wide || type === "float64") return sums.reduce(add);
    for (let apart = wide / 2; apart >= 1; apart /= 2)
      for (let k = 0; k < apart; k++) sums[k] = add(sums[k], sums[k + apart]);
    return sums[0];
  }

  /** What torch's cross_entropy and its gradient make of the logits (gap, 0, ..., 0). */
  function crossEntropy(gap, classes, type, lanes = 16) {
    const { store, compute } = TYPES[type];
    const lead = store(gap);
    const sum = total(classes, compute(Math.exp(-lead)), type, lanes);
    const log = store(compute(Math.log(store(sum))));
    const correct = store(compute(0 - log));
    const other = store(compute(compute(0 - lead) - log));
    return {
      probability: store(compute(1 / sum)),
      loss: 0 - correct,
      correct: store(compute(compute(Math.exp(correct)) - 1)),
      other: store(compute(Math.exp(other))),
    };
  }

  /** The least gap, on a grid of `step`, from which on a result of a type is 0. */
  function vanishes(what, classes, type, until = 46, step = 0.05) {
    for (let n = 0; n <= Math.round(until / step); n++)
      if (crossEntropy(n * step, classes, type)[what] === 0) return n * step;
    return null;
  }

  return { TYPES, rounded, crossEntropy, vanishes };
})();
