/* Tasks of the trainer: what to find out, which runs reach the goal, what to write.

   A run is { points, overflowed }: what the trainer logged, { step, train, test,
   collapsed, gap, settings } at each point, and the step at which numbers overflowed,
   or null. A goal looks at all runs since the task was set up and gives its parts, each
   [whether it is reached, in words]. No page is needed. */
"use strict";
(globalThis.grokbook ||= {}).lab = function ({ DEFAULTS, OFFERED, settingsOf }) {
  const KNOWN = 1, RIGHT = 0.95; // shares of examples, and of the other questions

  /** The first logged step of a run at which a share is at least at a level. */
  const first = (run, name, level) => run.points.find((point) => point[name] >= level)?.step ?? Infinity;
  const last = (run) => run.points.at(-1);
  const begun = (run) => run.points[0].settings;

  /** The names of the settings in which two differ. */
  const changed = (one, other) => Object.keys(DEFAULTS).filter((name) => one[name] !== other[name]);

  /** Runs that begin as a preset does, but for some settings, and never change. */
  const among = (runs, preset, free) => runs.filter((run) => !changed(begun(run), last(run).settings).length
    && changed(begun(run), settingsOf(preset)).every((name) => free.includes(name)));
  const rule = (run) => first(run, "test", RIGHT);

  const LONG = 500, CALM = 200, SOON = 2000, SEEDS = 3;

  /** Whether runs show the lowest rate at which numbers overflow with a decay. */
  function edge(runs, decay) {
    const tried = among(runs, "decay", ["rate", "decay", "seed"]).filter((run) => begun(run).decay === decay);
    const bad = tried.filter((run) => run.overflowed !== null).map((run) => begun(run).rate);
    const lower = OFFERED.rate[OFFERED.rate.indexOf(Math.min(...bad)) - 1];
    return tried.some((run) => begun(run).rate === lower && run.overflowed === null && last(run).step >= CALM);
  }

  /** Settings without the seed, of runs without decay that have the rule soon, in enough seeds. */
  function remedies(runs) {
    const seeds = {};
    for (const run of runs) {
      const { seed, ...others } = begun(run);
      if (others.decay !== 0 || changed(begun(run), last(run).settings).length || rule(run) > SOON) continue;
      (seeds[JSON.stringify(others)] ||= new Set()).add(seed);
    }
    return Object.values(seeds).filter(({ size }) => size >= SEEDS).length;
  }

  return {
    wait: {
      title: "A long wait", minutes: 10, begin: "decay",
      words: `Change the learning rate alone, so that the rule comes at least ${LONG} steps after all examples are known. Predict first: a larger rate, or a smaller one?`,
      ask: "Between the two steps, what do the gap and the mean unit under the plots do? Compare with a run at the rate that the task begins with.",
      goal: (runs) => [[among(runs, "decay", ["rate", "seed"]).some((run) => rule(run) < Infinity
        && rule(run) - first(run, "train", KNOWN) >= LONG), `a run with all examples known, and 95 % of the other questions right ${LONG} steps later or more`]],
    },
    clock: {
      title: "One clock, two settings", minutes: 15, begin: "decay",
      words: "Find two runs with the same seed, but with different learning rates and different decays, whose rule comes at nearly the same step.",
      ask: "Which number do your two runs share, and what does it do to a weight in each step?",
      goal: (runs) => {
        const found = among(runs, "decay", ["rate", "decay", "seed"]).filter((run) => rule(run) < Infinity);
        const alike = (one, other) => begun(one).seed === begun(other).seed && begun(one).rate !== begun(other).rate
          && begun(one).decay !== begun(other).decay && Math.abs(rule(one) / rule(other) - 1) <= 0.1;
        return [[found.length > 0, "a run with 95 % of the other questions right"],
          [found.some((one) => found.some((other) => alike(one, other))), "another one within a tenth of its step, with another rate and another decay"]];
      },
    },
    overflow: {
      title: "The edge of overflow", minutes: 10, begin: "decay",
      words: `Find the lowest learning rate at which the numbers overflow: the next lower one has to last ${CALM} steps. Then find it with decay 0.3.`,
      ask: "AdamW takes rate × decay of each weight away in every step. From which value on do weights grow by this, and do both of your rates agree?",
      goal: (runs) => [1, 0.3].map((decay) => [edge(runs, decay), `decay ${decay}: a run that overflows, and one of ${CALM} steps at the next lower rate that does not`]),
    },
    collapse: {
      title: "Collapse", minutes: 15, begin: "half",
      words: "Train until every sample has collapsed, and read the gap. Then train the same seed in float64 until its gap is as large.",
      ask: "Why has float64 not collapsed at a gap at which float16 has? Name the smallest step above 1 of both types.",
      goal: (runs) => {
        const tried = among(runs, "half", ["precision", "seed"]);
        const gone = tried.filter((run) => begun(run).precision === "float16" && first(run, "collapsed", 1) < Infinity);
        const kept = (one) => tried.some((run) => begun(run).precision === "float64" && begun(run).seed === begun(one).seed
          && run.points.some(({ gap, collapsed }) => collapsed < 0.01 && gap >= one.points.find((point) => point.collapsed >= 1).gap));
        return [[gone.length > 0, "float16: every sample has collapsed"], [gone.some(kept), "float64: the same gap, and no sample in a hundred has collapsed"]];
      },
    },
    rescue: {
      title: "A rescue", minutes: 15, begin: "half",
      words: "Train until every sample has collapsed. Then, in the same run, change one control, so that the network finds the rule after all.",
      ask: "What did your change give back to the network, and what would a softmax in float32 have changed?",
      goal: (runs) => {
        const fallen = runs.filter((run) => !changed(begun(run), settingsOf("half")).filter((name) => name !== "seed").length
          && run.points.some(({ collapsed, settings }) => collapsed >= 1 && !changed(settings, begun(run)).length));
        const saved = (run) => changed(begun(run), last(run).settings).length === 1 && run.points.some((point) =>
          point.test >= RIGHT && changed(point.settings, begun(run)).length === 1);
        return [[fallen.length > 0, "a run in which every sample has collapsed"], [fallen.some(saved), "in the same run, after one change, 95 % of the other questions right"]];
      },
    },
    remedies: {
      title: "Two remedies", minutes: 20, begin: "off",
      words: `Leave decay at 0. Find two other changes with which the rule comes within ${SOON.toLocaleString("en-GB")} steps, each with ${SEEDS} seeds.`,
      ask: "What does each of your two changes do to a step, and which one would you rather use?",
      goal: (runs) => [1, 2].map((many) => [remedies(runs) >= many, `${many === 1 ? "one change" : "a second change"}: 95 % of the other questions right with ${SEEDS} seeds`]),
    },
  };
};
