/**
 * The behavioural contract of a provider's connection, as tests over any that can show its truth: the fake cloud, or a
 * real provider's connection before a server of the test's own that counts.
 *
 * It asserts what the ports promise (src/core/ports.ts), never how a provider keeps it.
 */
import type { ProviderSetting } from '../../src/core/setting.js';
import { describe, expect, it } from 'vitest';
import type { Effect } from '../../src/core/fleet/fleet.js';
import type { ProviderAbilities, ProviderConnection } from '../../src/core/ports.js';
import type { UsageRecord } from '../../src/core/usage.js';
import { effectOf } from '../../src/core/action/acting.js';
import { guard } from '../../src/core/action/guard.js';
import { facts } from '../support/guard-facts.js';

export interface ContractSubject {
  /** May act. */
  readonly connection: ProviderConnection;
  /** The same account without credentials for acting. */
  readonly readOnly: ProviderConnection;
  /** An effect that the provider takes now. */
  readonly effect: Effect;
  /** How often an effect took hold under a token: the truth. */
  appliedCount(token: string): number;
  /**
   * The next `apply` gets no answer; with `arrives` it takes hold all the same. Absent: the subject cannot lose
   * answers.
   */
  loseNextAnswer?(arrives: boolean): void;
  /** Half-open, on whole hours and all past, with usage in both halves of its hours; absent: it meters nothing. */
  readonly metered?: { readonly from: number; readonly to: number };
  /** The present, epoch milliseconds. */
  now(): number;
}

/**
 * What stands against stopping, ending and resizing a machine of a group, as the connection reads it: of the guard, and
 * of a recommendation of the same.
 */
export async function memberRefusals(connection: ProviderConnection, target: string): Promise<unknown[]> {
  const seen = (await connection.target?.(target)) ?? null;
  if (seen === null) throw new Error(`${target} is not there`);
  const effects: readonly Effect[] = [
    { kind: 'stop', target },
    { kind: 'terminate', target },
    { kind: 'resize', target, sku: 'another' },
  ];
  return [
    ...effects.map((effect) => {
      const verdict = guard(facts({ seen }, { effect, target }));
      return verdict.allowed ? 'allowed' : verdict.reasons.map(({ code }) => code);
    }),
    ...(['Stop', 'Release'] as const).map((action) => effectOf({ action, change: {} }, seen)),
  ];
}

/** What memberRefusals gives where the group is known. */
export const REFUSED_TO_MEMBERS: readonly unknown[] = [
  ['group-member'],
  ['group-member'],
  ['group-member'],
  { obstacle: expect.objectContaining({ code: 'group-member' }) as unknown },
  { obstacle: expect.objectContaining({ code: 'group-member' }) as unknown },
];

export interface PermissionSubject {
  readonly abilities: ProviderAbilities;
  /** May act. */
  readonly connection: ProviderConnection;
  /** The same account without credentials for acting. */
  readonly readOnly: ProviderConnection;
  /** Permissions that the credentials lack, by which credentials; and those that nobody can tell without acting. */
  readonly denied: readonly string[];
  readonly unknown: readonly string[];
  /** How often something was changed: the truth. */
  changes(): number;
}

const HOUR_MS = 3_600_000;

/** Declares the tests; `make` gives a fresh subject for each. */
export function describeProviderContract(name: string, make: () => ContractSubject | Promise<ContractSubject>): void {
  describe(`${name}: the contract of fleet and target`, () => fleetContract(make));
  describe(`${name}: the contract of acting`, () => actingContract(make));
  describe(`${name}: the contract of usage and prices`, () => usageContract(make));
}

/** Every permission that a provider declares, with the credentials that need it. */
export function declaredPermissions({
  effects,
  ...reading
}: ProviderAbilities): { readonly permission: string; readonly use: ProviderSetting['use'] }[] {
  return [
    ...[...new Set(Object.values(reading).flatMap((names) => names ?? []))].map((permission) => ({
      permission,
      use: 'read' as const,
    })),
    ...[...new Set(Object.values(effects).flat())].map((permission) => ({ permission, use: 'act' as const })),
  ];
}

