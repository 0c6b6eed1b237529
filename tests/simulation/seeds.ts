/**
 * Which seeds are simulated, and by which test file: `BURSAR_SEEDS` says how many (400 where absent) or which
 * (`2001-3000`), `BURSAR_SEED` only one.
 *
 * The seeds are fixed, so that a run can be repeated; a share of them goes to each file, since files run beside each
 * other. What happened is counted, and must be enough: a simulation in which nothing goes wrong shows nothing.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { simulationDatabase } from './database.js';
import { LawBroken, planOf, simulate } from './simulate.js';
import { addTally, newTally, type Tally } from './tally.js';

const BATCH = 25;

/** @throws Error where the environment asks for something else than seeds. */
export function seedsToRun({
  BURSAR_SEED: only,
  BURSAR_SEEDS: which = '400',
}: Readonly<Record<string, string | undefined>>): number[] {
  const found = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(only === undefined || only === '' ? which : `${only}-${only}`);
  const [first, last] = found?.[2] === undefined ? [1, Number(found?.[1])] : [Number(found[1]), Number(found[2])];
  if (!(last >= first))
    throw new Error('BURSAR_SEED is a number; BURSAR_SEEDS is a number, or two of them as in 2001-3000');
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

/** What must have happened at least, per seed, before so many seeds say anything. */
const LEAST: Readonly<Partial<Tally>> = {
  sendings: 2,
  taken: 1.5,
  refusals: 0.05,
  lostAnswers: 0.1,
  sentAgain: 0.05,
  crashes: 0.5,
  hiccups: 0.4,
  interruptions: 3,
  lateRecords: 8,
  repeatedRecords: 50,
  orders: 4,
  ordersDenied: 0.1,
  stopsPulled: 0.3,
  actions: 5,
  appliedOfRealPolicies: 0.3,
  rolledBack: 0.1,
  purchases: 0.05,
  crossings: 0.5,
  linesRecounted: 100,
  savingHoursRecounted: 20,
  unmeteredLines: 0.1,
  openLinesBesideHours: 5,
  openHoursOfPayers: 5,
  openHoursByOwnSkus: 2,
  restated: 0.3,
  importsUndone: 0.3,
  corrections: 0.1,
  ownHoursRecounted: 2,
  recordsArchived: 50,
  portionsMerged: 1,
  undoneOfMerged: 0.01,
  linesByLearnedRates: 1,
};
const ENOUGH_SEEDS = 100;

/** Of a single seed: everything that acted or decided. */
const tell = (story: readonly string[]): void => void process.stderr.write(`${story.join('\n')}\n`);

/** Declares the tests of one share of the seeds. */
export async function simulateShare(share: number, shares: number): Promise<void> {
  const seeds = seedsToRun(process.env);
  const own = seeds.filter((_, at) => at % shares === share - 1);
  if (own.length === 0) {
    it('leaves the seeds to the other files', () => expect(shares).toBeGreaterThan(1));
    return;
  }
  const db = await simulationDatabase();
  const happened = newTally();
  afterAll(() => {
    const months = own.filter((seed) => planOf(seed).kind === 'month').length;
    process.stderr.write(
      `Simulated ${own.length} seeds from ${own[0]} to ${own.at(-1)}, ${months} of them a month, the others some days: ${JSON.stringify(happened)}\n`,
    );
  });

  describe(`share ${share} of ${shares}`, () => {
    for (let first = 0; first < own.length; first += BATCH) {
      const batch = own.slice(first, first + BATCH);
      it(`the laws hold for the seeds ${batch[0]} to ${batch.at(-1)}`, async () => {
        const broken: string[] = [];
        for (const seed of batch) {
          try {
            const { tally, story } = await simulate(db, seed);
            addTally(happened, tally);
            if (seeds.length === 1) tell(story);
          } catch (error) {
            broken.push(
              error instanceof LawBroken
                ? error.message
                : error instanceof Error
                  ? `seed ${seed}: ${error.stack ?? error.message}`
                  : String(error),
            );
            if (seeds.length === 1 && error instanceof LawBroken) tell(error.story);
          }
        }
        expect(broken.join('\n')).toBe('');
      }, 300_000);
    }

    it.runIf(own.length >= ENOUGH_SEEDS)('enough went wrong', () => {
      for (const [what, least] of Object.entries(LEAST))
        expect(happened[what as keyof Tally], what).toBeGreaterThanOrEqual(least * own.length);
    });
  });
}
