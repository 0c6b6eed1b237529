/**
 * The backtest of a policy over its teams, one after the other, on any given history. The command line and the line
 * both run this.
 *
 * It reads and stores nothing itself. The invariant: the number of its pauses, and messages during them, change no
 * figure.
 */
import type { BacktestReport } from '../../core/policy/backtest.js';
import type { BacktestWindow } from '../../core/policy/backtest-window.js';
import type { Forecaster } from '../../core/budget/budget.js';
import { invalid, missing } from '../../core/errors.js';
import type { RecordedHistory } from '../../core/policy/history.js';
import { formatInstant } from '../../core/time.js';
import { forecastPeriodEnd } from '../forecast/forecast.js';
import { policyReport, teamSteps, type PolicyBacktestRequest, type TeamBacktest } from './report.js';

export interface BacktestPorts {
  historyOf(team: string): Promise<RecordedHistory>;
  /** Called after every step with the share of the whole that is done, 0 to 1: may rest, may throw to leave off. */
  step(share: number): Promise<void> | void;
}

export interface FinishedBacktest {
  readonly teams: readonly TeamBacktest[];
  readonly report: BacktestReport;
}

const forecaster: Forecaster = (dailySpend, elapsedFractionOfDay, daysLeft) =>
  forecastPeriodEnd(dailySpend, elapsedFractionOfDay, daysLeft);

/**
 * @param teams the requested teams; teams without recorded data are left out
 * @throws Failure missing if nothing is recorded of any of them, invalid if they have several currencies; whatever the
 * ports throw
 */
export async function backtestPolicy(
  asked: Omit<PolicyBacktestRequest, 'forecaster'>,
  teams: readonly string[],
  window: BacktestWindow,
  ports: BacktestPorts,
): Promise<FinishedBacktest> {
  const request = { ...asked, forecaster };
  const tested: TeamBacktest[] = [];
  let currency: string | null = null;
  for (const [at, team] of teams.entries()) {
    const history = await ports.historyOf(team);
    const work = teamSteps(history, request);
    let step = work.next();
    while (step.done !== true) {
      await ports.step((at + step.value) / teams.length);
      step = work.next();
    }
    if (step.value.cells.length === 0) continue;
    if (currency !== null && history.currency !== currency)
      throw invalid(`the teams have several currencies (${currency}, ${history.currency}): backtest them one by one`);
    currency = history.currency;
    tested.push(step.value);
  }
  if (currency === null)
    throw missing(
      `nothing is recorded for ${teams.length > 5 || teams.length === 0 ? 'any team' : teams.join(', ')} from ${formatInstant(window.from)} to ${formatInstant(window.to)}`,
    );
  return { teams: tested, report: policyReport(tested, request, { ...window, currency }) };
}
