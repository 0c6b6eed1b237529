/**
 * What a target's own settings imply for a change: a scaling group's protection, suspended processes, hooks and
 * policies; changes that its cloud refuses, or could not reverse; tools that would reverse the change.
 *
 * Pure. The invariant: a setting that nobody has read is no obstacle, and is never reported as absent.
 */
import type { Effect, FleetTarget } from './fleet.js';

export interface SettingsWord {
  readonly code: string;
  readonly message: string;
}

/** The obstacles to an effect: it would be refused, have no result, be undone at once, or be irreversible. */
export function obstaclesTo(effect: Effect, seen: FleetTarget): SettingsWord[] {
  const ruledOut = seen.ruledOut?.[effect.kind];
  const found: SettingsWord[] =
    ruledOut === undefined ? [] : [{ code: 'ruled-out', message: `${seen.target}: ${ruledOut}` }];
  if (effect.kind === 'stop' && seen.paid === 'prepaid')
    found.push({ code: 'prepaid', message: `${seen.target} is paid for in advance: a stop saves nothing` });
  const change = sizeChange(effect, seen);
  const group = seen.group;
  if (group === undefined || change === null || change === 0) return found;
  const step = change < 0 ? 'terminate' : 'launch';
  if (group.suspended?.includes(step) === true)
    found.push({
      code: 'process-suspended',
      message: `${seen.target} has suspended its process to ${step} machines: only its number would change`,
    });
  const members = seen.replicas?.desired ?? 0;
  if (group.protectedMembers !== null && -change > members - group.protectedMembers)
    found.push({
      code: 'scale-in-protection',
      message: `${group.protectedMembers} of the ${members} machines of ${seen.target} are protected from scale-in: ${-change} cannot go`,
    });
  const follower = effect.kind === 'scale' ? group.policies?.find(({ follows }) => follows) : undefined;
  if (follower !== undefined)
    found.push({
      code: 'own-policy',
      message: `${seen.target} follows its own policy ${follower.name}, which would restore its size: set its bounds instead`,
    });
  return found;
}

/** The side effects of an effect, and what may undo it later. */
export function risksOf(effect: Effect, seen: FleetTarget): SettingsWord[] {
  const found = (seen.managedBy ?? []).map(
    (tool): SettingsWord => ({ code: 'managed', message: `${tool}, and may undo what is changed here` }),
  );
  found.push(...(effect.kind === 'stop' ? risksOfStop(seen) : []));
  const change = sizeChange(effect, seen);
  if (seen.group === undefined || change === null || change === 0) return found;
  const { hooks, policies } = seen.group;
  for (const { name, seconds } of change < 0 ? (hooks ?? []) : [])
    found.push({
      code: 'lifecycle-hook',
      message: `the lifecycle hook ${name} holds each machine that ends${seconds === null ? '' : ` for up to ${seconds} seconds`}, and it is billed during that time`,
    });
  const others = (policies ?? []).filter(({ follows }) => effect.kind !== 'scale' || !follows);
  if (others.length > 0)
    found.push({
      code: 'own-policies',
      message: `${seen.target} has scaling policies of its own that may change its size again: ${others.map(({ name }) => name).join(', ')}`,
    });
  return found;
}

/** Amazon EC2 User Guide, "Stop and start Amazon EC2 instances": what a stop loses, and what a start may not find. */
function risksOfStop({ target, paid, localDisks, mayKeepCharging }: FleetTarget): SettingsWord[] {
  const found: SettingsWord[] = [];
  if (localDisks === true)
    found.push({ code: 'local-disks', message: `the data on the local disks of ${target} is lost when it stops` });
  if (paid === 'elsewhere')
    found.push({ code: 'paid-elsewhere', message: `the host or reservation that ${target} uses is still billed` });
  if (mayKeepCharging === true)
    found.push({
      code: 'may-keep-charging',
      message: `its cloud still charges for some such machines when stopped: whether ${target} is still billed shows only after the stop`,
    });
  if (paid !== undefined)
    found.push({ code: 'no-capacity', message: 'its cloud may have no such machine free when it should start again' });
  return found;
}

/** The share of a machine's hourly price that a stop saves; `because` is a clause. */
export type StopSaving =
  | { readonly saves: 'its hours' }
  | { readonly saves: 'nothing' | 'unknown'; readonly because: string };

/**
 * @param mayBeCovered whether commitments are known that may cover its hours: which machine they cover is decided when
 * the bill is made
 */
export function savedByStop({ paid, term }: Pick<FleetTarget, 'paid' | 'term'>, mayBeCovered: boolean): StopSaving {
  if (paid === 'prepaid') return { saves: 'nothing', because: 'it is paid for in advance, running or not' };
  if (paid === 'elsewhere')
    return { saves: 'unknown', because: 'its host or its capacity reservation is paid for, running or not' };
  if (term !== null && term !== 'on-demand' && term !== 'spot')
    return {
      saves: 'unknown',
      because: `its hours are paid for by ${term}: a stop saves what that would cover elsewhere`,
    };
  return mayBeCovered && term !== 'spot'
    ? { saves: 'unknown', because: 'a reservation or savings plan may cover it, and would then cover something else' }
    : { saves: 'its hours' };
}

/** The change in the number of machines by an effect; null: the effect is of another kind, or the number is unknown. */
export function sizeChange(effect: Effect, { replicas }: FleetTarget): number | null {
  if (replicas === null) return null;
  const { desired } = replicas;
  if (effect.kind === 'scale') return effect.replicas - desired;
  return effect.kind === 'set-bounds' ? Math.min(Math.max(desired, effect.min), effect.max) - desired : null;
}
