/**
 * The jobs of a recording that can be replayed, and their terms; for every other job, the reason why not.
 *
 * A job can be replayed if its owner stated its work and start, the time lies in the window, and its size, its restart
 * and every price from then on are known. Nothing is filled in: missing data is a reason. Recorded absence of spot
 * counts as absence. Without a record, a job that was on spot is assumed to have had it, and one that was not pays on
 * demand.
 */
import type { RecordedHistory, RecordedJob } from '../../core/policy/history.js';
import type { SpotMarket, WorkloadView } from '../../core/policy/policy.js';
import { spotMarketAt } from '../../core/policy/spot-market.js';
import { HOUR_MS, hourOf } from '../../core/time.js';
import type { Term } from '../../core/usage.js';
import { IDLE, ON_DEMAND, SPOT } from '../spot/problem.js';
import { pacesOf } from '../throughput/pace.js';
import { gpuHour, peakOf } from './bills.js';
import { EVALUATION_MS, runJob, type JobCase, type JobSlot } from './job-run.js';
import { CostSteps } from './steps.js';

/** A case, or why it is none. */
export type JobOrReason =
  | { readonly name: string; readonly job: JobCase }
  | { readonly name: string; readonly why: string };

/** Workloads that run on and on, with what is known of no job. */
export function fleetsOf({ workloads, jobs }: Pick<RecordedHistory, 'workloads' | 'jobs'>): readonly WorkloadView[] {
  const names = new Set(jobs.map(({ workload }) => workload));
  return workloads.filter(({ workload }) => !names.has(workload));
}

/** Whether its stated beginning is after the window: it is then not part of it. */
export const isToCome = ({ work }: RecordedJob, { to }: Pick<RecordedHistory, 'to'>): boolean =>
  work !== null && work.since >= to;

/** Every job of the window, in the recording's order. */
export function jobCases(history: RecordedHistory): JobOrReason[] {
  const all = history.jobs
    .filter((one) => !isToCome(one, history))
    .map((recorded) => ({
      recorded,
      facts: history.workloads.find(({ workload }) => workload === recorded.workload) ?? null,
    }));
  const priceOf = pricesOver(
    history,
    all.flatMap(({ facts, recorded: { work } }) =>
      facts === null || work === null || work.since < history.from ? [] : [{ facts, since: work.since }],
    ),
  );
  return all.map(({ recorded, facts }): JobOrReason => {
    const found = facts === null ? 'only its work is known' : caseOf(history, recorded, facts, priceOf);
    return typeof found === 'string'
      ? { name: recorded.workload, why: found }
      : { name: recorded.workload, job: found };
  });
}

/**
 * The replicas of an instance or a group: present or at its start; null: unknown. As views count it
 * (store/workload/job-usage.ts).
 */
function replicasOf({ fleet }: RecordedJob): number | null {
  if (fleet === null) return null;
  const now = fleet.ready + fleet.booting;
  return now > 0 ? now : fleet.maxReplicas === 1 ? 1 : null;
}

const inMs = (hours: number): number => Math.ceil(hours * HOUR_MS - 1e-6);

function caseOf(
  history: RecordedHistory,
  recorded: RecordedJob,
  facts: WorkloadView,
  priceOf: PriceOf,
): JobCase | string {
  const { work } = recorded;
  const { job, term, gpusPerReplica } = facts;
  const replicas = replicasOf(recorded);
  if (work === null) return 'its work, and since when, was not stated';
  if (work.since < history.from) return 'its work was stated before the window began';
  if (replicas === null) return 'its number of replicas is unknown';
  if (gpusPerReplica === null || gpusPerReplica <= 0) return 'the number of GPUs of a replica is unknown';
  if (term === null) return 'the term of its machines (on demand, spot, reserved) is unknown';
  if (term !== 'on-demand' && term !== 'spot') return `its hourly cost under the term ${term} is unknown`;
  if (job === null || job.restartHours === null) return 'the hours that a start costs are unknown';
  if (job.deadline !== null && job.deadline > history.to) return 'its deadline lies after the window';
  const gpus = replicas * gpusPerReplica;
  const slots = slotsOf(history, facts, priceOf, { term, since: work.since, gpus });
  if (typeof slots === 'string') return slots;
  const own = term === 'spot' ? SPOT : ON_DEMAND;
  const found: JobCase = {
    name: facts.workload,
    since: work.since,
    deadline: job.deadline,
    gpus,
    replicas,
    own,
    speedAt: speedsOf(history, facts, gpus),
    mayMove: facts.interruptible === true && facts.isProtected !== true,
    first: { held: work.isWhole ? IDLE : own, restartLeftMs: 0, workLeftMs: inMs(work.hours) },
    restartMs: inMs(job.restartHours),
    slots,
    slotsAt: (place) => slotsThere(history, { ...facts, ...place }, slots, gpus),
    hasMarket: spotMarketAt(history.spotMarkets, facts) !== null,
  };
  return asRecorded(found, new CostSteps(history)).doneAt === null ? 'its work does not end within the window' : found;
}

