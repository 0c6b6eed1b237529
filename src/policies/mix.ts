/**
 * mix: the cheapest GPU models, one kind or two side by side, for a workload's work: A100 beside V100, T4 for small
 * inference. It considers only models that are known to hold the workload, and whose performance on it is stated,
 * measured or predicted from measurements; and only prices that hold now. The search is exact over all pairs of offers.
 * A service is sized by the highest minute of a complete window, because an unmeasured minute could have been higher.
 */
import { z } from 'zod';
import type {
  GpuOffer,
  ModelPerformance,
  Policy,
  PolicyView,
  Proposal,
  SavingsEstimate,
  WorkloadView,
} from '../core/policy/policy.js';
import { exampleView, minutes, measurement, offer, OFFERS, steady, workload } from './estimating/examples.js';
import { leftAlone, explainTarget, proposalsOf, PROTECTED, sawOf, type Judged } from './estimating/explanations.js';
import { isOfAllReplicas } from './estimating/measured-replicas.js';
import { mayTouch, windowBefore } from './estimating/minutes.js';
import { performanceOf } from './estimating/performance.js';
import {
  cheapest,
  evidenceOf,
  gpuHourNanos,
  monthly,
  monthlyCostOf,
  replicasOf,
  units,
  workloadHourNanos,
} from './estimating/money.js';

const params = z.strictObject({
  windowMinutes: z
    .number()
    .int()
    .min(30)
    .max(20_160)
    .default(1440)
    .describe('Minutes of load; a service must serve the highest of them'),
  headroomRatio: z.number().min(0).max(10).default(0.2).describe('Additional throughput, as a share of that'),
  minimumSavingPerMonth: z
    .number()
    .min(0)
    .default(0)
    .describe("Smallest monthly saving that is proposed, in the team's currency"),
  anyRegion: z.boolean().default(false).describe('Offers of other regions count too'),
  anyProvider: z.boolean().default(false).describe('Offers of other providers count too'),
  mostInstances: z.number().int().min(1).max(10_000).default(256).describe('Most instances of one kind'),
});
type Params = z.infer<typeof params>;

/** An instance of an offer and what it does for the workload. */
interface Kind {
  readonly offer: GpuOffer;
  readonly unitsPerMinute: number;
  readonly hourNanos: number;
  readonly source: string;
}

interface Mix {
  readonly parts: readonly { readonly kind: Kind; readonly count: number }[];
  readonly hourNanos: number;
}

/** Units per minute that must be done; null if it is unknown. A training keeps the pace that it has. */
function needOf(
  view: PolicyView,
  one: WorkloadView,
  given: Params,
): { readonly unitsPerMinute: number; readonly what: string } | null {
  if (one.service !== null) {
    const window = windowBefore(one.service.load, view.asOf, given.windowMinutes);
    if (window === null || !window.isWhole || !isOfAllReplicas(one, window)) return null;
    const peak = window.values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
    return peak > 0
      ? {
          unitsPerMinute: peak * (1 + given.headroomRatio),
          what: `highest minute of ${given.windowMinutes}, with headroom`,
        }
      : null;
  }
  const own = performanceOf(view, one).find(({ gpuModel }) => gpuModel === one.gpuModel);
  const replicas = replicasOf(one);
  if (own === undefined || replicas === null || one.gpusPerReplica === null) return null;
  const pace = own.unitsPerMinute * replicas * one.gpusPerReplica;
  return pace > 0 ? { unitsPerMinute: pace, what: 'its present pace' } : null;
}

/** The cheapest instance of each model and size that holds the workload. */
function kindsFor(view: PolicyView, one: WorkloadView, given: Params): Kind[] {
  const usable = performanceOf(view, one).filter(({ fits, unitsPerMinute }) => fits === true && unitsPerMinute > 0);
  return usable.flatMap((model) => {
    const offers = view.offers.filter(
      (each) =>
        each.gpuModel === model.gpuModel &&
        each.term === (one.term ?? 'on-demand') &&
        (given.anyProvider || each.provider === one.provider) &&
        (given.anyProvider || given.anyRegion || each.region === null || each.region === one.region),
    );
    return [...new Set(offers.map(({ gpus }) => gpus))].flatMap((gpus) =>
      kindOf(cheapest(offers.filter((each) => each.gpus === gpus)), model),
    );
  });
}

const kindOf = (found: GpuOffer | null, { unitsPerMinute, source }: ModelPerformance): Kind[] =>
  found === null
    ? []
    : [
        {
          offer: found,
          unitsPerMinute: unitsPerMinute * found.gpus,
          hourNanos: gpuHourNanos(found.rate) * found.gpus,
          source,
        },
      ];

