#!/usr/bin/env node
/**
 * Prints the tables of docs/decisions-quality/idle.md: the rules on each replay, and beside them what a rule could
 * reach that is informed: it knows how long spells of each kind last in this replay, and since when one lasts, but not
 * how long this one will. Needs `npm run build` first.
 *
 *   node tests/backtest/idle-tables.mjs --telemetry FILE --phases FILE [--rows 1,5] [--seeds 141-160] [--variant NAME]
 *
 * With `--seeds` every row is replayed with each of those seeds instead of its own, and what is printed is pooled, with
 * in how many the floor was reached. The informed rule stops a spell of a kind (service or not, process left or not) at
 * one age, since nothing else is learned while it lasts; the ages are those that save most with no more than a share of
 * false stops, over 40 replays with seeds that no row has. A variant changes what the samples show, not what was true.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { measuredPhases } from '../../dist/src/lab/idle/write-replay.js';
import { idleReport } from '../../dist/src/lab/idle/backtest.js';
import { replay, REPLAY_DEFAULTS } from '../../dist/src/lab/idle/replay.js';
import { byTime, clairvoyantSaving, FALSE_STOP_MINUTES, simulateIdle } from '../../dist/src/planning/idle/simulate.js';

const { values } = parseArgs({
  options: {
    telemetry: { type: 'string' },
    phases: { type: 'string' },
    rows: { type: 'string', default: '' },
    seeds: { type: 'string', default: '' },
    variant: { type: 'string', default: '' },
  },
});
const phases = measuredPhases(readFileSync(values.telemetry, 'utf8'), readFileSync(values.phases, 'utf8'));
const ROWS = [
  { name: 'seed 1', restart: 10, seed: 1 },
  { name: 'seed 1', restart: 3, seed: 1 },
  { name: 'seed 1', restart: 20, seed: 1 },
  { name: 'seed 2', restart: 10, seed: 2 },
  { name: '60 % short pauses', restart: 10, seed: 3, shortPauseShare: 0.6 },
  { name: 'no short pauses', restart: 10, seed: 4, shortPauseShare: 0 },
  { name: 'every 15 s', restart: 10, seed: 5, sampleMinutes: 0.25, hours: 24 },
  { name: 'every 2 min', restart: 10, seed: 6, sampleMinutes: 2 },
  { name: '10 % missing', restart: 10, seed: 7, missingShare: 0.1 },
  { name: 'memoryless', restart: 10, seed: 8, shortPauseShare: 0, longPauses: 'memoryless' },
];
const RIVALS = ['below-30-for-30', 'zero-for-60', 'ski-rental'];
const INFORMED_SHARES = [1, 0.1, 0.05, 0.035];

const isPause = ({ evidence, useful }) => useful === false && evidence.memoryUsedRatio >= 0.001;
/** Every second pause of less than 12 minutes has no process either. */
function withoutProcess(samples) {
  const [ends, counts, now] = [new Map(), { short: 0 }, new Map()];
  const key = ({ resource }, minute) => `${resource} ${minute}`;
  for (const { evidence, useful } of [...samples].reverse()) {
    if (useful !== false) now.set(evidence.resource, evidence.minute);
    else ends.set(key(evidence, evidence.minute), now.get(evidence.resource) ?? Infinity);
  }
  const bare = new Map();
  return samples.map((sample) => {
    const { evidence, useful } = sample;
    if (useful !== false) {
      bare.delete(evidence.resource);
      return sample;
    }
    if (!bare.has(evidence.resource))
      bare.set(
        evidence.resource,
        ends.get(key(evidence, evidence.minute)) - evidence.minute < 12 && counts.short++ % 2 === 0,
      );
    return bare.get(evidence.resource) ? changed(sample, { memoryUsedRatio: 0 }) : sample;
  });
}
const changed = ({ evidence, useful }, more) => ({ evidence: { ...evidence, ...more }, useful });
const VARIANTS = {
  '': (samples) => samples,
  'no-memory': (samples) => samples.map((sample) => changed(sample, { memoryUsedRatio: null })),
  'memory-held': (samples) =>
    samples.map((sample) => (isPause(sample) ? changed(sample, { memoryUsedRatio: 0.1027 }) : sample)),
  'no-labels': (samples) => samples.map((sample) => changed(sample, { workload: null })),
  'no-process-in-half': withoutProcess,
};
const samplesOf = (settings, seed) =>
  VARIANTS[values.variant](byTime(replay(phases, { ...REPLAY_DEFAULTS, ...settings, seed })));
