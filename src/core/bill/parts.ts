/**
 * The payer's own lines in the files of one delivery, beside the sub-accounts of each file: a bill in parts by
 * sub-account may repeat the payer's tax, support and credits in every part.
 *
 * A line belongs to the payer if it names no sub-account, or the payer. Parts are files without a common sub-account;
 * files that share one are pieces of one list, in which equal lines are two lines. The invariant: two lines count as
 * one only if they agree in every field that distinguishes lines of a bill.
 */
import { formatDecimal } from '../decimal.js';
import { formatInstant } from '../time.js';
import type { UsageRecord } from '../usage.js';
import { accountKey } from './counting.js';

/** So many lines of the payer are held of a file; a file with more is no such part. */
const MOST_LINES = 10_000;

export interface RepeatedLines {
  /** The files that have them, the first of the delivery first. */
  readonly files: readonly [string, string];
  readonly lines: number;
  /** One of them, for people. */
  readonly example: string;
}

interface Part {
  readonly subAccounts: Set<string>;
  lastSubAccount: string;
  /** By what the line says. */
  readonly lines: Map<string, string>;
}

export class BillParts {
  private readonly parts = new Map<string, Part>();
  private last: { readonly file: string; readonly part: Part } | null = null;

  add(file: string, record: UsageRecord): void {
    if (this.last?.file !== file) this.last = { file, part: this.partOf(file) };
    const { part } = this.last;
    const subAccount = record.subAccount ?? '';
    if (subAccount !== '' && subAccount !== record.account) {
      if (subAccount !== part.lastSubAccount) part.subAccounts.add(accountKey(subAccount));
      part.lastSubAccount = subAccount;
    } else if (record.charge !== null && record.charge.billed.unscaled !== 0n && part.lines.size <= MOST_LINES) {
      part.lines.set(keyOf(record), sayLine(record));
    }
  }

  /** For each two parts, the lines that both contain. */
  repeats(): RepeatedLines[] {
    const firsts = new Map<string, string>();
    const found = new Map<string, { readonly files: [string, string]; lines: number; readonly example: string }>();
    for (const [file, { lines, subAccounts }] of this.parts) {
      if (lines.size > MOST_LINES || subAccounts.size === 0) continue;
      for (const [line, example] of lines) {
        const first = firsts.get(line);
        if (first === undefined) firsts.set(line, file);
        else if (this.areApart(first, subAccounts)) {
          const name = JSON.stringify([first, file]);
          const known = found.get(name);
          if (known === undefined) found.set(name, { files: [first, file], lines: 1, example });
          else known.lines += 1;
        }
      }
    }
    return [...found.values()];
  }

  private areApart(file: string, subAccounts: ReadonlySet<string>): boolean {
    const others = this.parts.get(file)?.subAccounts ?? new Set<string>();
    return [...subAccounts].every((name) => !others.has(name));
  }

  private partOf(file: string): Part {
    let part = this.parts.get(file);
    if (part === undefined)
      this.parts.set(file, (part = { subAccounts: new Set(), lastSubAccount: '', lines: new Map() }));
    return part;
  }
}

/** An id that is a line's number, or derived from it, is not part of the bill's own text. */
const OWN_ID = /^\d+(?:\/|$)/;

function keyOf({ id, service, sku, region, resource, term, tags, start, end, charge }: UsageRecord): string {
  const name = OWN_ID.test(id) ? '' : id;
  const amounts = charge === null ? [] : [charge.category, charge.currency, formatDecimal(charge.billed)];
  return JSON.stringify([name, service, sku, region, resource, term, tags, start, end, ...amounts]);
}

function sayLine({ service, start, charge }: UsageRecord): string {
  if (charge === null) return '';
  const of = service === null ? '' : ` of ${service}`;
  return `${charge.category}${of}, ${formatDecimal(charge.billed)} ${charge.currency} of ${formatInstant(start).slice(0, 10)}`;
}
