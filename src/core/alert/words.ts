/**
 * The format of amounts, times and effects in alerts, and the further sentences of a language: answers to buttons and
 * commands.
 *
 * Pure. An amount is rounded half to even; a time is in UTC and says so.
 */
import type { EffectJson } from '../action/action.js';
import type { LackingAmount } from './alert.js';
import type { Act, Content } from './message.js';
import { formatDecimal, parseDecimal, tenTo } from '../decimal.js';
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
  readonly exhaustionAt: string | null;
  /** The amounts that its totals lack: money, GPU-hours without a price, and other usage without one. */
  readonly lacking: readonly LackingAmount[];
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
  readonly decided: Readonly<Record<Act, string>>;
  failed(message: string): string;
  readonly help: string;
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
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${fraction} ${currency}`;
}

/** `80 %` of `0.8`. */
export const shownRatio = (ratio: string): string => `${Number((Number(ratio) * 100).toFixed(4))} %`;

/** `2026-11-18 14:05 UTC` of an ISO 8601 instant. */
export const shownInstant = (text: string): string => `${text.slice(0, 10)} ${text.slice(11, 16)} UTC`;

export const shownDay = (text: string): string => text.slice(0, 10);

/** `quietMinutes` and `hourly_nanos` as words. */
const spelled = (name: string): string => {
  const text = name
    .replaceAll(/[-_]/g, ' ')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/\bgpu/g, 'GPU');
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/**
 * An input number with its name, in words: money as money whatever its stored unit, shares as per cent. Several amounts
 * are separated by spaces, such as the mean, low and high of a saving.
 */
export function figureWords(name: string, value: string | number, currency: string): string {
  const amounts = String(value).split(' ');
  if (name.endsWith('Nanos') && amounts.every((one) => /^-?\d+$/.test(one))) {
    const shown = amounts.map((one) => shownAmount(formatDecimal({ unscaled: BigInt(one), scale: 9 }), currency, 4));
    return `${spelled(name.replace(/Nanos$/, ''))}: ${shown.join(', ')}`;
  }
  if (typeof value !== 'number') return `${spelled(name)}: ${value}`;
  const isShare = /(Ratio|Share|Probability)/.test(name) && value >= 0 && value <= 1;
  return isShare
    ? `${spelled(name.replace(/Ratio|Share/, ''))}: ${Number((value * 100).toPrecision(3))} %`
    : `${spelled(name)}: ${Number.isInteger(value) ? value : Number(value.toPrecision(4))}`;
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
    case 'cordon':
      return `${effect.cordoned ? 'keep new work off' : 'let new work onto'} ${effect.target}`;
    case 'purchase':
      return `buy ${effect.units} of ${effect.offer}, at most ${shownAmount(formatDecimal({ unscaled: BigInt(effect.mostNanos), scale: 9 }), effect.currency)}`;
    default:
      return `${effect.kind} ${effect.target}`;
  }
}