/**
 * Uses all measurements of the team for its model, from any time: the recording is what happened, not what a policy
 * knew.
 */
function speedsOf(
  { measurements, team }: RecordedHistory,
  { runs, gpuModel }: WorkloadView,
  own: number,
): JobCase['speedAt'] {
  if (measurements === undefined || runs === undefined || gpuModel === null) return () => null;
  const paces = pacesOf(measurements, team);
  return (gpus) => {
    // Measurements are made on whole GPUs.
    if (!Number.isInteger(own) || !Number.isInteger(gpus)) return null;
    const [now, then] = [paces.paceOf(runs, gpuModel, own), paces.paceOf(runs, gpuModel, gpus)];
    return now === null || then === null ? null : then.samplesPerSecond / now.samplesPerSecond;
  };
}

/** The job as it was run: from `since` on, on its own term, stopped only when spot was gone. */
export const asRecorded = (job: JobCase, steps: CostSteps): ReturnType<typeof runJob> =>
  runJob(job, steps, () => job.own);

/** Hours, or parts of them alike, from `since` on; or which price is missing. */
function slotsOf(
  history: RecordedHistory,
  facts: WorkloadView,
  priceOf: PriceOf,
  { term, since, gpus }: { readonly term: Term; readonly since: number; readonly gpus: number },
): JobSlot[] | string {
  const market = spotMarketAt(history.spotMarkets, facts);
  const slots: JobSlot[] = [];
  for (let hour = hourOf(since); hour < history.to; hour += HOUR_MS) {
    const [onDemand, spot] = [priceOf(facts, hour, 'on-demand'), priceOf(facts, hour, 'spot')];
    const missing = onDemand === null ? 'on-demand' : spot === null && term === 'spot' ? 'spot' : null;
    if (onDemand === null || missing !== null) return missingPrice(facts, missing ?? 'on-demand');
    const factor = gpus * peakOf(history, hour);
    for (const { from, ms, isThere } of stretchesOf(
      market,
      Math.max(hour, since),
      Math.min(hour + HOUR_MS, history.to),
    )) {
      const isSeen = isThere ?? (term === 'spot' ? true : null);
      const isVerified = spot !== null && isSeen !== null;
      slots.push({
        from,
        ms,
        onDemand: onDemand * factor,
        spot: !isVerified ? onDemand * factor : isSeen ? spot * factor : null,
        isVerified,
      });
    }
  }
  return slots;
}

/**
 * The same stretches at another place. Spot is there in a stretch only if every reading in it says so; where one is
 * missing it is not verified, and is paid on demand.
 */
function slotsThere(
  history: RecordedHistory,
  facts: WorkloadView,
  own: readonly JobSlot[],
  gpus: number,
): JobSlot[] | null {
  const there: WorkloadView = { ...facts, region: facts.zone ?? facts.region };
  const market = spotMarketAt(history.spotMarkets, there);
  const prices = new Map<number, readonly [onDemand: number | null, spot: number | null]>();
  const slots: JobSlot[] = [];
  for (const { from, ms } of own) {
    const hour = hourOf(from);
    if (!prices.has(hour)) prices.set(hour, pricesThere(history, facts, hour));
    const [onDemand, spot] = prices.get(hour) ?? [null, null];
    if (onDemand === null) return null;
    const factor = gpus * peakOf(history, hour);
    const isThere = market === null ? null : seenWithin(market, from, from + ms);
    const isVerified = spot !== null && isThere !== null;
    slots.push({
      from,
      ms,
      onDemand: onDemand * factor,
      spot: !isVerified ? onDemand * factor : isThere ? spot * factor : null,
      isVerified,
    });
  }
  return slots;
}

