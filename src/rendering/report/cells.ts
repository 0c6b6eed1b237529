/**
 * What a report is written in: cells with typed values, tables of them, sections of tables and pictures. Every format
 * shows the same cells; a value that is not known stays a null.
 */
import { exhaustionDayOf, isEndKnown } from '../../core/budget/exhaustion.js';

export type Cell =
  /** An amount in a currency. */
  | { readonly kind: 'money'; readonly amount: string | null; readonly currency: string }
  /** A decimal of GPU-hours. */
  | { readonly kind: 'hours'; readonly amount: string | null }
  /** 1 is 100 %. */
  | { readonly kind: 'ratio'; readonly value: number | null }
  | { readonly kind: 'count'; readonly value: number | null }
  /** What somebody else named: never trusted, never translated. */
  | { readonly kind: 'name'; readonly text: string | null }
  /** The report's own words. */
  | { readonly kind: 'text'; readonly text: string }
  /** Nothing belongs here. */
  | { readonly kind: 'none' }
  /** `YYYY-MM-DD`. */
  | { readonly kind: 'day'; readonly day: string }
  /** ISO 8601. */
  | { readonly kind: 'instant'; readonly at: string | null };

export interface Column {
  /** Names the measure where no title is wanted (CSV). */
  readonly id: string;
  readonly title: string;
}

export interface Table {
  readonly id: string;
  readonly title: string;
  readonly columns: readonly Column[];
  /** So many columns at the left name the row. */
  readonly heads: number;
  readonly rows: readonly (readonly Cell[])[];
}

export const CHARTS = ['spend', 'bridge', 'gpu'] as const;
export type ChartName = (typeof CHARTS)[number];

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly notes: readonly string[];
  readonly charts: readonly ChartName[];
  readonly tables: readonly Table[];
}

export const money = (amount: string | null, currency: string): Cell => ({ kind: 'money', amount, currency });
export const hours = (amount: string | null): Cell => ({ kind: 'hours', amount });
export const ratio = (value: number | null): Cell => ({ kind: 'ratio', value });
export const count = (value: number | null): Cell => ({ kind: 'count', value });
export const name = (text: string | null): Cell => ({ kind: 'name', text });
export const text = (words: string): Cell => ({ kind: 'text', text: words });
export const NONE: Cell = { kind: 'none' };
/** The day on which a budget's plan runs out, or the word for never, or for what nobody knows. */
export function exhausted(
  budget: Parameters<typeof exhaustionDayOf>[0] & Parameters<typeof isEndKnown>[0],
  words: { text(of: 'none' | 'unknown'): string },
): Cell {
  const day = exhaustionDayOf(budget);
  return day === null ? text(words.text(isEndKnown(budget) ? 'none' : 'unknown')) : { kind: 'day', day };
}
export const instant = (at: string | null): Cell => ({ kind: 'instant', at });
