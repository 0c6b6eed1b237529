/**
 * report.send (team/month): makes a team's report of a month, keeps it, and announces it once the month is due;
 * alert.make sends alerts for announced reports. A report that is made again replaces the old one. It is announced once
 * per team and month, and only for the newest month that is due: a requested report of an older month notifies nobody. Its
 * inputs are loaded, planned and assembled elsewhere; this stage combines them.
 */
import { makeReport } from '../core/report/model.js';
import type { Report } from '../core/report/report.js';
import { newestDueMonth } from '../core/report/schedule.js';
import { optimumOf } from '../planning/commitment/hindsight.js';
import { nextMonthOf } from '../planning/forecast/next-month.js';
import { REPORT } from '../store/report/reports.js';
import type { Stores } from '../store/stores.js';
import { enqueue } from '../store/work.js';
import { lastPart } from './keys.js';
import type { Stage } from './stage.js';
import { MINUTE_MS } from '../core/time.js';

/** Between two checks: a report is made no later than this after it was due. */
const POLL_MS = 10 * MINUTE_MS;

export function reportStage(stores: Pick<Stores, 'organisations' | 'reports'>): Stage {
  const { organisations, reports } = stores;
  return {
    name: REPORT,
    most: 1,
    async run({ organisation, partition: team, keys, now, tx }) {
      // Whoever asked for it may have removed the team since.
      if ((await organisations.team(tx, organisation, team)) === null) return [];
      for (const month of keys.map(lastPart)) {
        const facts = await reports.facts(tx, organisation, team, month, now);
        const report = makeReport(facts, { optimum: optimumOf(facts.demand), forecast: nextMonthOf(facts) });
        await reports.save(tx, organisation, report, now);
        const isNews =
          saysAnything(report) &&
          month ===
            newestDueMonth(
              facts.zone,
              await organisations.asOf(tx, organisation, now),
              await reports.time(tx, organisation),
            );
        if (isNews) await reports.announce(tx, organisation, team, month, now);
      }
      return [];
    },
  };
}

/** A team that spent, planned and saved nothing is not written to. */
const saysAnything = ({ spend, budgets, savings }: Report): boolean =>
  spend.total !== null || spend.unconverted.length > 0 || budgets.length > 0 || savings.actions.length > 0;

/** Enqueues the report of every team whose month is due. */
export class ReportSchedule {
  readonly name = 'reports';
  readonly everyMs = POLL_MS;

  constructor(private readonly stores: Pick<Stores, 'db' | 'organisations' | 'reports'>) {}

  /** @param now epoch milliseconds */
  async enqueueDue(now: number): Promise<void> {
    const { db, organisations, reports } = this.stores;
    for (const organisation of await organisations.ids(db)) {
      const asOf = await organisations.asOf(db, organisation, now);
      await enqueue(db, organisation, await reports.due(db, organisation, asOf));
    }
  }
}
