/** What the tests of formats share: fixtures by name, all records of an input, totals by provider and currency. */
import { fileURLToPath } from 'node:url';
import { addDecimal, formatDecimal, ZERO, type Decimal } from '../../../src/core/decimal.js';
import type { PriceFormat, ReadOptions, UsageFormat } from '../../../src/core/ports.js';
import type { Price, PriceEvent } from '../../../src/core/price/price.js';
import type { Reject, UsageRecord } from '../../../src/core/usage.js';
import { openBytes, openFile, type OpenInput } from '../../../src/formats/reading/input.js';

export const fixture = (path: string): string => fileURLToPath(new URL(`../../fixtures/${path}`, import.meta.url));

export async function usageOf(
  format: UsageFormat,
  input: OpenInput,
  options?: ReadOptions,
): Promise<{ records: UsageRecord[]; rejects: Reject[] }> {
  const records: UsageRecord[] = [];
  const rejects: Reject[] = [];
  for await (const batch of format.read(input, options)) {
    records.push(...batch.records);
    rejects.push(...batch.rejects);
  }
  await input.close();
  return { records, rejects };
}

export const usageOfFile = async (format: UsageFormat, path: string) => usageOf(format, await openFile(fixture(path)));
export const usageOfText = async (format: UsageFormat, text: string, name = 'file.csv') =>
  usageOf(format, await openBytes(name, Buffer.from(text)));

export async function pricesOfFile(
  format: PriceFormat,
  path: string,
): Promise<{ events: PriceEvent[]; prices: Price[]; rejects: Reject[] }> {
  return pricesOf(format, await openFile(fixture(path)));
}

export async function pricesOf(
  format: PriceFormat,
  input: OpenInput,
): Promise<{ events: PriceEvent[]; prices: Price[]; rejects: Reject[] }> {
  const events: PriceEvent[] = [];
  const rejects: Reject[] = [];
  for await (const batch of format.read(input)) {
    events.push(...batch.events);
    rejects.push(...batch.rejects);
  }
  await input.close();
  return { events, prices: events.flatMap((event) => (event.kind === 'price' ? [event.price] : [])), rejects };
}

/** Billed totals, `AWS USD` to `8.00155109870`. */
export function billed(records: readonly UsageRecord[]): Record<string, string> {
  const totals = new Map<string, Decimal>();
  for (const { provider, charge } of records) {
    if (charge === null) continue;
    const key = `${provider} ${charge.currency}`;
    totals.set(key, addDecimal(totals.get(key) ?? ZERO, charge.billed));
  }
  return Object.fromEntries([...totals].map(([key, total]) => [key, formatDecimal(total)]));
}