/** Declares the tests of what a provider tells about its permissions: each is there, is not, or is not known. */
export function describePermissionContract(
  name: string,
  make: () => PermissionSubject | Promise<PermissionSubject>,
): void {
  describe(`${name}: the contract of permissions`, () => {
    it('tells of each that it declares whether it is there, is not, or cannot be asked for; and asking changes nothing', async () => {
      const { connection, abilities, denied, unknown, changes } = await make();
      const told: [string, boolean | null | undefined][] = [];
      for (const { permission, use } of declaredPermissions(abilities))
        told.push([permission, await connection.granted?.(permission, use)]);
      expect(told).toEqual(
        declaredPermissions(abilities).map(({ permission }) => [
          permission,
          denied.includes(permission) ? false : unknown.includes(permission) ? null : true,
        ]),
      );
      expect(changes()).toBe(0);
    });

    it('never says that what acts is there without credentials for acting', async () => {
      const { readOnly, abilities, changes } = await make();
      const reading = new Set(
        declaredPermissions(abilities).flatMap(({ permission, use }) => (use === 'read' ? [permission] : [])),
      );
      for (const { permission, use } of declaredPermissions(abilities)) {
        // What is read for an action is read with the credentials for reading.
        if (use === 'act' && !reading.has(permission) && !/:Describe|^(?:get|list) /.test(permission))
          expect([permission, await readOnly.granted?.(permission, 'act')]).not.toEqual([permission, true]);
      }
      expect(changes()).toBe(0);
    });
  });
}

function fleetContract(make: () => ContractSubject | Promise<ContractSubject>): void {
  it('lists each target once, as target() reads it', async () => {
    const { connection } = await make();
    const reading = await connection.fleet?.();
    expect(reading?.complete).toBe(true);
    const targets = reading?.targets ?? [];
    expect(targets.length).toBeGreaterThan(0);
    expect(new Set(targets.map(({ target }) => target)).size).toBe(targets.length);
    for (const target of targets) expect(await connection.target?.(target.target)).toEqual(target);
  });

  it('says null of a target that is not there', async () => {
    const { connection } = await make();
    expect(await connection.target?.('instance/nobody-has-this')).toBeNull();
  });
}

function actingContract(make: () => ContractSubject | Promise<ContractSubject>): void {
  const before = ({ connection, effect }: ContractSubject): ReturnType<NonNullable<ProviderConnection['target']>> =>
    connection.target?.(effect.target) ?? Promise.resolve(null);
  const send = async (subject: ContractSubject, token: string): Promise<unknown> =>
    subject.connection.apply?.(subject.effect, token, await before(subject));

  it('refuses without credentials for acting, and nothing happens', async () => {
    const subject = await make();
    expect(subject.readOnly.canAct).toBe(false);
    await expect(subject.readOnly.apply?.(subject.effect, 'token-1', null)).rejects.toMatchObject({
      name: 'Failure',
      kind: 'denied',
    });
    expect(subject.appliedCount('token-1')).toBe(0);
  });

  it('applies twice under one token what it applies once', async () => {
    const subject = await make();
    const seen = await before(subject);
    expect(await subject.connection.apply?.(subject.effect, 'token-1', seen)).toMatchObject({ kind: 'taken' });
    expect(await subject.connection.apply?.(subject.effect, 'token-1', seen)).toMatchObject({ kind: 'taken' });
    expect(subject.appliedCount('token-1')).toBe(1);
    expect(await subject.connection.outcome?.(subject.effect, 'token-1')).toMatchObject({ kind: 'taken' });
  });

  it('never says of a token that was not sent that it was taken', async () => {
    const subject = await make();
    expect(['absent', 'unknown']).toContain(
      (await subject.connection.outcome?.(subject.effect, 'token-never-sent'))?.kind,
    );
  });

  it('tells after a lost answer what became of the effect', async () => {
    const subject = await make();
    if (subject.loseNextAnswer === undefined) return;
    subject.loseNextAnswer(true);
    expect(await send(subject, 'token-1')).toMatchObject({ kind: 'unknown' });
    expect(subject.appliedCount('token-1')).toBe(1);
    expect(await subject.connection.outcome?.(subject.effect, 'token-1')).toMatchObject({ kind: 'taken' });
  });

  it('tells after a lost request that it may be sent, and then it takes hold once', async () => {
    const subject = await make();
    if (subject.loseNextAnswer === undefined) return;
    subject.loseNextAnswer(false);
    expect(await send(subject, 'token-1')).toMatchObject({ kind: 'unknown' });
    expect(subject.appliedCount('token-1')).toBe(0);
    const outcome = await subject.connection.outcome?.(subject.effect, 'token-1');
    expect(['absent', 'unknown']).toContain(outcome?.kind);
    if (outcome?.kind !== 'absent') return;
    expect(await send(subject, 'token-1')).toMatchObject({ kind: 'taken' });
    expect(subject.appliedCount('token-1')).toBe(1);
  });

  it('refuses a target that has another revision than was seen', async () => {
    const subject = await make();
    const seen = await before(subject);
    if (seen === null || seen === undefined || seen.revision === null) return;
    expect(
      await subject.connection.apply?.(subject.effect, 'token-1', { ...seen, revision: `${seen.revision}0` }),
    ).toMatchObject({ kind: 'refused' });
    expect(subject.appliedCount('token-1')).toBe(0);
  });
}

