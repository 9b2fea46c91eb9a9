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
  // Every estimator has the same methods: those of OneBatchPAM stand for all, and pages that explain come before the rest.
  score: ([page, title, anchor, description, score]) => {
    const isOther = page.startsWith("api/generated/") && page !== "api/generated/onebatchpam.OneBatchPAM";
    return isOther && (!description || /method/.test(description)) ? score - 20 : score;
  },
};
