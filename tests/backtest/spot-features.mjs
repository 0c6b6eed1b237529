/**
 * What a policy could know of a zone at a tick beside the kind and age of the present spell, in a few classes each: the
 * candidates of spot-reach.mjs.
 *
 * FEATURES look at readings up to and at the tick and never beyond; `day` knows which day of the recording it is, which
 * tells of no other day.
 * FORESIGHT reads ahead, to say what that would be worth.
 *
 * The invariant: a state tells whether spot is there now, so that all that share a state have the same choices.
 */

/** Index of the first edge that a number does not exceed. */
const classOf = (number, edges) => edges.reduce((sum, edge) => sum + (number > edge ? 1 : 0), 0);

const LENGTHS = [1, 3, 8, 20];
const SHARES = [0, 0.25, 0.5, 0.75, 0.9999];
const INTERRUPTIONS = [0, 1, 3];

/**
 * At each tick: kind and age of the spell, and the lengths of the spells that ended before it, the latest first, by
 * kind.
 */
function spellsOf(readings) {
  const ticks = [];
  let [age, ended] = [0, [[], []]];
  readings.forEach((reading, t) => {
    if (t > 0 && reading !== readings[t - 1]) {
      const before = readings[t - 1];
      ended = ended.map((lengths, kind) => (kind === before ? [age, ...lengths].slice(0, 2) : lengths));
      age = 0;
    }
    age += 1;
    ticks.push({ kind: reading, age, ended });
  });
  return ticks;
}

const lengthClass = (length) => (length === undefined ? 'none' : classOf(length, LENGTHS));

/** Class of the share of the last ticks in which spot was there, the present tick among them. */
function shareClass({ readings, ticksPerHour }, t, hours) {
  const recent = readings.subarray(Math.max(0, t + 1 - hours * ticksPerHour), t + 1);
  return classOf(recent.reduce((sum, reading) => sum + reading, 0) / recent.length, SHARES);
}

function interruptions({ readings, ticksPerHour }, t, hours) {
  let count = 0;
  for (let i = Math.max(1, t + 1 - hours * ticksPerHour); i <= t; i += 1)
    count += readings[i] < readings[i - 1] ? 1 : 0;
  return classOf(count, INTERRUPTIONS);
}

/**
 * By name: the class of one tick. `zone`: readings, first tick, ticks per hour, spells; `others`: the same of the other
 * zones.
 */
export const FEATURES = {
  'last available': (zone, t) => lengthClass(zone.spells[t].ended[1][0]),
  'available before last': (zone, t) => lengthClass(zone.spells[t].ended[1][1]),
  'last absent': (zone, t) => lengthClass(zone.spells[t].ended[0][0]),
  'share 2 h': (zone, t) => shareClass(zone, t, 2),
  'share 6 h': (zone, t) => shareClass(zone, t, 6),
  'share 24 h': (zone, t) => shareClass(zone, t, 24),
  'interruptions 6 h': (zone, t) => interruptions(zone, t, 6),
  'hour of day': (zone, t) => Math.floor(((zone.first + t) / zone.ticksPerHour / 4) % 6),
  'others available': (_zone, t, others) => others.filter(({ spells }) => spells[t].kind === 1).length,
  'which others available': (_zone, t, others) => others.map(({ spells }) => spells[t].kind).join(''),
  'others by age': (_zone, t, others) =>
    others.map(({ spells }) => `${spells[t].kind}${spells[t].age > 4 ? 'o' : 'y'}`).join(''),
  'others share 2 h': (_zone, t, others) => others.map((other) => Math.min(2, shareClass(other, t, 2))).join(''),
  day: (zone, t) => Math.floor((zone.first + t) / zone.ticksPerHour / 24),
};

/**
 * What would have to be known, and never is before it has come: whether the present spell goes on for so many ticks
 * more. By name, as FEATURES.
 */
export const FORESIGHT = Object.fromEntries(
  [1, 2, 3, 4, 6].map((ticks) => [
    `goes on ${ticks}`,
    ({ readings }, t) => {
      const ahead = readings.subarray(t, t + 1 + ticks);
      return ahead.every((reading) => reading === ahead[0]) ? 1 : 0;
    },
  ]),
);

/** Zones as the features read them; they must tell of the same ticks. */
export function withSpells(zones) {
  const spans = new Set(zones.map(({ first, readings, tickSeconds }) => `${first} ${readings.length} ${tickSeconds}`));
  if (spans.size > 1) throw new Error('the recordings do not tell of the same ticks');
  return zones.map((zone) => ({
    ...zone,
    ticksPerHour: Math.round(3600 / zone.tickSeconds),
    spells: spellsOf(zone.readings),
  }));
}

/**
 * States of every tick of every zone, numbered from 0 across the zones: by zone an array of state numbers. `features`:
 * names; `ages`: the last age of each class; `shiftTicks`: reads the features, but not kind and age, so much later in
 * the recording (round its end), where they keep their manner and tell nothing; `only`: the one zone whose states are
 * wanted, the others' are empty.
 */
export function statesOf(zones, { features, ages, shiftTicks = 0, only }) {
  const numbers = new Map();
  const states = zones.map((zone, z) => {
    if (only !== undefined && z !== only) return new Int32Array();
    const others = zones.filter((_, other) => other !== z);
    return Int32Array.from(zone.spells, ({ kind, age }, t) => {
      const key = [
        kind,
        classOf(age, ages),
        ...features.map((name) =>
          (FEATURES[name] ?? FORESIGHT[name])(zone, (t + shiftTicks) % zone.readings.length, others),
        ),
      ].join('|');
      if (!numbers.has(key)) numbers.set(key, numbers.size);
      return numbers.get(key);
    });
  });
  return { states, count: numbers.size };
}
