/**
 * The format of amounts, times and effects in alerts, and the further sentences of a language: answers to buttons and
 * commands.
 *
 * Pure. An amount is rounded half to even; a time is in UTC and says so.
 */
import type { EffectJson } from '../action/action.js';
import type { LackingAmount } from './alert.js';
import type { Act, Content } from './message.js';
import type { Mute } from './routes.js';
import { formatDecimal, parseDecimal, tenTo } from '../decimal.js';
import { NANOS, shareText, type Figure } from '../figures.js';
import { divideHalfEven } from '../money.js';

export interface StatusFacts {
  readonly teams: number;
  /** Alerts and actions that wait. */
  readonly open: number;
  readonly waiting: number;
  readonly over: number;
  readonly budgets: number;
}

export interface BudgetLine {
  readonly name: string;
  readonly team: string;
  readonly spent: string;
  readonly planned: string | null;
  readonly currency: string;
  readonly ratio: number | null;
  /** In the budget's zone, `2026-11-20`. */
  readonly exhaustionDay: string | null;
  /** The amounts that its totals lack: money, GPU-hours without a price, and other usage without one. */
  readonly lacking: readonly LackingAmount[];
  /** What bills that are not final say of the usage that is in `spent` as metered. */
  readonly setAside: readonly LackingAmount[];
  readonly unpricedGpuHours: string;
  readonly hasUnpriced: boolean;
}

export interface WaitingAction {
  readonly id: string;
  readonly team: string;
  readonly effect: EffectJson;
  readonly expiresAt: string;
}

/** The answers to one person. */
export interface Sentences {
  readonly notConnected: string;
  howToConnect(workspace: string, user: string): string;
  mayNot(team: string | null): string;
  mayNotMute(team: string | null): string;
  readonly gone: string;
  readonly decided: Readonly<Record<Exclude<Act, 'mute'>, string>>;
  muted(mute: Pick<Mute, 'team' | 'kind' | 'thread' | 'upTo' | 'until'>): string;
  failed(message: string): string;
  readonly help: string;
  noSuchBudget(name: string): string;
  status(facts: StatusFacts): Content;
  /** @param more how many are left out */
  budgets(all: readonly BudgetLine[], more: number): Content;
  actions(all: readonly WaitingAction[], more: number): Content;
}

/** `1,234.57 USD`; a text that is not a number stays unchanged. */
export function shownAmount(text: string, currency: string, digits = 2): string {
  const amount = parseDecimal(text);
  if (amount === null) return `${text} ${currency}`;
  const unscaled =
    amount.scale <= digits
      ? amount.unscaled * tenTo(digits - amount.scale)
      : divideHalfEven(amount.unscaled, tenTo(amount.scale - digits));
  const [whole = '0', fraction = ''] = formatDecimal({ unscaled, scale: digits }).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return `${digits === 0 ? grouped : `${grouped}.${fraction}`} ${currency}`;
}

/** `80 %` of `0.8`. */
export const shownRatio = (ratio: string): string => `${Number((Number(ratio) * 100).toFixed(4))} %`;

/** `2026-11-18 14:05 UTC` of an ISO 8601 instant. */
export const shownInstant = (text: string): string => `${text.slice(0, 10)} ${text.slice(11, 16)} UTC`;

/** `quietMinutes` as words, of a name that this version does not know. */
const spelled = (name: string): string => {
  const text = name
    .replaceAll(/[-_]/g, ' ')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/\bgpu/g, 'GPU');
  return text.charAt(0).toUpperCase() + text.slice(1);
};

const WHOLE_FROM = 100;

/**
 * An amount and the ends of its interval: `3,340 USD a month (3,063 to 3,617)`; without its cents where it is large
 * enough. @param per what follows the amount, ` a month`
 */
export function rangeWords(
  mean: string,
  low: string | null,
  high: string | null,
  currency: string,
  per: '' | ' a month' = '',
): string {
  const digits = Math.abs(Number(mean)) >= WHOLE_FROM ? 0 : 2;
  const [shown, ...ends] = [mean, low ?? '', high ?? ''].map((text) => shownAmount(text, currency, digits));
  const [from = '', to = ''] = ends.map((text) => text.replace(` ${currency}`, ''));
  return low === null || high === null ? `${shown}${per}` : `${shown}${per} (${from} to ${to})`;
}

/** `1.44 USD`, `0.864 USD`: two digits, and up to four where they say more. */
const priceWords = (text: string, currency: string): string =>
  shownAmount(text, currency, 4).replace(/0{1,2}(?= )/, '');