/**
 * The cheapest counts of one kind or two that do `need` units per minute; null if no count does. Exact over all pairs.
 */
export function cheapestMix(kinds: readonly Kind[], need: number, mostInstances: number): Mix | null {
  let best: Mix | null = null;
  const offerMix = (parts: Mix['parts']): void => {
    const held = parts.filter(({ count }) => count > 0);
    const hourNanos = held.reduce((sum, { kind, count }) => sum + kind.hourNanos * count, 0);
    if (best === null || hourNanos < best.hourNanos) best = { parts: held, hourNanos };
  };
  kinds.forEach((first, at) => {
    const alone = Math.ceil(need / first.unitsPerMinute - 1e-9);
    if (alone <= mostInstances) offerMix([{ kind: first, count: alone }]);
    for (const second of kinds.slice(at + 1)) {
      for (let count = 1; count < alone && count <= mostInstances; count++) {
        const rest = Math.ceil((need - count * first.unitsPerMinute) / second.unitsPerMinute - 1e-9);
        if (rest >= 1 && rest <= mostInstances)
          offerMix([
            { kind: first, count },
            { kind: second, count: rest },
          ]);
      }
    }
  });
  return best;
}

function judge(view: PolicyView, one: WorkloadView, given: Params): Judged {
  const [now, need] = [workloadHourNanos(view, one), needOf(view, one, given)];
  if (!mayTouch(one)) return PROTECTED;
  if (now === null) return leftAlone('no-price', 'its hourly cost is unknown', 'its size, and a price of its GPUs');
  if (need === null)
    return leftAlone(
      'no-need',
      one.service === null ? 'its present pace is unknown' : `its load of ${given.windowMinutes} minutes is incomplete`,
      one.service === null ? 'its performance on the GPUs that it has' : 'a load that was measured every minute',
    );
  const kinds = kindsFor(view, one, given);
  const mix = cheapestMix(kinds, need.unitsPerMinute, given.mostInstances);
  if (mix === null)
    return leftAlone(
      'no-kind',
      `none of ${kinds.length} kinds of GPU is known to be able to do its work and to be on offer`,
      'measured or predicted performance on other GPUs, and their prices',
    );
  const saving = monthly(now - mix.hourNanos);
  if (mix.hourNanos >= now || Number(saving.mean) < given.minimumSavingPerMonth * 1e9)
    return leftAlone(
      'no-saving',
      `the cheapest of ${kinds.length} kinds costs ${units(mix.hourNanos)} an hour, and it costs ${units(now)} now`,
      'a cheaper offer, or a lower need (minimumSavingPerMonth)',
    );
  return proposal(view, one, given, { now, need, mix, saving, kinds: kinds.length });
}

interface Found {
  readonly now: number;
  readonly need: NonNullable<ReturnType<typeof needOf>>;
  readonly mix: Mix;
  readonly saving: SavingsEstimate;
  readonly kinds: number;
}

function proposal(
  view: PolicyView,
  one: WorkloadView,
  given: Params,
  { now, need, mix, saving, kinds }: Found,
): Proposal {
  const text = mix.parts
    .map(({ kind, count }) => `${count} x ${kind.offer.sku} (${kind.offer.gpus} x ${kind.offer.gpuModel})`)
    .join(' + ');
  return {
    action: 'Rightsize',
    target: one.workload,
    change: { instances: text, ...sizeOf(mix, one) },
    title: `Run ${one.workload} on ${text}`,
    monthlySavings: saving,
    monthlyCost: monthlyCostOf(now),
    computation: {
      perHourNow: units(now),
      perHourThen: units(mix.hourNanos),
      unitsPerMinuteNeeded: need.unitsPerMinute,
      need: need.what,
      unitsPerMinuteThen: mix.parts.reduce((sum, { kind, count }) => sum + kind.unitsPerMinute * count, 0),
      kindsConsidered: kinds,
      performance: [...new Set(mix.parts.map(({ kind }) => kind.source))].join(', '),
      priceList: [...new Set(mix.parts.map(({ kind }) => kind.offer.source))].join(', '),
    },
    evidence: [
      evidenceOf(
        view,
        `load and performance of ${one.workload}, prices`,
        view.asOf - (one.service === null ? 0 : given.windowMinutes * 60_000),
        view.asOf,
      ),
    ],
    risk: {
      interruption: 'Medium',
      note: `It restarts on other GPUs; two kinds of GPU need work that can be divided unevenly. ${carriedOutBy(mix, one)}`,
    },
    restartNeeded: true,
    implementationEffort: mix.parts.length > 1 ? 'High' : 'Medium',
    rollbackPossible: true,
    validDays: 7,
  };
}

