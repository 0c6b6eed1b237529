/**
 * A meter of the company's own beside the cloud's: what it sends is stated again, comes late or twice, is corrected by
 * records below zero, and imports of it are taken back. And what bills have taught, once it is applied.
 *
 * The law: of each id the highest statement counts that was not taken back, in every hour at its price; so an import
 * that is taken back leaves what would be there without it, and one whose record another import corrects stays. It keeps the company's books by itself and asks Bursar for
 * the sums only.
 */
import { formatInstant, HOUR_MS, hourOf } from '../../src/core/time.js';
import { GPU_PARTS, type UsageRecord } from '../../src/core/usage.js';
import { Failure } from '../../src/core/errors.js';
import { undoImport } from '../../src/store/usage/undo.js';
import { instancePrice } from '../support/bursar.js';
import { metered } from '../support/records.js';
import { Chance } from './chance.js';
import { TEAMS } from './company.js';
import { mayUndo } from './database.js';
import type { World } from './world.js';

/** No cloud of the simulation: its usage is in no bill. */
export const OWN_PROVIDER = 'Own Machines';
const SKU = 'own.t4x1';
const REGION = 'cellar';
const PRICE = instancePrice('1', {
  provider: OWN_PROVIDER,
  sku: SKU,
  region: REGION,
  gpuModel: 'T4',
  gpus: 1,
  minimumSeconds: 0,
});
const NANOS_PER_GPU_HOUR = 1_000_000_000n;
const MOST_HOURS = 3;

interface Sent {
  readonly import: string;
  readonly records: readonly UsageRecord[];
}

export class OwnMeter {
  private readonly chance: Chance;
  private sent: readonly Sent[] = [];
  private revisions = 0;
  /** What is corrected has a sequence of its own: it moves nothing else of the seed. */
  private readonly chanceOfCorrections: Chance;
  private readonly corrects: boolean;

  constructor(private readonly world: World) {
    this.chance = new Chance(world.seed ^ 0x3e7e5);
    this.chanceOfCorrections = new Chance(world.seed ^ 0xc0ec7);
    this.corrects = this.chanceOfCorrections.happens(0.4);
  }

  async found(): Promise<void> {
    const { db, stores, organisation } = this.world;
    await db.transaction((tx) => stores.prices.add(tx, organisation, [{ kind: 'price', price: PRICE }], 'founder'));
  }

  /** What happens to it between two looks. */
  async lives(): Promise<void> {
    if (this.chance.happens(0.7)) await this.send();
    if (this.chance.happens(0.35)) await this.takeBack();
  }

  private async send(): Promise<void> {
    const { chance, world } = this;
    const records = Array.from({ length: chance.whole(1, 3) }, () => this.statement());
    const again = chance.happens(0.3) ? this.sent.at(-1)?.records : undefined;
    const all = [...records, ...this.corrections(), ...(again ?? [])];
    const rules = await world.stores.organisations.rules(world.db, world.organisation);
    const [file] = await world.stores.intake.import(
      {
        organisation: world.organisation,
        source: 'own meter',
        strict: true,
        dryRun: false,
        by: 'clerk',
        now: world.clock.at,
        teamOf: (one) => rules.teamOf(one),
        rulesVersion: rules.version,
        trackedTags: [],
      },
      [
        {
          name: 'usage',
          format: 'simulation',
          async *batches() {
            yield { records: all, rejects: [] };
          },
        },
      ],
    );
    world.tally.restated += file?.restated ?? 0;
    // What is only repeated is of the import that it came in first.
    const known = new Set(this.sent.flatMap((one) => one.records));
    this.sent = [...this.sent, { import: file?.import ?? '', records: all.filter((one) => !known.has(one)) }];
  }

  /** No two statements have one revision; some are lower than what was sent before. */
  private statement(): UsageRecord {
    const { chance } = this;
    const used = this.usage(chance, `own-${chance.whole(1, 5)}`);
    const n = ++this.revisions;
    return { ...used, version: { revision: chance.happens(0.25) ? 1000 - n : 1000 + n, updatedAt: null } };
  }

  private usage(chance: Chance, id: string): UsageRecord {
    const { world } = this;
    const first = hourOf(world.plan.start);
    // What is not over is not metered.
    const latest = Math.floor((world.clock.at - first) / HOUR_MS) - MOST_HOURS;
    const start = first + chance.whole(0, Math.max(0, Math.min(60, latest))) * HOUR_MS;
    return metered(id, {
      provider: OWN_PROVIDER,
      account: 'cellar',
      resource: id,
      sku: SKU,
      region: REGION,
      gpuModel: 'T4',
      start,
      end: start + chance.whole(1, MOST_HOURS) * HOUR_MS,
      gpuParts: chance.whole(1, 3) * GPU_PARTS,
      tags: { team: chance.pick(TEAMS).id },
    });
  }

  /**
   * Records that are corrected, and corrections of them that take back one of their GPUs for some of their hours, in
   * the same import or a later one. None is corrected more often than it has GPUs, nor stated again.
   */
  private corrections(): UsageRecord[] {
    const { chanceOfCorrections: chance } = this;
    if (!this.corrects) return [];
    const n = ++this.revisions;
    const id = `corrected-${n}`;
    const record: UsageRecord = {
      ...this.usage(chance, id),
      gpuParts: 2 * GPU_PARTS,
      version: { revision: n, updatedAt: null },
    };
    const before = this.sent.flatMap(({ records }) => records);
    const open = [...before, record].filter(
      ({ id: of, corrects }) =>
        of.startsWith('corrected-') &&
        corrects === undefined &&
        before.filter((other) => other.corrects === of).length < 2,
    );
    const one = chance.pick(open);
    const start = one.start + chance.whole(0, (one.end - one.start) / HOUR_MS - 1) * HOUR_MS;
    const correction = { ...one, id: `correction-${n}`, start, gpuParts: -GPU_PARTS, corrects: one.id };
    return chance.happens(0.7) ? [correction, record] : [record];
  }