/** Both terms in an hour: of the zone where it has a price of its own, otherwise of its region. */
function pricesThere(
  history: RecordedHistory,
  { provider, sku, region, zone }: WorkloadView,
  hour: number,
): readonly [onDemand: number | null, spot: number | null] {
  const offers = history.offersAt(hour).filter((offer) => offer.provider === provider && offer.sku === sku);
  const priceOf = (term: Term): number | null => {
    for (const place of [zone ?? null, region]) {
      const found = offers.filter((offer) => place !== null && offer.term === term && offer.region === place);
      if (found.length > 0) return Math.min(...found.map(({ rate }) => gpuHour(rate)));
    }
    return null;
  };
  return [priceOf('on-demand'), priceOf('spot')];
}

/** Whether spot was there in all of [from, to); null: some of it was not looked at, and none seen without. */
function seenWithin(market: SpotMarket, from: number, to: number): boolean | null {
  const tickMs = market.tickSeconds * 1000;
  let all: boolean | null = true;
  for (let tick = Math.floor((from - market.from) / tickMs); market.from + tick * tickMs < to; tick++) {
    const seen = market.available[tick] ?? null;
    if (seen === false) return false;
    if (seen === null) all = null;
  }
  return all;
}

function missingPrice({ sku, provider, region }: WorkloadView, term: Term): string {
  if (sku === null || provider === null) return 'the machines on which it runs are unknown';
  return `no price of ${sku} of ${provider}${region === null ? '' : ` in ${region}`} for the term ${term} is known in every hour from its beginning on`;
}

/** Currency units of one GPU for one hour, the cheapest offer; null: there is none. */
type PriceOf = (facts: WorkloadView, hour: number, term: Term) => number | null;

/** Hour by hour, each list of thousands of prices looked at once for all jobs. */
function pricesOver(
  history: RecordedHistory,
  jobs: readonly { readonly facts: WorkloadView; readonly since: number }[],
): PriceOf {
  const places = [...new Map(jobs.map(({ facts }) => [placeOf(facts), facts])).values()];
  const known = new Map<string, number>();
  const first = jobs.reduce((least, { since }) => Math.min(least, hourOf(since)), history.to);
  for (let hour = first; hour < history.to; hour += HOUR_MS) {
    const offers = history.offersAt(hour);
    for (const place of places) {
      for (const offer of offers) {
        if (
          offer.provider !== place.provider ||
          offer.sku !== place.sku ||
          (offer.region !== place.region && offer.region !== null)
        )
          continue;
        const name = `${placeOf(place)}\u0001${offer.term}\u0001${hour}`;
        known.set(name, Math.min(known.get(name) ?? Infinity, gpuHour(offer.rate)));
      }
    }
  }
  return (facts, hour, term) => known.get(`${placeOf(facts)}\u0001${term}\u0001${hour}`) ?? null;
}

const placeOf = ({ provider, sku, region }: WorkloadView): string => [provider, sku, region].join('\u0001');

/** [from, to) of one hour, cut at each evaluation and where the recorded availability turns; null: nobody looked. */
function stretchesOf(
  market: SpotMarket | null,
  from: number,
  to: number,
): { readonly from: number; ms: number; readonly isThere: boolean | null }[] {
  if (market === null) return [{ from, ms: to - from, isThere: null }];
  const tickMs = market.tickSeconds * 1000;
  const stretches: { from: number; ms: number; isThere: boolean | null }[] = [];
  for (let at = from; at < to; ) {
    const tick = Math.floor((at - market.from) / tickMs);
    const evaluation = Math.floor(at / EVALUATION_MS);
    const end = Math.min(to, market.from + (tick + 1) * tickMs, (evaluation + 1) * EVALUATION_MS);
    const isThere = market.available[tick] ?? null;
    const last = stretches.at(-1);
    if (last !== undefined && last.isThere === isThere && Math.floor(last.from / EVALUATION_MS) === evaluation)
      last.ms += end - at;
    else stretches.push({ from: at, ms: end - at, isThere });
    at = end;
  }
  return stretches;
}