/** The one kind of a mix, where it is bought at the workload's own place; null: two kinds, or elsewhere. */
function kindHere({ parts }: Mix, { provider, region }: WorkloadView): Mix['parts'][number] | null {
  const [only, other] = parts;
  if (only === undefined || other !== undefined || only.kind.offer.provider !== provider) return null;
  return only.kind.offer.region === null || only.kind.offer.region === region ? only : null;
}

/** How many of what, so that it can be an effect: only where a replica is an instance of it. */
function sizeOf(mix: Mix, one: WorkloadView): { readonly sku?: string; readonly replicas?: number } {
  const only = kindHere(mix, one);
  return only === null || only.kind.offer.gpus !== one.gpusPerReplica
    ? {}
    : { sku: only.kind.offer.sku, replicas: only.count };
}

/** Who carries it out, in words: no provider can change what a group launches, several kinds at once, or the place. */
function carriedOutBy(mix: Mix, one: WorkloadView): string {
  const only = kindHere(mix, one);
  if (only === null)
    return `A person has to carry it out: ${mix.parts.length > 1 ? 'two kinds side by side are' : 'another place is'} not an effect that a provider accepts.`;
  if (only.kind.offer.gpus !== one.gpusPerReplica)
    return 'A person has to carry it out: its replicas are not whole instances of it.';
  return only.kind.offer.sku === one.sku
    ? 'It is a change of size, and is carried out as such.'
    : 'A person has to carry it out, unless it is a single stopped instance: the template of a group decides which type it launches.';
}

const measured = (gpuModel: string, unitsPerMinute: number, fits: boolean | null = true): ModelPerformance => ({
  gpuModel,
  unitsPerMinute,
  fits,
  source: 'measured',
});
const fleet = (ready: number): WorkloadView['fleet'] => ({
  ready,
  booting: 0,
  minReplicas: 1,
  maxReplicas: 20,
  changedAt: null,
});
const small = (load: readonly (number | null)[]): WorkloadView =>
  workload('classify', {
    fleet: fleet(2),
    service: { bootMinutes: 3, capacityPerReplica: 1000, load: minutes(load) },
    performance: [measured('A100-80GB', 1000), measured('T4', 200)],
  });

export const policy: Policy<Params> = {
  name: 'mix',
  version: 3,
  description:
    'Finds the cheapest one or two GPU models that do the work of a workload, from measured performance and current prices',
  params,
  evaluate: (view, given) => view.workloads.flatMap((one) => proposalsOf(judge(view, one, given))),
  explain: (view, given) =>
    view.workloads.map((one) => explainTarget(one.workload, sawOf(one), judge(view, one, given))),
  examples: [
    {
      title: 'A small service on two A100: two T4 do',
      params: { windowMinutes: 60 },
      view: exampleView({ workloads: [small(steady(300, 60))] }),
      proposes: [{ action: 'Rightsize', target: 'classify' }],
    },
    {
      title: 'A training that an A100 beside a V100 runs as fast as two A100',
      params: {},
      view: exampleView({
        offers: [...OFFERS, offer('V100-16GB', 'on-demand', 3000, { sku: 'other', region: 'eu-west-1' })],
        workloads: [
          workload('tune', {
            kind: 'training',
            fleet: fleet(2),
            performance: [measured('A100-80GB', 100), measured('V100-16GB', 100)],
          }),
        ],
      }),
      proposes: [{ action: 'Rightsize', target: 'tune' }],
    },
    {
      title: 'Measured on an A100 and on a T4, where it fits: two T4',
      params: { windowMinutes: 60 },
      view: exampleView({
        workloads: [
          {
            ...small(steady(300, 60)),
            performance: [],
            runs: { model: 'classifier', batch: 32, precision: null, optimizer: null, size: null },
          },
        ],
        measurements: [measurement('A100-80GB', 1000), measurement('T4', 200)],
      }),
      proposes: [{ action: 'Rightsize', target: 'classify' }],
    },
    {
      title: 'It is unknown whether it fits into a T4',
      params: { windowMinutes: 60 },
      view: exampleView({
        workloads: [
          {
            ...small(steady(900, 60)),
            fleet: fleet(1),
            performance: [measured('A100-80GB', 1100), measured('T4', 600, null)],
          },
        ],
      }),
      proposes: [],
    },
    {
      title: 'A minute of its load is missing',
      params: { windowMinutes: 60 },
      view: exampleView({ workloads: [small([null, ...steady(300, 59)])] }),
      proposes: [],
    },
  ],
};