/** Records by id. @throws where one id stands for two contents. */
async function usageOf(connection: ProviderConnection, from: number, to: number): Promise<Map<string, UsageRecord>> {
  const records = new Map<string, UsageRecord>();
  for await (const batch of connection.usage?.(from, to) ?? []) {
    expect(batch.rejects).toEqual([]);
    for (const record of batch.records) {
      const known = records.get(record.id);
      if (known !== undefined) expect(record).toEqual(known);
      records.set(record.id, record);
    }
  }
  return records;
}

function usageContract(make: () => ContractSubject | Promise<ContractSubject>): void {
  it('gives the same records whenever it is asked, all within the interval', async () => {
    const { connection, metered } = await make();
    if (metered === undefined) return;
    const records = await usageOf(connection, metered.from, metered.to);
    expect(records.size).toBeGreaterThan(0);
    expect(await usageOf(connection, metered.from, metered.to)).toEqual(records);
    for (const { start, end, charge } of records.values()) {
      expect(charge).toBeNull();
      expect(start).toBeGreaterThanOrEqual(metered.from);
      expect(start).toBeLessThan(end);
      expect(end).toBeLessThanOrEqual(metered.to);
    }
  });

  it('cuts at an instant without losing or repeating anything', async () => {
    const { connection, metered } = await make();
    if (metered === undefined) return;
    const middle = metered.from + Math.floor((metered.to - metered.from) / HOUR_MS / 2) * HOUR_MS;
    const [early, late] = [
      await usageOf(connection, metered.from, middle),
      await usageOf(connection, middle, metered.to),
    ];
    expect(early.size).toBeGreaterThan(0);
    expect(late.size).toBeGreaterThan(0);
    expect(new Set([...early.keys(), ...late.keys()]).size).toBe(early.size + late.size);
    expect(new Map([...early, ...late])).toEqual(await usageOf(connection, metered.from, metered.to));
  });

  it('has metered nothing of the future', async () => {
    const { connection, metered, now } = await make();
    if (metered === undefined) return;
    expect((await usageOf(connection, now(), now() + 24 * HOUR_MS)).size).toBe(0);
  });

  it('states prices above zero that hold from an instant on, and later ones alone when asked since then', async () => {
    const { connection, now } = await make();
    if (connection.prices === undefined) return;
    let count = 0;
    for await (const events of connection.prices(0)) {
      for (const event of events) {
        count += 1;
        if (event.kind === 'price') expect(event.price.rate.nanos > 0n && event.price.rate.quantity > 0n).toBe(true);
      }
    }
    expect(count).toBeGreaterThan(0);
    for await (const events of connection.prices(now() + 1)) expect(events).toEqual([]);
  });
}
