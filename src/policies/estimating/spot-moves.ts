/**
 * `spot-shift` over several places: a workload with its prices, its market and the places where it may run; the move to
 * another of them, with what it costs there and here, what it sends and what its restart costs; and what was seen of each.
 *
 * A move is made by checkpoint and restart, and is proposed where it saves with its whole interval, or where the plan to a
 * deadline asks for it.
 */
import type { Evidence } from '../../core/evidence.js';
import {
  HOURS_PER_MONTH,
  type PolicyView,
  type Proposal,
  type SpotMarket,
  type WorkloadView,
} from '../../core/policy/policy.js';
import { costOnce, evidenceOf, onceBetween, units } from './money.js';
import type { SpotPrices, SpotRecord } from './spot.js';
import { cheapestPlace, savingAt, type PlaceSaving, type Standing } from './spot-choice.js';
import { hourlyCost, isThereNow, placeName, type SpotPlace, type SpotPlaces } from './spot-places.js';
import { regionsWord } from './spot-regions-job.js';

export interface Case {
  readonly places: SpotPlaces;
  readonly target: string;
  readonly gpus: number;
  readonly term: 'spot' | 'on-demand';
  readonly prices: SpotPrices;
  readonly market: SpotMarket | null;
  readonly record: SpotRecord | null;
  readonly restartHours: number;
}

/** A workload where it stands, with or without its prices. */
export type Priced = Omit<Case, 'places' | 'prices'> & { readonly prices: SpotPrices | null };

export const NOWHERE_ELSE: SpotPlaces = { here: null, others: [], refused: [], sendsGb: null, egressPerGb: () => null };

export const mayGoElsewhere = ({ interruptible }: WorkloadView, { places: { here, others } }: Case): boolean =>
  interruptible === true && here !== null && others.length > 0;

/**
 * A move to another place; or the word of the planner over all places for the place where it is; null: the places say
 * nothing, and it is judged where it is.
 * @param isSpotStable whether spot has been there long enough where it is
 */
export function overPlaces(
  view: PolicyView,
  one: WorkloadView,
  found: Case,
  stableMinutes: number,
  isSpotStable: boolean,
): Proposal | 'spot' | 'on-demand' | 'wait' | null {
  const { job } = one;
  const { places, gpus, restartHours } = found;
  const { here, others } = places;
  if (here === null) return null;
  const standing = standingOf(view, one, found, here);
  if (job === null || job.deadline === null) {
    const chosen = cheapestPlace(standing, places, view.asOf, stableMinutes);
    const stays = found.term === 'on-demand' && isSpotStable;
    const inPlace = stays ? savingAt(standing, here, here, 'spot', places) : null;
    if (chosen === null || (inPlace !== null && inPlace.mean >= chosen.saving.mean)) return null;
    return toPlace(view, found, chosen.place, 'spot', chosen.saving, 'it is the cheapest place that has spot now');
  }
  const holds = one.fleet !== null && one.fleet.ready > 0 ? found.term : null;
  const word = regionsWord({
    job,
    asOf: view.asOf,
    gpus,
    holds,
    places: [here, ...others],
    sendsGb: places.sendsGb,
    egressPerGb: places.egressPerGb,
    restartHours,
  });
  if (word === null) return null;
  const there = word.place === 0 ? here : others[word.place - 1];
  if (word.word === 'wait' || there === undefined || there === here) return word.word;
  const saving = savingAt(standing, here, there, word.word, places);
  return toPlace(view, found, there, word.word, saving, 'the plan to its deadline is cheapest there');
}

/** What it costs where it is, as it is: on spot that is gone it would go on on demand. */
function standingOf(view: PolicyView, one: WorkloadView, found: Case, here: SpotPlace): Standing {
  const { prices, restartHours, gpus, term } = found;
  const isOnSpot = term === 'spot' && isThereNow(here, view.asOf);
  const { onDemand } = prices;
  return {
    gpus,
    costHere: isOnSpot ? hourlyCost(here, restartHours) : { mean: onDemand, low: onDemand, high: onDemand },
    workLeftHours: one.job?.workLeftHours ?? null,
    isEndless: one.job === null,
    restartHours,
  };
}

