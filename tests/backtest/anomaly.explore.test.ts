import { it } from 'vitest';
import * as m from './anomaly-measures.js';
import { openbDaily, asSpend } from './anomaly-cases.js';
import { detectSpendAnomalies } from '../../src/planning/anomaly/spend.js';
it('x', () => {
  const p = (r: m.Recall, extra = '') => console.log(r.name.padEnd(50), `${r.found}/${r.cases}`, (r.found / r.cases).toFixed(3), r.meanDelayPoints.toFixed(1), extra);
  for (const w of [false, true]) { for (const n of Object.keys(m.PRICE_INJECTIONS)) p(m.priceRecall(n, w), String(w));
  const a = m.awsReports(w); console.log(w, a.points, a.found.map((f) => f.key + f.anomaly.kind)); }
  for (const [k, s] of openbDaily()) for (const a of detectSpendAnomalies(asSpend(s))) console.log(k, a.at, a.kind, a.expected.mean.toFixed(1), a.observed.toFixed(1), s.slice(a.at - 3, a.at + 5).map((x) => x.toFixed(0)).join(' '), a.evidence.limit);
});
