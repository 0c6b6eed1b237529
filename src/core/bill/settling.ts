/**
 * The settling time of a bill after its period, per provider: until then the bill may still change, and its meters
 * count.
 *
 * AWS finalises a month's charges some days into the next ("Understanding your AWS Cost and Usage Reports": the report
 * is estimated until the invoice is issued); other clouds do not state a time either. Never decides a bill's state:
 * counting.ts does.
 */
import { invalid, type Problem } from '../errors.js';
import { DAY_MS } from '../time.js';

export interface Settling {
  /** Whole days after the end of the period. */
  readonly days: number;
  /** Settling times of providers that differ from the default. */
  readonly providers: Readonly<Record<string, number>>;
}

const DEFAULT_SETTLING: Settling = { days: 10, providers: {} };
const MOST_DAYS = 120;

/** @throws Failure invalid naming every problem. */
export function readSettling(stated: unknown): Settling {
  if (stated === undefined || stated === null) return DEFAULT_SETTLING;
  const problems: Problem[] = [];
  const { days, providers } = stated as Partial<Settling>;
  const check = (path: string, value: unknown): void => {
    if (!Number.isInteger(value) || Number(value) < 0 || Number(value) > MOST_DAYS)
      problems.push({ path, message: `is not a whole number of days from 0 to ${MOST_DAYS}` });
  };
  check('days', days);
  for (const [provider, value] of Object.entries(providers ?? {})) check(`providers/${provider}`, value);
  if (problems.length > 0) throw invalid('the settling time of bills has problems', problems);
  return { days: days ?? DEFAULT_SETTLING.days, providers: providers ?? {} };
}

/** `7` for every provider, `AWS=7` for one. @throws Failure invalid */
export function changeSettling(settling: Settling, text: string): Settling {
  const [, provider, days = ''] = /^(?:(.+)=)?(\d+)$/.exec(text) ?? [];
  if (days === '') throw invalid(`"${text}" is not a number of days, or a provider's: 10, AWS=7`);
  return readSettling(
    provider === undefined
      ? { ...settling, days: Number(days) }
      : { ...settling, providers: { ...settling.providers, [provider]: Number(days) } },
  );
}

export const settlingMs = ({ days, providers }: Settling, provider: string): number =>
  (Object.hasOwn(providers, provider) ? (providers[provider] ?? days) : days) * DAY_MS;
