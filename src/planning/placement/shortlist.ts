/**
 * The answer of a placement: the cheapest place, the runners-up with the reason why each lost, and the number of the
 * others per reason. Bounded for any price book: some runners-up in full, one example for each reason. Amounts are
 * decimal strings; nothing is rounded that the placement did not round.
 */
import { formatMoney, type Money } from '../../core/money.js';
import type { Price, Upfront } from '../../core/price/price.js';
import type { Term } from '../../core/usage.js';
import type { Refused } from './candidates.js';
import { placeShort, type Loss, type Plan } from './placement.js';
import type { Market, Workload } from './workload.js';

export interface PlacedPart {
  readonly provider: string;
  readonly sku: string;
  readonly region: string | null;
  readonly term: Term;
  readonly upfront: Upfront;
  readonly gpuModel: string | null;
  /** Instances. */
  readonly units: number;
  readonly gpus: number;
}

export interface Placed {
  readonly parts: readonly PlacedPart[];
  readonly gpus: number;
  readonly hours: number;
  readonly cost: string;
  /** Part of the cost. */
  readonly egressCost: string;
}

/** Why a place lost, as a sentence; `kind` for programs. */
export interface Reason {
  readonly kind: Loss['kind'];
  readonly message: string;
}

export interface Shortlist {
  readonly currency: string;
  /** Null: nothing can serve the workload; `refused` says why. */
  readonly best: Placed | null;
  /** Single prices that could serve it alone, cheapest first. */
  readonly runnersUp: readonly (Placed & { readonly lost: readonly Reason[] })[];
  /** Prices that can, beyond those listed. */
  readonly more: number;
  /** Prices that cannot, by reason; one with several reasons counts in each. */
  readonly refused: readonly { readonly kind: Loss['kind']; readonly count: number; readonly example: string }[];
  readonly assumptions: readonly string[];
}

/** Answers at once: beyond this a mix of an inference is refused, and the error says what to ask instead. */
const MOST_STEPS = 200_000;
export const MOST_RUNNERS_UP = 20;

/** @throws Failure invalid naming every number of the workload that cannot be, or if a mix takes too long */
export function shortlist(workload: Workload, market: Market, most: number): Shortlist {
  const { best, runnersUp, more, unable, refused } = placeShort(
    workload,
    { ...market, mostSteps: MOST_STEPS },
    Math.min(most, MOST_RUNNERS_UP),
  );
  return {
    currency: market.currency,
    best: best === null ? null : placed(best),
    more,
    runnersUp: runnersUp.flatMap(({ plan, losses }) =>
      plan === null ? [] : [{ ...placed(plan), lost: losses.map(reasonOf) }],
    ),
    refused: counted([tally(unable.map(({ price, losses }) => [price, losses])), tallyOf(refused)]),
    assumptions: assumptionsOf(workload),
  };
}

function placed({ parts, gpus, hours, cost, egressCost }: Plan): Placed {
  return {
    parts: parts.map(({ price: { provider, sku, region, term, upfront, gpuModel }, units, gpus: count }) => ({
      provider,
      sku,
      region,
      term,
      upfront,
      gpuModel,
      units,
      gpus: count,
    })),
    gpus,
    hours,
    cost: formatMoney(cost),
    egressCost: formatMoney(egressCost),
  };
}

/** How many prices have a reason, and one of them in words. */
type Tally = ReadonlyMap<Loss['kind'], { readonly count: number; readonly example: string }>;

function tally(options: readonly (readonly [price: Price, losses: readonly Loss[]])[]): Tally {
  const found = new Map<Loss['kind'], { count: number; example: string }>();
  for (const [price, losses] of options) {
    for (const loss of losses) {
      const known = found.get(loss.kind);
      if (known === undefined) found.set(loss.kind, { count: 1, example: `${nameOf(price)}: ${textOf(loss)}` });
      else known.count += 1;
    }
  }
  return found;
}

const tallies = new WeakMap<readonly Refused[], Tally>();

/** Of a list that comes again and again: counted once. */
function tallyOf(refused: readonly Refused[]): Tally {
  const known = tallies.get(refused) ?? tally(refused.map(({ price, refusals }) => [price, refusals]));
  tallies.set(refused, known);
  return known;
}

/** Both together, the most frequent first; of two examples the first stays. */
function counted(all: readonly Tally[]): Shortlist['refused'] {
  const found = new Map<Loss['kind'], { count: number; example: string }>();
  for (const [kind, { count, example }] of all.flatMap((one) => [...one])) {
    const known = found.get(kind);
    if (known === undefined) found.set(kind, { count, example });
    else known.count += count;
  }
  return [...found]
    .map(([kind, rest]) => ({ kind, ...rest }))
    .sort((a, b) => b.count - a.count || (a.kind < b.kind ? -1 : 1));
}

const nameOf = ({ provider, sku, region, term }: Price): string =>
  `${provider} ${sku}${region === null ? '' : ` in ${region}`}, ${term}`;

const reasonOf = (loss: Loss): Reason => ({ kind: loss.kind, message: textOf(loss) });

function assumptionsOf({ kind, terms, spotShareMax, restOfTermUsed, relativeSpeeds }: Workload): string[] {
  const texts = [
    'current prices apply throughout, without storage and the peak factor, which multiplies all of them alike',
  ];
  if (spotShareMax > 0) texts.push('spot is costed as if it were not interrupted');
  if (relativeSpeeds === undefined)
    texts.push(kind === 'training' ? 'every GPU model takes the given hours' : 'GPUs of every model serve alike');
  if (!restOfTermUsed && terms?.every((term) => term === 'on-demand' || term === 'spot') !== true)
    texts.push('a reservation is paid for its whole term');
  return texts;
}

const money = (amount: Money): string => `${formatMoney(amount)} ${amount.currency}`;

const PLAIN: Readonly<Partial<Record<Loss['kind'], string>>> = {
  equal: 'costs as much, and comes later in the list',
  'no-longer-listed': 'the catalogue no longer lists it',
  'part-of-a-gpu': 'it is not sold in whole GPUs',
  'model-unknown': 'its GPU model is unknown',
  'memory-unknown': "its GPU's memory is unknown",
  'speed-unknown': 'the speed of its GPU was not given',
  'spot-not-tolerated': 'it is spot, which the workload does not tolerate',
  'no-egress-price': 'its price of outgoing data is unknown',
  'no-fx-rate': 'there is no exchange rate to the currency asked for',
};

function textOf(loss: Loss): string {
  switch (loss.kind) {
    case 'dearer':
      return `costs ${money(loss.by)} more${loss.ratio === null ? '' : `, ${loss.ratio.toFixed(2)} times as much`}`;
    case 'spare-gpus':
      return `rents ${loss.rented} GPUs in whole units, and ${loss.needed} are needed`;
    case 'too-much-spot':
      return `would be spot altogether, and at most ${loss.spotShareMax} of it may be`;
    case 'not-allowed':
      return `its ${loss.what} is not among those allowed`;
    case 'no-price':
      return `it has no price now (${loss.reason})`;
    case 'too-little-memory':
      return `has ${loss.gib.toFixed(1)} GiB per GPU, and ${loss.neededGib} are needed`;
    case 'deadline-missed':
      return `would take ${loss.hours.toFixed(1)} h, and ${loss.deadlineHours} are left`;
    case 'too-few-gpus-per-unit':
      return `has ${loss.gpus} GPUs in a unit, and ${loss.neededGpus} are needed`;
    case 'too-few-units':
      return `${loss.units} units are available, and ${loss.neededUnits} are needed`;
    default:
      return PLAIN[loss.kind] ?? loss.kind;
  }
}
