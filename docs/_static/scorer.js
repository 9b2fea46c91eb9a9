// How hits of a search are ranked. The numbers are those of Sphinx; `score` is ours.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  // Every estimator has the same methods: those of OneBatchPAM stand for all. Pages that explain come before the others,
  // pages that only mention a word come last, and a page whose title has the word stays before them all.
  score: ([page, title, anchor, description, score]) => {
    const isOther = page.startsWith("api/generated/") && page !== "api/generated/onebatchpam.OneBatchPAM";
    if (isOther && (!description || /method/.test(description))) return score - 20;
    if (/^(data|options|large_data|embeddings|sequences|quickstart|dask|howto\/(?!index))/.test(page)) return score + 2;
    if (/^(changelog|benchmarks|claims|paper|contributing|security|gallery\/|howto\/index|api\/index)/.test(page)) return score - 3;
    return score;
  },
};