/** A move to another place: by checkpoint and restart. */
function toPlace(
  view: PolicyView,
  found: Case,
  there: SpotPlace,
  term: 'spot' | 'on-demand',
  saving: PlaceSaving | null,
  why: string,
): Proposal {
  const { target, gpus, places, restartHours } = found;
  const { offer, onDemand, spot } = there.prices;
  const name = placeName(there);
  const price = term === 'spot' ? spot : onDemand;
  const isEndless = saving !== null && saving.hours === HOURS_PER_MONTH;
  const zone: Readonly<Record<string, string>> = there.place === there.region ? {} : { zone: there.place };
  return {
    action: term === 'spot' ? 'MoveToSpot' : 'MoveToOnDemand',
    target,
    // Its deadline is kept even where that saves nothing.
    ...(saving === null || saving.mean <= 0 ? { protective: true } : {}),
    change: {
      term,
      sku: offer.sku,
      provider: there.provider,
      region: there.region,
      ...zone,
      egress: units(saving?.egress ?? 0),
      restartHours,
      ...(places.sendsGb === null || saving?.egress === 0 ? {} : { sendsGb: places.sendsGb }),
    },
    title: `Move ${target} (${Number(gpus.toFixed(1))} GPUs) to ${term === 'spot' ? 'spot' : 'on-demand machines'} in ${name}: ${why}`,
    monthlySavings: saving === null ? null : onceBetween(saving.mean, saving.low, saving.high),
    ...(isEndless ? {} : { savingRecurs: 'once' as const }),
    monthlyCost: saving === null ? null : costOnce(saving.cost),
    computation: {
      ...numbers(found),
      placeNow: found.places.here === null ? '' : placeName(found.places.here),
      placeThen: name,
      perGpuHourThen: units(price),
      spotAvailableShareThen: there.record.share,
      interruptionsPerHourThen: there.record.interruptionsPerHour,
      priceListThen: offer.source,
      ...(saving === null
        ? {}
        : { egressOnce: units(saving.egress), restartOnce: units(saving.restart), workHoursLeft: saving.hours }),
      sendsGb: places.sendsGb ?? 'unknown; nothing leaves its region',
    },
    evidence: [...evidence(view, found), marketEvidence(view, there.record)],
    risk: {
      interruption: term === 'spot' ? 'High' : 'Low',
      note: `It stops at its checkpoint and starts in ${name}; spot was gone there ${(100 * (1 - there.record.share)).toFixed(0)} % of the time.`,
    },
    restartNeeded: true,
    implementationEffort: 'Medium',
    rollbackPossible: true,
    validDays: 1,
  };
}

export const sawMarket = ({ prices, market, record }: Case): string =>
  [
    `${units(prices.spot)} on spot and ${units(prices.onDemand)} on demand per GPU-hour`,
    market === null || record === null
      ? 'the availability of spot has not been recorded'
      : `spot was available ${(100 * record.share).toFixed(0)} % of the time`,
  ].join(', ');

export const numbers = ({ gpus, prices, record, restartHours }: Priced): Proposal['computation'] => ({
  gpus,
  ...(prices === null ? {} : { onDemandPerGpuHour: units(prices.onDemand), spotPerGpuHour: units(prices.spot) }),
  restartHours,
  spotAvailableShare: record?.share ?? 'not recorded: the saving is unknown',
  interruptionsPerHour: record?.interruptionsPerHour ?? 'not recorded',
  ...(prices === null ? {} : { priceList: prices.offer.source }),
});

export const evidence = (
  view: PolicyView,
  { record, target }: Pick<Case, 'record' | 'target'>,
): Proposal['evidence'] => [
  record === null ? evidenceOf(view, `prices of ${target}`, view.asOf, view.asOf) : marketEvidence(view, record),
];

const marketEvidence = (view: PolicyView, { tickSeconds, from, to }: SpotRecord): Evidence =>
  evidenceOf(view, `recorded availability of spot, every ${tickSeconds} seconds`, from, to);

/** The other places, each with its prices or with why it is none. */
export function sawPlaces(found: Case): string[] {
  const { here, others, refused } = found.places;
  return [
    ...(here === null ? ['no move: the availability of spot where it runs has not been recorded'] : []),
    ...others.map((place) => `${placeName(place)}: ${sawMarket({ ...found, ...place })}`),
    ...refused.map(({ name, why }) => `${name} is no candidate: ${why}`),
  ];
}
