/**
 * lease: ends an allocation that nobody renews, and notifies its holder in time.
 *
 * It ends only allocations that are known to be held and have an end, unless a longest term for leases without an end
 * is configured. To renew is to move the lease's end: then the same view proposes nothing.
 */
import { z } from 'zod';
import type { LeaseView, Policy, PolicyView, Proposal } from '../core/policy/policy.js';
import { DAY_MS, formatInstant, HOUR_MS, sayInstant } from '../core/time.js';
import { AS_OF, exampleView } from './estimating/examples.js';
import { leftAlone, explainTarget, proposalsOf, type Judged } from './estimating/explanations.js';
import { evidenceOf, monthly, monthlyCostOf, units } from './estimating/money.js';

const params = z.strictObject({
  warnHours: z.number().min(0).max(8760).default(48).describe('Hours before the end at which the holder is notified'),
  graceHours: z.number().min(0).max(8760).default(0).describe('Hours after the end before the allocation is released'),
  longestDays: z
    .number()
    .min(1)
    .max(3660)
    .nullable()
    .default(null)
    .describe('End of leases without an end, in days from their start; null: they never end'),
});
type Params = z.infer<typeof params>;

const endOf = ({ expiresAt, startedAt }: LeaseView, { longestDays }: Params): number | null =>
  expiresAt ?? (longestDays === null ? null : startedAt + longestDays * DAY_MS);

function judge(view: PolicyView, lease: LeaseView, given: Params): Judged {
  const end = endOf(lease, given);
  if (end === null) return leftAlone('no-end', 'it was given without an end', 'an end of the lease, or longestDays');
  if (lease.active !== true)
    return leftAlone(
      'not-held',
      lease.active === null ? 'it is unknown whether it still holds GPUs' : 'it no longer holds GPUs',
      'a reading that shows that it holds GPUs',
    );
  if (view.asOf < end - given.warnHours * HOUR_MS)
    return leftAlone('not-yet', `it ends at ${sayInstant(end)}`, `${given.warnHours} hours before that (warnHours)`);
  return view.asOf >= end + given.graceHours * HOUR_MS ? release(view, lease, end) : warning(view, lease, end, given);
}

const sawLease = ({ lease, holder, gpus, startedAt }: LeaseView): string =>
  `the lease ${lease} of ${holder ?? 'an unknown holder'}: ${gpus ?? 'an unknown number of'} GPUs since ${sayInstant(startedAt)}`;

const common = (
  view: PolicyView,
  lease: LeaseView,
  end: number,
): Pick<Proposal, 'target' | 'monthlyCost' | 'computation' | 'evidence' | 'implementationEffort'> => ({
  target: lease.target,
  monthlyCost: monthlyCostOf(lease.hourlyNanos === null ? null : Number(lease.hourlyNanos)),
  computation: {
    lease: lease.lease,
    holder: lease.holder ?? 'unknown',
    gpus: lease.gpus ?? 'unknown',
    endsAt: formatInstant(end),
    perHour: lease.hourlyNanos === null ? 'no price' : units(Number(lease.hourlyNanos)),
  },
  evidence: [evidenceOf(view, `the lease ${lease.lease}`, lease.startedAt, view.asOf)],
  implementationEffort: 'VeryLow',
});

const release = (view: PolicyView, lease: LeaseView, end: number): Proposal => ({
  ...common(view, lease, end),
  action: 'Release',
  title: `Release ${lease.target}: the lease ${lease.lease} ended at ${sayInstant(end)} and nobody renewed it`,
  monthlySavings: lease.hourlyNanos === null ? null : monthly(Number(lease.hourlyNanos)),
  risk: { interruption: 'High', note: 'What still runs there is lost.' },
  restartNeeded: true,
  rollbackPossible: false,
  validDays: 1,
});

const warning = (view: PolicyView, lease: LeaseView, end: number, { graceHours }: Params): Proposal => ({
  ...common(view, lease, end),
  action: 'Notify',
  protective: true,
  subject: `${lease.target} (notice)`,
  title: `Tell ${lease.holder ?? 'the holder'} that the lease ${lease.lease} of ${lease.target} ends at ${sayInstant(end)}${graceHours > 0 ? ` and the GPUs are released ${graceHours} hours later` : ''}`,
  monthlySavings: null,
  risk: { interruption: 'None', note: 'Nothing is changed.' },
  restartNeeded: false,
  rollbackPossible: true,
  validDays: 1,
});

const lease = (over: Partial<LeaseView>): LeaseView => ({
  lease: 'lease-7',
  target: 'i-lent',
  holder: 'ada',
  gpus: 8,
  startedAt: AS_OF - 30 * DAY_MS,
  expiresAt: AS_OF - HOUR_MS,
  hourlyNanos: 32_000_000_000n,
  active: true,
  ...over,
});

export const policy: Policy<Params> = {
  name: 'lease',
  version: 1,
  description: 'Ends allocations whose lease nobody renewed, and notifies their holders in time',
  params,
  evaluate: (view, given) => view.leases.flatMap((one) => proposalsOf(judge(view, one, given))),
  explain: (view, given) =>
    view.leases.map((one) => explainTarget(one.target, [sawLease(one)], judge(view, one, given))),
  examples: [
    {
      title: 'Ended an hour ago',
      params: {},
      view: exampleView({ leases: [lease({})] }),
      proposes: [{ action: 'Release', target: 'i-lent' }],
    },
    {
      title: 'Ends tomorrow',
      params: {},
      view: exampleView({ leases: [lease({ expiresAt: AS_OF + DAY_MS })] }),
      proposes: [{ action: 'Notify', target: 'i-lent' }],
    },
    {
      title: 'Renewed for a month',
      params: {},
      view: exampleView({ leases: [lease({ expiresAt: AS_OF + 30 * DAY_MS })] }),
      proposes: [],
    },
    {
      title: 'It is unknown whether it is still held',
      params: {},
      view: exampleView({ leases: [lease({ active: null })] }),
      proposes: [],
    },
  ],
};
