/**
 * `bursar backtest policy`: reads a policy document, runs it over the recorded history of its teams, and keeps the result, because a policy may
 * enforce only what was backtested. It changes nothing else.
 */
import type { BacktestReport } from '../../core/backtest.js';
import type { Forecaster } from '../../core/budget.js';
import { invalid, missing, type Problem } from '../../core/errors.js';
import { checkPolicyDocument, fingerprintOf, type PolicyDocument } from '../../core/policy-document.js';
import type { Policy } from '../../core/policy.js';
import { formatInstant, HOUR_MS, parseInstant } from '../../core/time.js';
import { forecastPeriodEnd } from '../../planning/forecast/forecast.js';
import { backtestTeam, policyReport, type TeamBacktest } from '../../planning/policy/report.js';
import type { LocalBursar } from '../context.js';
import { readStructured } from '../structured-file.js';
import { readHistory } from './policy-history.js';

export interface PolicyBacktestOptions {
  /** Path of a policy document. */
  readonly policy: string;
  /** ISO 8601: a day or a whole hour; `to` is not part of it. */
  readonly from: string;
  readonly to: string;
  readonly bursar: LocalBursar;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Who asks, for the audit. */
  readonly actor: string;
  readonly parseYaml?: (text: string) => unknown;
}

const MOST_DAYS = 400;

const forecaster: Forecaster = (dailySpend, elapsedFractionOfDay, daysLeft) => forecastPeriodEnd(dailySpend, elapsedFractionOfDay, daysLeft);

/** @throws Failure invalid for times or a document that cannot be used, missing where no team has any recorded use in the window. */
export async function runPolicyBacktest(options: PolicyBacktestOptions): Promise<BacktestReport> {
  const { bursar: { stores, organisation, policies = [] }, now } = options;
  const { from, to } = windowOf(options, await stores.organisations.asOf(stores.db, organisation, now));
  const document = await readDocument(options, policies);
  const policy = policies.find(({ name }) => name === document.policy);
  if (policy === undefined) throw missing(`there is no policy ${document.policy}`);
  const request = { policy, params: document.params, document: document.name, forecaster };
  const teams: TeamBacktest[] = [];
  let currency = 'USD';
  for (const team of document.teams === '*' ? await stores.policies.teams(stores.db, organisation) : document.teams) {
    const history = await readHistory(stores, organisation, team, from, to);
    const tested = backtestTeam(history, request);
    if (tested.cells.length === 0) continue;
    if (teams.length > 0 && history.currency !== currency) throw invalid(`the teams have several currencies (${currency}, ${history.currency}): backtest them one by one`);
    currency = history.currency;
    teams.push(tested);
  }
  if (teams.length === 0) throw missing(`nothing is recorded of ${document.teams === '*' ? 'any team' : document.teams.join(', ')} from ${formatInstant(from)} to ${formatInstant(to)}`);
  await keep(options, document, policy.version, teams, { from, to });
  return policyReport(teams, request, { from, to, currency });
}

/** @throws Failure invalid, naming every problem of the file: its paths begin with `document`, so that none is taken for a flag. */
async function readDocument({ policy: file, parseYaml }: PolicyBacktestOptions, policies: readonly Policy[]): Promise<PolicyDocument> {
  const { document, problems } = checkPolicyDocument(await readStructured(file, parseYaml), policies);
  if (document === null) throw invalid(`${file} has ${problems.length} problem(s)`, problems.map(({ path, message }) => ({ path: path === null ? 'document' : `document/${path}`, message })));
  return document;
}

function windowOf({ from, to }: PolicyBacktestOptions, asOf: number): { from: number; to: number } {
  const problems: Problem[] = [];
  const read = (path: 'from' | 'to', text: string): number => {
    const instant = parseInstant(text);
    if (instant === null) problems.push({ path, message: `"${text}" is not a time: write 2026-10-01 or 2026-10-01T00:00:00Z` });
    else if (instant % HOUR_MS !== 0) problems.push({ path, message: 'is not a whole hour' });
    return instant ?? NaN;
  };
  const window = { from: read('from', from), to: read('to', to) };
  if (window.to > asOf) problems.push({ path: 'to', message: `lies after what is recorded (${formatInstant(asOf)})` });
  if (window.from >= window.to) problems.push({ path: 'to', message: 'is not after from' });
  if (window.to - window.from > MOST_DAYS * 24 * HOUR_MS) problems.push({ path: 'from', message: `is more than ${MOST_DAYS} days before to` });
  if (problems.length > 0) throw invalid('the window cannot be run again', problems);
  return window;
}

/** A row per team, in one transaction with the audit. */
async function keep({ bursar: { stores, organisation }, actor, now }: PolicyBacktestOptions, document: PolicyDocument, version: number, teams: readonly TeamBacktest[], { from, to }: { from: number; to: number }): Promise<void> {
  const fingerprint = fingerprintOf(document, version);
  await stores.db.transaction(async (tx) => {
    for (const { team, cells } of teams) {
      await stores.policies.saveBacktest(tx, organisation, { fingerprint, policy: document.policy, policyVersion: version, team, from, to, result: cells }, actor, now);
    }
    await stores.audit.audit(tx, organisation, actor, 'policy.backtest', document.name, { policy: document.policy, version, teams: teams.map(({ team }) => team), from: formatInstant(from), to: formatInstant(to) });
  });
}