  /** An import goes whole, or stays where one of its records would leave a correction behind. */
  private async takeBack(): Promise<void> {
    const { chance, world } = this;
    if (this.sent.length === 0) return;
    const one = chance.pick(this.sent);
    const others = this.sent.filter((other) => other !== one);
    const ids = new Set(one.records.map(({ id }) => id));
    const isBuiltOn = others.some(({ records }) => records.some(({ corrects = '' }) => ids.has(corrects)));
    const isMerged = await this.isMerged(one.import);
    const isRefused = await world.db
      .transaction(async (tx) => {
        await mayUndo(tx);
        await undoImport(world.stores, tx, world.organisation, one.import, 'clerk', world.clock.at);
        return false;
      })
      .catch((error: unknown) => {
        if (error instanceof Failure && error.kind === 'conflict') return true;
        throw error;
      });
    if (isRefused !== isBuiltOn)
      world.broken.push(
        `an import that ${isBuiltOn ? 'a correction' : 'nothing'} builds on is ${isRefused ? 'not ' : ''}taken back`,
      );
    if (isRefused) world.tally.undosRefused += 1;
    else {
      world.tally.importsUndone += 1;
      if (isMerged) world.tally.undoneOfMerged += 1;
      this.sent = others;
    }
  }

  private async isMerged(id: string): Promise<boolean> {
    const { db, organisation } = this.world;
    const found = await db.query(
      `select 1 from delivery where organisation = $1 and members @> jsonb_build_array(jsonb_build_object('import', $2::bigint))`,
      [organisation, id],
    );
    return found.length > 0;
  }

  async booksMatch(): Promise<void> {
    const { db, organisation, broken, tally } = this.world;
    const counted = new Map<string, UsageRecord>();
    for (const one of this.sent.flatMap(({ records }) => records))
      if ((one.version?.revision ?? 0) > (counted.get(one.id)?.version?.revision ?? 0)) counted.set(one.id, one);
    const sums = new Map<string, bigint>();
    for (const { start, end, gpuParts, tags } of counted.values())
      for (let hour = start; hour < end; hour += HOUR_MS) {
        const key = `${tags?.['team']} ${formatInstant(hour)}`;
        sums.set(key, (sums.get(key) ?? 0n) + BigInt((gpuParts ?? 0) / GPU_PARTS) * NANOS_PER_GPU_HOUR);
      }
    const rows = await db.query<{ team: string; hour: Date; nanos: string | null }>(
      `select c.team, c.hour, sum(c.nanos)::text as nanos from cost_hour c
       join dimension d on d.organisation = c.organisation and d.id = c.dimension
       where c.organisation = $1 and d.provider = $2 group by 1, 2`,
      [organisation, OWN_PROVIDER],
    );
    const booked = new Map(rows.map(({ team, hour, nanos }) => [`${team} ${formatInstant(hour.getTime())}`, nanos]));
    for (const key of new Set([...sums.keys(), ...booked.keys()]))
      if (String(sums.get(key) ?? 0n) !== (booked.get(key) ?? '0'))
        broken.push(
          `the company's own meter makes ${sums.get(key) ?? 0n} nanos of ${key}, the books ${booked.get(key)}`,
        );
    tally.ownHoursRecounted += sums.size;
    tally.corrections += [...counted.values()].filter(({ corrects }) => corrects !== undefined).length;
  }
}

/** From here on usage is priced by what final bills have taught. */
export async function applyWhatBillsTaught({ db, stores, organisation }: World): Promise<void> {
  await db.transaction((tx) => stores.learnedRates.setApplied(tx, organisation, true));
}

/**
 * A learned rate prices what it was learned on, from its time on and never before, within two nanos of the list price
 * times its ratio (both are rounded); nothing else is priced otherwise than by the list.
 */
export async function learnedRatesHold({ db, organisation, broken, tally }: World): Promise<void> {
  const rows = await db.query<{ wrong: string; priced: string }>(
    `select count(*) filter (where case when c.list_nanos is null then rate.ratio <> 1
         else rate.ratio is null or abs(c.nanos - c.list_nanos * rate.ratio) > 2 end)::text as wrong,
       count(*) filter (where c.list_nanos is not null)::text as priced
     from cost_hour c join dimension d on d.organisation = c.organisation and d.id = c.dimension
     left join lateral (
       select r.numerator / r.denominator::numeric as ratio from learned_rate r
       where r.organisation = c.organisation and r.trusted and r.withdrawn_at is null and r.provider = d.provider
         and r.account is not distinct from d.account and r.sku = d.sku and r.region is not distinct from d.region
         and r.term is not distinct from d.term and r.applies_from <= c.hour
       order by r.applies_from desc limit 1) rate on true
     where c.organisation = $1`,
    [organisation],
  );
  const [{ wrong, priced } = { wrong: '0', priced: '0' }] = rows;
  if (wrong !== '0')
    broken.push(`${wrong} cost lines are not priced by what bills have taught of them, or are before their time`);
  tally.linesByLearnedRates += Number(priced);
}
