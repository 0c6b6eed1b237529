/**
 * Forecasts the cost of the month after a report's: the same forecast that budgets use, from the days until the month's
 * end. It uses no data after the month, even if a report is made later, so that an old report says what could be known
 * then.
 */
import { dailySeries, lastDayOf, nanosText, nextMonth } from '../../core/report/spend.js';
import type { ReportFacts } from '../../core/report/facts.js';
import { stated, notStated, type ReportForecast, type Stated } from '../../core/report/report.js';
import { forecastPeriodEnd } from './forecast.js';

const COVERAGE = 0.8;

const nanosOf = (units: number): bigint => BigInt(Math.round(units * 1e9));

export function nextMonthOf(facts: Pick<ReportFacts, 'days' | 'period' | 'zone' | 'asOf'>): Stated<ReportForecast> {
  const { days, period, zone, asOf } = facts;
  if (asOf < period.end) return notStated('month-not-over');
  const history = dailySeries(days, lastDayOf(period.end, zone));
  if (history.length === 0) return notStated('nothing-recorded');
  const { from, to, days: length } = nextMonth(facts);
  // The month's first day stands as a today of which nothing is over yet.
  const { mean, low, high, method } = forecastPeriodEnd([...history, 0], 0, length - 1, { coverage: COVERAGE });
  if (![mean, low, high].every(Number.isFinite)) return notStated('nothing-recorded');
  return stated({
    from,
    to,
    mean: nanosText(nanosOf(mean)),
    low: nanosText(nanosOf(low)),
    high: nanosText(nanosOf(high)),
    coverage: COVERAGE,
    method,
    historyDays: history.length,
  });
}
