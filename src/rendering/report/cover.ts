/**
 * What somebody reads who reads one page of a report: three sentences, four figures, and what they lack.
 *
 * Chooses words; every amount is the model's own. An unknown value is called unknown, with the reason; an
 * estimate comes with its interval.
 */
import { EFFECTS } from '../../core/report/bridge.js';
import type { Report, ReportAmount, ReportBudget } from '../../core/report/report.js';
import type { Formatter } from './format.js';
import { printable } from './format.js';
import type { TextKey, Texts } from './texts.js';

export interface Tile {
  readonly label: string;
  readonly value: string;
  readonly note: string;
}

export interface Cover {
  readonly sentences: readonly string[];
  readonly tiles: readonly Tile[];
  /** What is in no figure above. */
  readonly lacking: readonly string[];
}

/** Effects that a sentence names. */
const MOST_EFFECTS = 3;

export const coverOf = (report: Report, texts: Texts, format: Formatter): Cover =>
  new CoverWriter(report, texts, format).cover();

class CoverWriter {
  constructor(
    private readonly report: Report,
    private readonly texts: Texts,
    private readonly format: Formatter,
  ) {}

  cover(): Cover {
    return {
      sentences: [this.spent(), this.saved(), this.ahead()],
      tiles: [this.spendTile(), this.savedTile(), this.aheadTile(), this.decideTile()],
      lacking: this.lacking(),
    };
  }

  private say(key: TextKey, filled: Readonly<Record<string, string | number>> = {}): string {
    return this.texts.text(key, filled);
  }

  private money(amount: string | null): string {
    return amount === null ? this.say('unknown') : this.format.money(amount, this.report.currency);
  }

  /** One amount a currency; null: there is none. */
  private amounts(all: readonly ReportAmount[] | undefined): string | null {
    if (all === undefined || all.length === 0) return null;
    return all.map(({ amount, currency }) => this.format.money(amount, currency)).join(' + ');
  }

  private spent(): string {
    const { spend, bridge, isOver, asOf } = this.report;
    if (spend.total === null) return this.say(spend.gpuHours === null ? 'say.spent-nothing' : 'say.spent-unknown');
    const total = this.money(spend.total);
    const at = this.format.instant(asOf);
    if (!isOver && this.texts.sameDays === null)
      return spend.before === null
        ? this.say('say.spent-open-alone', { total, at })
        : this.say('say.spent-open', { total, at, before: this.money(spend.before) });
    if (bridge.known === null) return this.say('say.spent-alone', { total, at });
    const { change, before } = bridge.known;
    const { currency } = this.report;
    if (Number(change) === 0) return this.say('say.spent-same', { total, at });
    const why = this.effects();
    return this.say(Number(change) > 0 ? 'say.spent-more' : 'say.spent-less', {
      total,
      at,
      change: this.format.money(change.replace('-', ''), currency),
      share: Number(before) > 0 ? ` (${this.format.ratio(Math.abs(Number(change) / Number(before)))})` : '',
      why: why === '' ? '' : this.say('say.why', { effects: why }),
    });
  }

  /** The largest parts of the change, with their signs. */
  private effects(): string {
    const { known } = this.report.bridge;
    if (known === null) return '';
    return EFFECTS.map((effect) => ({ effect, amount: known.effects[effect] }))
      .filter(({ amount }) => Number(amount) !== 0)
      .toSorted((a, b) => Math.abs(Number(b.amount)) - Math.abs(Number(a.amount)))
      .slice(0, MOST_EFFECTS)
      .map(
        ({ effect, amount }) =>
          `${this.say(`say.effect-${effect}`)} ${this.format.signed(amount, this.report.currency)}`,
      )
      .join(this.say('comma'));
  }

  private saved(): string {
    const { proven, verified, measured, estimated } = this.report.savings;
    const parts = {
      verified: this.amounts(verified) ?? this.money('0.00'),
      measured: this.amounts(measured) ?? this.money('0.00'),
    };
    const sum = this.amounts(proven);
    const first =
      verified.length + measured.length === 0
        ? this.say('say.saved-none')
        : sum === null
          ? this.say('say.saved-parts', parts)
          : this.say('say.saved', { ...parts, proven: sum });
    const mean = this.amounts(estimated.monthly);
    if (mean === null) return this.say('say.end', { first });
    return this.say('say.saved-estimated', {
      first,
      mean,
      interval: this.interval(this.amounts(estimated.monthlyLow), this.amounts(estimated.monthlyHigh)),
    });
  }

  private interval(low: string | null, high: string | null): string {
    return low === null || high === null ? this.say('interval-unknown') : this.say('interval', { low, high });
  }

  private ahead(): string {
    const { decisions } = this.report;
    const comes = this.comes();
    if (decisions === undefined) return this.say('say.end', { first: comes });
    const { sure, unsure, unknown } = decisions;
    const decide =
      sure.count > 0
        ? this.say('say.decide', {
            count: sure.count,
            low: this.amounts(sure.monthlyLow) ?? '',
            mean: this.amounts(sure.monthly) ?? '',
            high: this.amounts(sure.monthlyHigh) ?? '',
          })
        : this.say(unsure + unknown > 0 ? 'say.decide-unsure' : 'say.decide-none', { count: unsure + unknown });
    return this.say('say.ahead', { comes, decide });
  }