const kindOf = ({ requestsPerSecond, memoryUsedRatio }) =>
  `${requestsPerSecond !== null ? 'service' : 'other'}/${memoryUsedRatio < 0.001 ? 'no process' : 'process'}`;

/** Spells with their kinds and minutes; `open` where the data ends first. */
function spellsOf(samples) {
  const [open, last, spells] = [new Map(), new Map(), []];
  for (const { evidence, useful } of samples) {
    last.set(evidence.resource, evidence.minute);
    const spell = open.get(evidence.resource);
    if (useful === false && spell === undefined)
      open.set(evidence.resource, { kind: kindOf(evidence), start: evidence.minute });
    if (useful !== false && spell !== undefined) {
      spells.push({ kind: spell.kind, minutes: evidence.minute - spell.start, open: false });
      open.delete(evidence.resource);
    }
  }
  for (const [resource, { kind, start }] of open)
    spells.push({ kind, minutes: last.get(resource) - start, open: true });
  return spells;
}

/** Of each kind and age: what stopping at that age saves, and how many stops and false ones it makes. */
function outcomes(spells, step, restart) {
  const kinds = new Map();
  for (const kind of new Set(spells.map((spell) => spell.kind))) {
    const choices = [{ age: Infinity, saved: 0, stops: 0, falseStops: 0 }];
    for (let age = 0; age <= 90; age += step) {
      const choice = { age, saved: 0, stops: 0, falseStops: 0 };
      for (const { minutes, open } of spells.filter(
        (spell) => spell.kind === kind && (spell.open ? spell.minutes >= age : spell.minutes > age),
      )) {
        choice.stops++;
        choice.saved += minutes - age - (open ? 0 : restart);
        if (!open && minutes - age <= FALSE_STOP_MINUTES) choice.falseStops++;
      }
      choices.push(choice);
    }
    kinds.set(kind, choices);
  }
  return kinds;
}

/**
 * The age of each kind that saves most with no more than a share of false stops over all, by a price on what exceeds
 * it; null where none does that saves.
 */
function informedAges(kinds, share) {
  const at = (price) => {
    const worth = (choice) => choice.saved - price * (choice.falseStops - share * choice.stops);
    const picks = [...kinds].map(([kind, choices]) => [
      kind,
      choices.reduce((best, choice) => (worth(choice) > worth(best) ? choice : best)),
    ]);
    const sum = (key) => picks.reduce((all, [, choice]) => all + choice[key], 0);
    return {
      ages: new Map(picks.map(([kind, { age }]) => [kind, age])),
      over: sum('falseStops') > share * sum('stops'),
      stops: sum('stops'),
    };
  };
  if (!at(0).over) return at(0).ages;
  let [low, high] = [0, 1e6];
  if (at(high).over || at(high).stops === 0) return null;
  for (let n = 0; n < 60; n++) {
    const middle = (low + high) / 2;
    if (at(middle).over) low = middle;
    else high = middle;
  }
  return at(high).ages;
}

/** The informed rule on one replay. The truth tells it since when a spell lasts, and nothing of what comes. */
function informedRun(samples, restart, ages) {
  const [since, stops] = [new Map(), new Set()];
  for (const { evidence, useful } of samples) {
    if (useful !== false) since.delete(evidence.resource);
    else if (!since.has(evidence.resource)) since.set(evidence.resource, evidence);
    const first = since.get(evidence.resource);
    if (first !== undefined && evidence.minute - first.minute >= ages.get(kindOf(first))) stops.add(evidence);
  }
  return simulateIdle(samples, restart, { observe: (evidence) => stops.has(evidence), returned: () => undefined });
}

