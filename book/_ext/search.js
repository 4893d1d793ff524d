// How the search ranks pages, and which words it takes for others. Sphinx puts this in
// the place of its own scorer, which knows the best word of a query alone.
var Scorer = {
  objNameMatch: 0, objPartialMatch: 0, objPrio: {}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,

  // What readers write -> what the book writes.
  same: [
    [/(regular|normal|general|memor|penal)iz/g, "$1is"],
    [/⊥\s?(adamw|grad)|perp-?grad|orthogonal gradients?/g, "grad"],
    [/\bfp(16|32|64)\b/g, "float$1"], [/half precision/g, "float16"], [/bf16/g, "bfloat16"],
    [/layernorm|\bln\b/g, "layer norm"], [/\bl2\b/g, "weight decay"], [/\blr\b/g, "learning rate"],
    [/speed-?ups?|faster|accelerat\w+/g, "sooner"], [/catapults?/g, "slingshot"],
    [/\b(defin\w+|what is|meaning|does|how|choose|works?|real)\b/g, ""],
  ],
  // Lists and histories contain every word; questions answer, then the chapters.
  last: /^(changelog|bibliography|genindex|gallery|downloads|glossary|generated\/)/,
  first: /^(questions|basics)\//,
  then: /\/index$/,

  words: [],
  score: ([page, title, anchor, , score]) => {
    const words = Scorer.words, head = title.toLowerCase();
    const there = words.filter((word) => head.includes(word)).length / (words.length || 1);
    const rank = Scorer.first.test(page) ? 12 : Scorer.then.test(page) ? 11 : 0;
    const place = Scorer.last.test(page) ? (there ? 0 : -20) : there ? rank : rank / 2;
    return Math.min(score, 15) + 20 * there + place - (anchor ? 2 : 0);
  },
};

// Sphinx asks this for the words of a query, and knows no other.
var splitQuery = (query) => {
  const said = Scorer.same.reduce((text, [from, to]) => text.replace(from, to), query.toLowerCase());
  const words = said.split(/[^\p{L}\p{N}_]+/u).filter((word) => word);
  Scorer.words = words.filter((word) => word.length > 2).map((word) => word.replace(/s$/, ""));
  return words;
};