  /** The budget of the team itself whose forecast says how the month ends. */
  private ownBudget(): ReportBudget | null {
    const { budgets, team } = this.report;
    return budgets.find((one) => one.team === team && one.forecast !== null) ?? null;
  }

  private comes(): string {
    const { forecast, currency, isOver } = this.report;
    if (forecast.known !== null) {
      const { mean, low, high } = forecast.known;
      const [middle, ...ends] = [mean, low, high].map((amount) => this.format.money(amount, currency));
      const said = { mean: middle ?? '', low: ends[0] ?? '', high: ends[1] ?? '' };
      const soFar = this.report.nextMonthSoFar ?? null;
      return soFar === null
        ? this.say('say.comes', said)
        : this.say('say.comes-since', { ...said, days: soFar.days, total: this.money(soFar.total) });
    }
    const own = isOver ? null : this.ownBudget();
    if (own?.forecast === null || own === null) return this.say('say.comes-unknown');
    const [mean, low, high] = [own.forecast.mean, own.forecast.low, own.forecast.high].map((amount) =>
      this.format.money(amount, own.currency),
    );
    return this.say('say.comes-budget', {
      budget: printable(own.budget),
      mean: mean ?? '',
      low: low ?? '',
      high: high ?? '',
    });
  }

  private spendTile(): Tile {
    const { spend, bridge, isOver, currency } = this.report;
    const against =
      bridge.known === null
        ? this.texts.code('reason', bridge.reason)
        : this.say(isOver || this.texts.sameDays !== null ? 'tile.against' : 'tile.before', {
            change: this.format.signed(bridge.known.change, currency),
            before: this.format.money(bridge.known.before, currency),
          });
    return { label: this.say('tile.spend'), value: this.money(spend.total), note: against };
  }

  private savedTile(): Tile {
    const { proven, verified, measured, unverifiable } = this.report.savings;
    const none = verified.length + measured.length === 0;
    return {
      label: this.say('tile.saved'),
      value: none ? this.money('0.00') : (this.amounts(proven) ?? this.say('unknown')),
      note: [
        none
          ? this.say('tile.saved-none')
          : this.say('tile.saved-parts', {
              verified: this.amounts(verified) ?? this.money('0.00'),
              measured: this.amounts(measured) ?? this.money('0.00'),
            }),
        ...(unverifiable.count === 0 ? [] : [this.say('tile.unverifiable', { count: unverifiable.count })]),
      ].join(' '),
    };
  }

  private aheadTile(): Tile {
    const { forecast, currency, isOver } = this.report;
    const own = isOver ? null : this.ownBudget();
    const [of, label, ends] =
      forecast.known !== null
        ? [currency, this.say('tile.forecast'), forecast.known]
        : own !== null
          ? [own.currency, this.say('tile.budget-end', { budget: printable(own.budget) }), own.forecast]
          : [currency, this.say('tile.forecast'), null];
    if (ends === null)
      return { label, value: this.say('unknown'), note: this.texts.code('reason', forecast.reason ?? '') };
    const [mean, low, high] = [ends.mean, ends.low, ends.high].map((amount) => this.format.money(amount, of));
    const interval = this.say('tile.interval', { low: low ?? '', high: high ?? '' });
    const soFar = this.report.nextMonthSoFar ?? null;
    const since =
      soFar === null || forecast.known === null
        ? ''
        : ` ${this.say('tile.since', { days: soFar.days, total: this.money(soFar.total) })}`;
    return { label, value: mean ?? '', note: `${interval}${since}` };
  }

  private decideTile(): Tile {
    const { decisions } = this.report;
    const label = this.say('tile.decide');
    if (decisions === undefined) return { label, value: this.say('unknown'), note: this.say('reason.not-recorded') };
    const { sure, unsure, unknown } = decisions;
    const others = this.texts
      .others(unsure, unknown)
      .map((one) => ` ${one}`)
      .join('');
    if (sure.count === 0) return { label, value: this.say('none'), note: `${this.say('tile.decide-none')}${others}` };
    return {
      label: this.say('tile.decide-least'),
      value: this.amounts(sure.monthlyLow) ?? this.say('unknown'),
      note: `${this.say('tile.sure', {
        count: sure.count,
        mean: this.amounts(sure.monthly) ?? '',
        high: this.amounts(sure.monthlyHigh) ?? '',
      })}${others}`,
    };
  }

  private lacking(): string[] {
    const { unconverted, setAside = [], unpriced = [], unpricedGpuHours } = this.report.spend;
    const figure = (key: TextKey, value: string): string => this.say('figure-of', { figure: this.say(key), value });
    const one = ({ amount, currency }: ReportAmount): string => this.format.money(amount, currency);
    return [
      ...(Number(unpricedGpuHours) === 0
        ? []
        : [figure('figure.unpriced-lacking', this.format.hours(unpricedGpuHours))]),
      ...unconverted.map((amount) => figure('figure.unconverted', one(amount))),
      ...setAside.map((amount) => figure('figure.set-aside', one(amount))),
      ...(unpriced.length === 0 ? [] : [figure('figure.unpriced-usage', this.format.count(unpriced.length))]),
    ];
  }
}