const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
const add = (totals, name, saved, run, optimum) => {
  const total = totals.get(name) ?? { saved: 0, stops: 0, falseStops: 0, optimum: 0 };
  totals.set(name, {
    saved: total.saved + saved,
    stops: total.stops + run.stops,
    falseStops: total.falseStops + run.falseStops,
    optimum: total.optimum + optimum,
  });
};
const cell = ({ saved, stops, falseStops, optimum }) =>
  `${(saved / optimum).toFixed(3)}, ${percent(stops === 0 ? 0 : falseStops / stops)} (${falseStops} of ${stops})`;

/** By 0.05 more than each, with at most half of its share of false stops: the floor; and 0.90 with 10 %: the aim. */
function judge(result, rivals) {
  const [share, falseShare] = [result.saved / result.optimum, result.falseStops / result.stops];
  return {
    margin: rivals.every((rival) => share >= rival.saved / rival.optimum + 0.05),
    halved: rivals.every((rival) => falseShare <= rival.falseStops / rival.stops / 2),
    aim: share >= 0.9 && falseShare <= 0.1,
  };
}

const [firstSeed, lastSeed] = values.seeds === '' ? [] : values.seeds.split('-').map(Number);
const wanted = values.rows === '' ? ROWS : values.rows.split(',').map((n) => ROWS[Number(n) - 1]);
for (const { name, restart, seed, ...settings } of wanted) {
  const spells = Array.from({ length: 40 }, (_, n) => spellsOf(samplesOf(settings, 9000 + n))).flat();
  const kinds = outcomes(spells, settings.sampleMinutes ?? REPLAY_DEFAULTS.sampleMinutes, restart);
  const informed = INFORMED_SHARES.map((share) => [share, informedAges(kinds, share)]);
  const [totals, reached] = [new Map(), new Map()];
  const seeds =
    values.seeds === '' ? [seed] : Array.from({ length: lastSeed - firstSeed + 1 }, (_, n) => firstSeed + n);
  for (const one of seeds) {
    const samples = samplesOf(settings, one);
    const optimum = clairvoyantSaving(samples, restart);
    const results = new Map();
    for (const policy of idleReport(samples, restart).cells[0].policies)
      results.set(policy.name, { ...policy, saved: policy.meanShare * optimum, optimum });
    for (const [share, ages] of informed) {
      if (ages === null) continue;
      const run = informedRun(samples, restart, ages);
      results.set(`informed at ${share === 1 ? 'any' : percent(share)}`, { ...run, saved: run.savedMinutes, optimum });
    }
    for (const [policy, result] of results) {
      add(totals, policy, result.saved, result, optimum);
      const judged = judge(
        result,
        RIVALS.map((rival) => results.get(rival)),
      );
      const counts = reached.get(policy) ?? { margin: 0, halved: 0, floor: 0, aim: 0 };
      reached.set(policy, {
        margin: counts.margin + judged.margin,
        halved: counts.halved + judged.halved,
        floor: counts.floor + (judged.margin && judged.halved),
        aim: counts.aim + judged.aim,
      });
    }
  }
  process.stdout.write(
    `\n${name}, restart ${restart}, seed${seeds.length > 1 ? `s ${values.seeds}` : ` ${seeds[0]}`}\n`,
  );
  for (const [policy, total] of totals) {
    if (policy === 'clairvoyant') continue;
    const { margin, halved, floor, aim } = reached.get(policy);
    process.stdout.write(
      `  ${policy.padEnd(26)} ${cell(total).padEnd(34)} margin ${margin}, halved ${halved}, floor ${floor}, aim ${aim} of ${seeds.length}\n`,
    );
  }
  process.stdout.write(
    `  informed: ${informed.map(([share, ages]) => `${share} ${ages === null ? 'cannot' : JSON.stringify(Object.fromEntries(ages))}`).join('; ')}\n`,
  );
}
