/**
 * audit.send: sends the audit to its collector in the order of the chain, from the last position. Entries that the
 * collector did not accept are sent again from the same position, for as long as it takes: nothing is skipped and
 * nothing is parked. The metrics and `bursar doctor` show how far behind the collector is, and why.
 */
import type { AuditCollector } from '../core/audit-collector.js';
import type { Stores } from '../store/stores.js';
import type { WorkItem } from '../store/work.js';
import { reachingStage, type Stage } from './stage.js';

const PAGE = 1000;
/** The limit of one request, except for a single larger entry. */
const MOST_CHARACTERS = 1 << 20;
const IDLE_MS = 5000;
const FIRST_WAIT_MS = 5000;
const LONGEST_WAIT_MS = 300_000;
/** That nothing came is noted so often. */
const NOTED_MS = 600_000;

export const AUDIT_ITEM: WorkItem = { stage: 'audit.send', partition: 'audit', key: 'audit' };

type Needed = Pick<Stores, 'audit' | 'auditStream'>;

export function sendAuditStage({ audit, auditStream }: Needed, collector: AuditCollector | null): Stage {
  return reachingStage('audit.send', async ({ organisation, now, clock }) => {
    if (collector === null) {
      // Another process may have the settings; where none has had them for an hour, nobody looks any more.
      const isSent = await auditStream.isSent(organisation, now);
      return async () => (isSent ? [{ ...AUDIT_ITEM, notBefore: now + IDLE_MS }] : []);
    }
    const { seq, failingSince, triedAt } = await auditStream.state(organisation, collector.id);
    const entries = fitting(await audit.sealed(organisation, seq, PAGE));
    const outcome = entries.length === 0 ? ({ kind: 'taken' } as const) : await collector.send(entries);
    const at = clock.now();
    const reached = outcome.kind === 'taken' ? (entries.at(-1)?.seq ?? seq) : seq;
    // As long as it has failed already: the waits double, from seconds to minutes.
    const waitMs =
      outcome.kind === 'not-taken'
        ? Math.min(LONGEST_WAIT_MS, Math.max(FIRST_WAIT_MS, outcome.waitMs ?? at - (failingSince ?? at)))
        : entries.length === 0
          ? IDLE_MS
          : 0;
    const isNoted = entries.length === 0 && triedAt !== null && at - triedAt < NOTED_MS;
    return async (tx) => {
      const problem = outcome.kind === 'taken' ? null : outcome.problem;
      if (!isNoted) await auditStream.save(tx, organisation, collector.id, { seq: reached, problem }, at);
      return [{ ...AUDIT_ITEM, notBefore: at + waitMs }];
    };
  });
}

/** The first entries that fit one request: one at least. */
function fitting<T extends { readonly text: string }>(entries: readonly T[]): readonly T[] {
  let characters = 0;
  const end = entries.findIndex(({ text }, n) => (characters += text.length) > MOST_CHARACTERS && n > 0);
  return end < 0 ? entries : entries.slice(0, end);
}