const INSTANT = /\d{4}-\d{2}-\d{2}T[\d:.]+Z/g;
const NUMBER = /^-?\d+(\.\d+)?$/;

const counted = (value: number): string =>
  Number(Math.abs(value) < 1 ? value.toPrecision(2) : value.toFixed(2))
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ',');

/** A number by its unit. A text that is no number (`no price`) stays as it is. */
function figureValue(unit: Figure['unit'] | null, value: string | number, currency: string): string {
  const text = String(value);
  if (unit === 'threshold') {
    const [, of, ratio] = /^(actual|forecast) ([\d.]+)$/.exec(text) ?? [];
    return ratio === undefined ? text : `${of === 'actual' ? 'spend' : 'forecast'} at ${shownRatio(ratio)}`;
  }
  if (text.search(INSTANT) >= 0) return text.replaceAll(INSTANT, shownInstant).replaceAll('UTC/', 'UTC to ');
  if (unit === 'code') return text.replaceAll('-', ' ');
  if (unit === 'text' || !NUMBER.test(text)) return text;
  if (unit === 'money') return shownAmount(text, currency);
  if (unit === 'price') return priceWords(text, currency);
  return unit === 'share' ? shareText(Number(text)) : counted(Number(text));
}

/**
 * An input number in words: its name, its value by its unit, and three amounts in nanos as one with its interval.
 * @param figures the words and units of the names; an unknown name is spelled
 */
export function figureWords(
  figures: Readonly<Record<string, Figure>>,
  name: string,
  value: string | number,
  currency: string,
): string {
  const { words, unit } = figures[name.replace(NANOS, '')] ?? { words: spelled(name.replace(NANOS, '')), unit: null };
  const amounts = String(value).split(' ');
  if (!NANOS.test(name) || !amounts.every((one) => /^-?\d+$/.test(one)))
    return `${words}: ${figureValue(unit, value, currency)}`;
  const [mean = '0', low = null, high = null] = amounts.map((one) =>
    formatDecimal({ unscaled: BigInt(one), scale: 9 }),
  );
  return `${words}: ${amounts.length === 1 ? priceWords(mean, currency) : rangeWords(mean, low, high, currency)}`;
}

/** What a purchase's target says of it (policies/reserve-baseline.ts). */
export interface Commitment {
  readonly sku: string;
  readonly region: string;
  readonly years: number;
  readonly isPlan: boolean;
}

/** Null: the target is another's, such as a person's. */
export function commitmentIn(target: string): Commitment | null {
  const [, region, sku, plan, years] =
    /\/([^/]+)\/([^/]+)\/(reserved|savings-plan)-(\d)y\/(?:none|partial|all)$/.exec(target) ?? [];
  return region === undefined || sku === undefined
    ? null
    : { sku, region, years: Number(years), isPlan: plan === 'savings-plan' };
}

function purchaseWords(effect: Extract<EffectJson, { readonly kind: 'purchase' }>): string {
  const { target, units, offer, currency, mostNanos } = effect;
  const most = `at most ${shownAmount(formatDecimal({ unscaled: BigInt(mostNanos), scale: 9 }), currency)}`;
  const what = commitmentIn(target);
  if (what === null) return `buy ${units} of ${offer}, ${most}`;
  const [place, term] = [`${what.sku} in ${what.region}`, `${what.years} ${what.years === 1 ? 'year' : 'years'}`];
  return what.isPlan
    ? `commit to ${shownAmount(String(units), currency)} an hour in a savings plan for ${place} for ${term}, ${most}`
    : `reserve ${units} x ${place} for ${term}, ${most}`;
}

/** An effect as the rest of a sentence: `stop instance/i-1`. */
export function effectWords(effect: EffectJson): string {
  switch (effect.kind) {
    case 'scale':
      return `scale ${effect.target} to ${effect.replicas}`;
    case 'set-bounds':
      return `keep ${effect.target} between ${effect.min} and ${effect.max}`;
    case 'set-spot-ratio':
      return `have ${effect.target} launch ${Math.round(effect.spotRatio * 100)} % of its instances above the base on spot`;
    case 'resize':
      return `resize ${effect.target} to ${effect.sku}`;
    case 'move':
      return `move ${effect.target} to ${effect.term === 'spot' ? 'spot' : 'on-demand machines'} in ${effect.zone ?? effect.region}`;
    case 'cordon':
      return `${effect.cordoned ? 'keep new work off' : 'let new work onto'} ${effect.target}`;
    case 'purchase':
      return purchaseWords(effect);
    default:
      return `${effect.kind} ${effect.target}`;
  }
}
