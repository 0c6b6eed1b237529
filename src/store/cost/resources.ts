/**
 * The cost of each resource from sums that keep no resource: reads the records of the period again, block by block, and
 * only from the deliveries of the query. Core has the rule of the shares (core/cost/by-resource.ts). Reads only.
 */
import { costsByResource, ResourceWeights, type ResourceCost, type ResourceSum } from '../../core/cost/by-resource.js';
import { dimensionKey, Grouping } from '../../core/cost/rollup.js';
import type { SpendQuery } from '../../core/cost/spend-query.js';
import { parseDecimal } from '../../core/decimal.js';
import { invalid } from '../../core/errors.js';
import type { DaySpan } from '../../core/report/breakdown.js';
import { formatInstant, parseDay, startOfLocalDay, type Interval } from '../../core/time.js';
import type { UsageRecord } from '../../core/usage.js';
import type { OrganisationStore } from '../access/organisation.js';
import type { Queryable } from '../database.js';
import { countedRecords, type StoredBlock } from '../usage/block.js';
import { blocksOf } from '../usage/reading.js';
import type { Dimensions } from '../usage/dimensions.js';
import { dimensionsOf } from './spend-filters.js';
import { dimensionSums } from './spend-sums.js';

/** Payloads at a time: a full one is about a megabyte. */
const PAGE_BLOCKS = 16;
/** Some seconds of reading. */
const MOST_RECORDS = 4_000_000;
const MOST_GROUPS = 100_000;

export class ResourceCostStore {
  constructor(
    private readonly organisations: OrganisationStore,
    private readonly dimensions: Dimensions,
  ) {}

  /**
   * @param nameOf another name of a record that costs are divided by; its resource where absent
   * @param most records that are read
   * @throws Failure invalid if more records lie in the time than can be read for an answer
   */
  async costs(
    db: Queryable,
    organisation: string,
    question: SpendQuery & DaySpan,
    nameOf?: (record: UsageRecord) => string,
    most = MOST_RECORDS,
  ): Promise<ResourceCost[]> {
    const query = { ...question, dimensions: await dimensionsOf(db, organisation, question.filters) };
    const rows = await dimensionSums(db, organisation, query);
    const sums = rows.map(
      ({ cost, ...row }): ResourceSum => ({ ...row, cost: cost === null ? null : parseDecimal(cost) }),
    );
    const span = {
      start: startOfLocalDay(question.zone, parseDay(question.from) ?? 0),
      end: startOfLocalDay(question.zone, parseDay(question.to) ?? 0),
    };
    return costsByResource(
      sums,
      await this.weights(db, organisation, sums, new ResourceWeights(span, nameOf), { ...span, most }),
    );
  }

  private async weights(
    db: Queryable,
    organisation: string,
    sums: readonly ResourceSum[],
    weights: ResourceWeights,
    span: Interval & { readonly most: number },
  ): Promise<ResourceWeights> {
    const ids = [...new Set(sums.map(({ dimension }) => dimension))];
    const idOf = new Map(
      [...(await this.dimensions.byIds(db, organisation, ids))].map(([id, one]) => [dimensionKey(one), id]),
    );
    const rules = await this.organisations.rules(db, organisation);
    const grouping = new Grouping(
      (record) => rules.teamOf(record),
      await this.organisations.trackedTags(db, organisation),
    );
    const teams = new Set(sums.map(({ team }) => team));
    for await (const block of blocksAbout(db, organisation, [...teams], ids, span)) {
      for (const record of countedRecords(block)) {
        if (record.start >= span.end || record.end < span.start) continue;
        const { cell } = grouping.groupOf(record);
        const id = teams.has(cell.team) ? idOf.get(dimensionKey(cell.dimension)) : undefined;
        if (id !== undefined) weights.add(cell.team, id, record);
      }
      grouping.trim(MOST_GROUPS);
    }
    return weights;
  }
}

/** Blocks with records of some teams' dimensions within a time. */
async function* blocksAbout(
  db: Queryable,
  organisation: string,
  teams: readonly string[],
  dimensions: readonly string[],
  { start, end, most }: Interval & { readonly most: number },
): AsyncGenerator<StoredBlock> {
  const times = [formatInstant(start), formatInstant(end)];
  const deliveries = (
    await db.query<{ delivery: string }>(
      `select distinct delivery::text as delivery from usage_hour where organisation = $1 and team = any($2::text[])
         and dimension = any($3::bigint[]) and hour >= $4 and hour < $5`,
      [organisation, teams, dimensions, ...times],
    )
  ).map(({ delivery }) => delivery);
  let read = 0;
  for await (const block of blocksOf(db, organisation, deliveries, { start, end }, PAGE_BLOCKS)) {
    read += block.records;
    if (read > most)
      throw invalid('the question about costs has problems', [
        { path: 'from', message: `more than ${most} records lie in this time: ask for fewer days` },
      ]);
    yield block;
  }
}
